package depot_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func reference(t *testing.T, server *httptest.Server, image string) name.Reference {
	t.Helper()
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/" + image)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func randomImage(t *testing.T) v1.Image {
	t.Helper()
	img, err := random.Image(1<<20, 3)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func digestOf(t *testing.T, img v1.Image) v1.Hash {
	t.Helper()
	h, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestImageIsPulledAsItWasPushed(t *testing.T) {
	img := randomImage(t)
	ref := reference(t, serve(t, t.TempDir()), "coredns/coredns:v1.12.4")
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(pulled); err != nil {
		t.Errorf("pulled image: %v", err)
	}
	if diff := cmp.Diff(digestOf(t, img), digestOf(t, pulled)); diff != "" {
		t.Errorf("digest (-want +got):\n%s", diff)
	}
}

func TestTagsMoveAndImagesCanBeDeleted(t *testing.T) {
	server := serve(t, t.TempDir())
	ref := reference(t, server, "pause:3.10.1")
	old, fresh := randomImage(t), randomImage(t)
	for _, img := range []v1.Image{old, fresh} {
		if err := remote.Write(ref, img); err != nil {
			t.Fatal(err)
		}
	}
	desc, err := remote.Head(ref)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(digestOf(t, fresh), desc.Digest); diff != "" {
		t.Errorf("tag after a second push (-want +got):\n%s", diff)
	}
	byDigest := ref.Context().Digest(digestOf(t, old).String())
	if err := remote.Delete(byDigest); err != nil {
		t.Fatal(err)
	}
	if _, err := remote.Head(byDigest); err == nil {
		t.Errorf("%s is still there after its deletion", byDigest)
	}
}

func TestUploadContinuesInAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	first, second := serve(t, dir), serve(t, dir)
	blob := []byte("a layer that arrives in two parts")
	sum, _, err := v1.SHA256(bytes.NewReader(blob))
	if err != nil {
		t.Fatal(err)
	}
	location := upload(t, "POST", first.URL+"/v2/app/blobs/uploads/", nil)
	location = upload(t, "PATCH", first.URL+location, blob[:10])
	if status := finish(t, second.URL+location+"&digest="+sum.String(), blob[10:]); status != http.StatusCreated {
		t.Errorf("upload that went on after a restart = %d, want 201", status)
	}
	if got := ask(t, "GET", second.URL+"/v2/app/blobs/"+sum.String()); got.body != string(blob) {
		t.Errorf("blob = %d %q", got.status, got.body)
	}
}

func TestUploadWithAnotherDigestIsRefused(t *testing.T) {
	server := serve(t, t.TempDir())
	wrong := v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}
	location := upload(t, "POST", server.URL+"/v2/app/blobs/uploads/", nil)
	if status := finish(t, server.URL+location+"&digest="+wrong.String(), []byte("damaged on the way")); status != http.StatusBadRequest {
		t.Errorf("upload with a wrong digest = %d, want 400", status)
	}
	if got := ask(t, "HEAD", server.URL+"/v2/app/blobs/"+wrong.String()); got.status != http.StatusNotFound {
		t.Errorf("refused blob = %d, want 404", got.status)
	}
}

// upload sends one request of an upload and returns the path for the next one.
func upload(t *testing.T, method, url string, body []byte) string {
	t.Helper()
	resp := send(t, method, url, body)
	location := resp.Header.Get("Location")
	if resp.StatusCode != http.StatusAccepted || !strings.HasPrefix(location, "/") {
		t.Fatalf("%s %s = %d, location %q; want 202 and a relative location", method, url, resp.StatusCode, location)
	}
	return location
}

func finish(t *testing.T, url string, body []byte) int {
	t.Helper()
	return send(t, "PUT", url, body).StatusCode
}

func send(t *testing.T, method, url string, body []byte) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp
}
