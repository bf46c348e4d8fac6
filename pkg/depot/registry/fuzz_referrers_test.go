package registry

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// FuzzReferrers sends any path and query: the status is never 5xx, and nothing is written.
func FuzzReferrers(f *testing.F) {
	d := digest.FromString("x").String()
	f.Add("app/referrers/"+d, "artifactType=a/b&last="+d)
	f.Add("a/referrers/referrers/"+d, "")
	f.Add("../../x/referrers/sha512:"+strings.Repeat("0", 128), "last=sha256:short")
	f.Add("_manifests/referrers/"+d, "artifactType=%zz")
	f.Add("a/referrers/tags/list", "n=1")
	s, err := store.Over(f.Context(), inmemory.New())
	if err != nil {
		f.Fatal(err)
	}
	others := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	h := lister(s, slog.New(slog.DiscardHandler), others)
	f.Fuzz(func(t *testing.T, path, query string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/v2/" + path, RawQuery: query}, Header: http.Header{}})
		if w.Code >= http.StatusInternalServerError || w.Code == http.StatusNotFound {
			t.Errorf("%q?%q: %d %s", path, query, w.Code, w.Body)
		}
		if written, err := s.Driver.List(t.Context(), "/"); err != nil && !store.IsAbsent(err) || len(written) > 0 {
			t.Errorf("%q?%q left %q, %v", path, query, written, err)
		}
	})
}
