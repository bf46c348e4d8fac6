package garbage_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/distribution/distribution/v3/manifest/schema2"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot/garbage"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// refer pushes an artifact with a subject. It pushes the artifact by its digest, so the artifact
// has no tag.
func (s *site) refer(subject digest.Digest, annotation string) digest.Digest {
	s.t.Helper()
	s.blob([]byte("{}"))
	body := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"artifactType":"application/vnd.test","config":%s,"layers":[%[2]s],"subject":%s,"annotations":{"is":%q}}`,
		v1.MediaTypeImageManifest, descriptor("application/vnd.oci.empty.v1+json", digest.FromString("{}"), 2), descriptor(v1.MediaTypeImageManifest, subject, 9), annotation)
	d := digest.FromBytes(body)
	s.send(http.MethodPut, s.server.URL+"/v2/app/manifests/"+d.String(), v1.MediaTypeImageManifest, body)
	return d
}

func descriptor(mediaType string, d digest.Digest, size int) string {
	return fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d}`, mediaType, d, size)
}

func (s *site) blob(content []byte) {
	s.t.Helper()
	at := s.send(http.MethodPost, s.server.URL+"/v2/app/blobs/uploads/", "", nil)
	s.send(http.MethodPut, s.server.URL+at+"&digest="+digest.FromBytes(content).String(), "application/octet-stream", content)
}

func (s *site) has(d digest.Digest) bool {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodHead, s.server.URL+"/v2/app/manifests/"+d.String(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header["Accept"] = []string{v1.MediaTypeImageManifest, v1.MediaTypeImageIndex, schema2.MediaTypeManifest}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode != http.StatusNotFound
}

func TestWhatRefersToALiveManifestStays(t *testing.T) {
	s := newSite(t)
	image := digest.Digest(s.push("app:v1").String())
	signature := s.refer(image, "a signature")
	counter := s.refer(signature, "a signature of the signature")
	stray := s.refer(digest.FromString("never pushed"), "about nothing")

	if freed := s.collect(garbage.Listed{}, false); freed.Manifests != 1 {
		t.Errorf("freed %+v, want the one that refers to nothing", freed)
	}
	for d, want := range map[digest.Digest]bool{image: true, signature: true, counter: true, stray: false} {
		if got := s.has(d); got != want {
			t.Errorf("%s is there: %t, want %t", d, got, want)
		}
	}

	s.send(http.MethodDelete, s.server.URL+"/v2/app/manifests/"+image.String(), "", nil)
	if freed := s.collect(garbage.Listed{}, false); freed.Manifests != 2 || s.has(signature) || s.has(counter) {
		t.Errorf("with its subject deleted, freed %+v, want both signatures", freed)
	}
}

// The store keeps a manifest by its sha256, and a client may name it by another hash.
func TestAManifestOfAnotherDigestStays(t *testing.T) {
	s := newSite(t)
	s.blob([]byte("{}"))
	image := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"config":%s,"layers":[]}`,
		v1.MediaTypeImageManifest, descriptor(v1.MediaTypeImageConfig, digest.FromString("{}"), 2))
	long := digest.SHA512.FromBytes(image)
	s.send(http.MethodPut, s.server.URL+"/v2/app/manifests/"+long.String(), v1.MediaTypeImageManifest, image)
	index := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"manifests":[%s]}`, v1.MediaTypeImageIndex, descriptor(v1.MediaTypeImageManifest, long, len(image)))
	s.send(http.MethodPut, s.server.URL+"/v2/app/manifests/v1", v1.MediaTypeImageIndex, index)
	signature := s.refer(long, "a signature by the long name")

	if freed := s.collect(garbage.Listed{}, false); freed.Manifests != 0 || !s.has(long) || !s.has(digest.FromBytes(image)) || !s.has(signature) {
		t.Errorf("freed %+v of an index with a tag", freed)
	}
	s.send(http.MethodDelete, s.server.URL+"/v2/app/manifests/"+long.String(), "", nil)
	if s.has(long) || s.has(digest.FromBytes(image)) {
		t.Error("a manifest that was deleted by one of its digests is there by the other")
	}
}

// A kill during a push leaves the link of a manifest that was never stored.
func TestLinksOfNothingAreDropped(t *testing.T) {
	s := newSite(t)
	image := digest.Digest(s.push("app:v1").String())
	signature := s.refer(image, "a signature")
	link := func(d digest.Digest) string {
		return filepath.Join(s.dir, "registry", filepath.FromSlash(store.ReferrerLink("app", image, d)))
	}
	stale := digest.FromString("never pushed")
	if err := os.MkdirAll(filepath.Dir(link(stale)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(link(stale), []byte(stale), 0o600); err != nil {
		t.Fatal(err)
	}
	s.collect(garbage.Listed{}, true)
	if _, err := os.Stat(link(stale)); err != nil {
		t.Errorf("after a dry run: %v", err)
	}
	s.collect(garbage.Listed{}, false)
	if _, err := os.Stat(link(stale)); !os.IsNotExist(err) {
		t.Errorf("the link of nothing is still there: %v", err)
	}
	if _, err := os.Stat(link(signature)); err != nil {
		t.Errorf("the link of a signature: %v", err)
	}
}
