package rest_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/packages"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/rest"
	"github.com/akraino-icn/bpa/pkg/depot/store"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

func newHandler(f *testing.F) http.Handler {
	f.Helper()
	s, err := store.OnDisk(f.Context(), f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	gate := limits.NewQuota(limits.Limits{MaxUpload: 1 << 20}, &disk{})
	u := uploads.New(s, gate, nil, log)
	h, err := rest.New(rest.Services{Uploads: u, Quota: gate, Packages: packages.New(u, noSources{}, log), Software: &software{}, Log: log})
	if err != nil {
		f.Fatal(err)
	}
	return h
}

func ask(h http.Handler, method, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/", strings.NewReader(body))
	r.URL = &url.URL{Path: path}
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = []string{header[i+1]}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// For any path, the answer is not a server error, and the depot changes no other artifact.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"o/c/os_images/n", "O/c/binary_images/N.1", "../c/os_images/n", "o//os_images/n", "o/c/os_images/..%2f", "o/c/status/n", "o/c/os_images/\x00", strings.Repeat("A", 70) + "/c/os_images/n", "o/c/os_images/n/content", "o/c/os_images/n/uploads/1"} {
		for _, method := range []string{"GET", "PUT", "PATCH", "DELETE", "POST"} {
			f.Add(method, seed, `{"owner": "o", "image_name": "n", "image_length": 1}`)
		}
	}
	h := newHandler(f)
	const other = protocol.Base + "/other/cluster/os_images/kept"
	if w := ask(h, "PUT", other+"/content", "kept"); w.Code != http.StatusCreated {
		f.Fatal(w.Code, w.Body)
	}
	f.Fuzz(func(t *testing.T, method, path, body string) {
		if _, err := http.NewRequest(method, "/", nil); err != nil || strings.Contains(path, "other/cluster") {
			return
		}
		w := ask(h, method, protocol.Base+"/"+path, body, "Content-Type", "application/json", "Upload-Offset", "0", "Tus-Resumable", "1.0.0")
		if w.Code >= http.StatusInternalServerError {
			t.Fatalf("%s %q = %d %s", method, path, w.Code, w.Body)
		}
		if w := ask(h, "GET", other+"/content", ""); w.Body.String() != "kept" {
			t.Fatalf("%s %q changed another artifact: %d %s", method, path, w.Code, w.Body)
		}
	})
}

// A request changes an upload only if its offset equals the upload's offset.
func FuzzUploadOffset(f *testing.F) {
	for _, seed := range []string{"0", "3", "-1", "+3", "03", " 3", "3 ", "0x3", "3.0", "9223372036854775807", "9223372036854775808", "", "٣"} {
		f.Add(seed, "abc")
	}
	h := newHandler(f)
	var n atomic.Int64
	const length = 1 << 10
	f.Fuzz(func(t *testing.T, offset, body string) {
		name := fmt.Sprintf("n%d", n.Add(1))
		image := kind + "/" + name
		if w := ask(h, "POST", kind, record(name, length), inJSON...); w.Code != http.StatusCreated {
			t.Fatal(w.Code, w.Body)
		}
		defer ask(h, "DELETE", image, "")
		if w := ask(h, "PATCH", image, "abc", "Upload-Offset", "0"); w.Code != http.StatusNoContent {
			t.Fatal(w.Code, w.Body)
		}
		w := ask(h, "PATCH", image, body, "Upload-Offset", offset)
		given, err := strconv.ParseInt(offset, 10, 64)
		right := err == nil && given == 3 && len(body) <= length-3
		if (w.Code == http.StatusNoContent) != right || w.Code >= http.StatusInternalServerError {
			t.Fatalf("Upload-Offset %q = %d %s", offset, w.Code, w.Body)
		}
		want := "3"
		if right {
			want = strconv.Itoa(3 + len(body))
		}
		if got := ask(h, "HEAD", image, "").Header().Get("Upload-Offset"); got != want {
			t.Fatalf("after Upload-Offset %q with %d bytes the upload is at %s, want %s", offset, len(body), got, want)
		}
	})
}
