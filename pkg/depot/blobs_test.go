package depot_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/deadline"
)

// kernel stands for a connection. It records the types of the readers that it copies from.
type kernel struct {
	*httptest.ResponseRecorder
	sources []string
}

func (k *kernel) ReadFrom(r io.Reader) (int64, error) {
	source := fmt.Sprintf("%T", r)
	if limited, ok := r.(*io.LimitedReader); ok {
		source = fmt.Sprintf("%T", limited.R)
	}
	k.sources = append(k.sources, source)
	return io.Copy(k.ResponseRecorder, r)
}

// TestKernelCopies checks that the kernel can send every stored file: net/http uses sendfile only
// if the source is an *os.File, or one io.LimitedReader around an *os.File.
func TestKernelCopies(t *testing.T) {
	d, err := depot.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	content := strings.Repeat("bytes ", 1<<19) // more than one chunk
	for _, path := range []string{"/files/plain", "/v1/baremetalcluster/a/b/os_images/c/content"} {
		if response := fetch(t, server, http.MethodPut, path, content); response.StatusCode != http.StatusCreated {
			t.Fatalf("put %s: %s", path, response.Status)
		}
	}
	blob := pushOne(t, server)
	for _, path := range []string{"/files/plain", "/v1/baremetalcluster/a/b/os_images/c/content", "/files/os_images/a/b/c", blob} {
		k := &kernel{ResponseRecorder: httptest.NewRecorder()}
		deadline.Handler(deadline.Default(), d).ServeHTTP(k, httptest.NewRequest(http.MethodGet, path, nil))
		if k.Code != http.StatusOK || len(k.sources) < 2 {
			t.Errorf("%s: %d, copied from %q; want several chunks", path, k.Code, k.sources)
		}
		for _, source := range k.sources {
			if source != fmt.Sprintf("%T", &os.File{}) {
				t.Errorf("%s: copied from %s, not a file", path, source)
			}
		}
	}
}

// TestBlobsAreSentAsTheRegistrySendsThem compares the headers of GET, which the depot answers
// itself, with those of HEAD, which the registry library answers.
func TestBlobsAreSentAsTheRegistrySendsThem(t *testing.T) {
	server := serve(t, t.TempDir())
	blob := pushOne(t, server)
	own, registrys := fetch(t, server, http.MethodGet, blob, ""), fetch(t, server, http.MethodHead, blob, "")
	for _, h := range []http.Header{own.Header, registrys.Header} {
		h.Del("Date")
		h.Del("Accept-Ranges") // the registry library does not send it for HEAD
	}
	if diff := cmp.Diff(registrys.Header, own.Header); diff != "" {
		t.Errorf("headers of a blob (-registry's +ours):\n%s", diff)
	}
	_, digest, _ := strings.Cut(blob, "sha256:")
	for path, want := range map[string]int{
		"/v2/other/blobs/sha256:" + digest:                             http.StatusNotFound, // the blob belongs to another repository
		"/v2/app/blobs/sha256:" + strings.Repeat("0", 64):              http.StatusNotFound,
		"/v2/app/blobs/sha256:../../../../../upload-secret":            http.StatusNotFound,
		"/v2/App/blobs/sha256:" + digest:                               http.StatusNotFound, // not a legal name
		"/v2/app/blobs/blobs/sha256:" + digest:                         http.StatusNotFound,
		"/v2//blobs/sha256:" + digest:                                  http.StatusNotFound,
		"/v2/app/blobs/" + strings.Replace(digest, digest[:1], "x", 1): http.StatusNotFound,
	} {
		if response := fetch(t, server, http.MethodGet, path, ""); response.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, response.Status, want)
		}
	}
	if response := fetch(t, server, http.MethodDelete, blob, ""); response.StatusCode != http.StatusAccepted {
		t.Fatalf("delete: %s", response.Status)
	}
	if response := fetch(t, server, http.MethodGet, blob, ""); response.StatusCode != http.StatusNotFound {
		t.Errorf("after a delete: %s", response.Status)
	}
}

// pushOne pushes an image and returns the path of a layer that is larger than one chunk.
func pushOne(t *testing.T, server *httptest.Server) (blob string) {
	t.Helper()
	image := randomImage(t)
	ref := reference(t, server, "app:v1")
	if err := remote.Write(ref, image); err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	return "/v2/" + ref.(name.Tag).RepositoryStr() + "/blobs/" + digest.String()
}

func fetch(t *testing.T, server *httptest.Server, method, path, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	return response
}
