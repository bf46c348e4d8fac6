package client_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

func TestPackages(t *testing.T) {
	site := depottest.Start(t)
	to, err := client.Connect(t.Context(), site.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list, etag, err := to.Packages(t.Context(), "", time.Hour)
	if err != nil || len(list.Packages) != 0 || etag == "" {
		t.Fatalf("an empty depot: %+v, %q, %v", list, etag, err)
	}
	if list, same, err := to.Packages(t.Context(), etag, 0); list != nil || same != etag || err != nil {
		t.Errorf("unchanged: %+v, %q, %v", list, same, err)
	}
	deb := apttest.Package(t, "app", "1", "amd64", "")
	ref := protocol.Ref{Owner: "o", Cluster: protocol.ClusterAll, Kind: protocol.BinaryImages, Name: "app.deb"}
	if err := to.PutFile(t.Context(), ref.FilePath(), int64(len(deb)), "", strings.NewReader(string(deb))); err != nil {
		t.Fatal(err)
	}
	list, next, err := to.Packages(t.Context(), etag, time.Minute)
	if err != nil || len(list.Packages) != 1 || next == etag {
		t.Fatalf("after an upload: %+v, %q, %v", list, next, err)
	}
	body, _, err := to.GetFile(t.Context(), strings.TrimPrefix(list.Packages[0].Path, "/files/"))
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if got, err := io.ReadAll(body); err != nil || depottest.Sum(got) != list.Packages[0].SHA256 {
		t.Errorf("the package has other content: %v", err)
	}
}

// server answers requests for the list with a function.
func server(t *testing.T, answer http.HandlerFunc) *client.Depot {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+protocol.PackagesPath, answer)
	mux.HandleFunc("GET /v2/", func(http.ResponseWriter, *http.Request) {})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	to, err := client.Connect(t.Context(), s.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

func TestPackagesAsksAndWaits(t *testing.T) {
	var asked http.Header
	to := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusNotModified)
	})
	began := time.Now()
	list, etag, err := to.Packages(t.Context(), `"a"`, time.Second)
	if list != nil || etag != `"a"` || err != nil || time.Since(began) < time.Second {
		t.Errorf("a depot that lets nobody wait: %+v, %s, %v after %s", list, etag, err, time.Since(began))
	}
	if asked.Get("If-None-Match") != `"a"` || asked.Get("Prefer") != "wait=1" {
		t.Errorf("asked with %v", asked)
	}
}

func TestPackagesFails(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"an old depot":   http.NotFound,
		"no JSON":        func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{") },
		"a failed depot": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		if list, etag, err := server(t, answer).Packages(t.Context(), `"a"`, 0); list != nil || etag != `"a"` || err == nil {
			t.Errorf("%s: %+v, %s, %v", name, list, etag, err)
		}
	}
}
