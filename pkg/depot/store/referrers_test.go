package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/distribution/distribution/v3"
	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot/store"
	"github.com/akraino-icn/bpa/pkg/depot/store/storetest"
)

// A store in memory has no directory, like a store in a bucket. It is therefore tested in the same
// way.
func TestStoreInMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.Store {
		s, err := store.Over(t.Context(), inmemory.New())
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestSubjectOf(t *testing.T) {
	d := digest.FromString("subject")
	for manifest, want := range map[string]digest.Digest{
		`{"mediaType":"application/vnd.oci.image.manifest.v1+json","subject":{"digest":"` + d.String() + `"}}`:           d,
		`{"mediaType":"application/vnd.oci.image.index.v1+json","subject":{"digest":"` + d.String() + `"}}`:              d,
		`{"subject":{"digest":"` + d.String() + `"}}`:                                                                    d,
		`{"mediaType":"application/vnd.docker.distribution.manifest.v2+json","subject":{"digest":"` + d.String() + `"}}`: "",
		`{"subject":{"digest":"sha256:short"}}`:                                                                          "",
		`{"subject":{"digest":"../../../../etc/passwd"}}`:                                                                "",
		`{"subject":null}`:                 "",
		`{"subject":"` + d.String() + `"}`: "",
		`{}`:                               "",
		``:                                 "",
	} {
		if got := store.SubjectOf([]byte(manifest)); got != want {
			t.Errorf("subject of %s: %q, want %q", manifest, got, want)
		}
	}
}

// Only a valid digest may become part of a path, whatever a manifest contains.
func FuzzSubjectOf(f *testing.F) {
	f.Add([]byte(`{"subject":{"digest":"` + digest.FromString("subject").String() + `"}}`))
	f.Add([]byte(`{"subject":{"digest":"sha256:../../x"},"mediaType":"application/vnd.oci.image.index.v1+json"}`))
	f.Add([]byte(`{"SUBJECT":{"digest":""},"subject":[]}`))
	f.Fuzz(func(t *testing.T, manifest []byte) {
		if d := store.SubjectOf(manifest); d != "" && d.Validate() != nil {
			t.Errorf("%q is no digest", d)
		}
	})
}

func TestFallbackTag(t *testing.T) {
	short, long := digest.FromString("x"), digest.SHA512.FromString("x")
	for d, want := range map[digest.Digest]string{short: "sha256-" + short.Encoded(), long: "sha512-" + long.Encoded()[:64]} {
		if got := store.FallbackTag(d); got != want {
			t.Errorf("tag of %s is %s, want %s", d, got, want)
		}
	}
}

// meddler runs a function during a push, when the manifest's link is about to be written.
type meddler struct {
	storagedriver.StorageDriver
	meddle func()
}

func (m *meddler) PutContent(ctx context.Context, path string, content []byte) error {
	if strings.Contains(path, "/_manifests/revisions/") && m.meddle != nil {
		m.meddle()
	}
	return m.StorageDriver.PutContent(ctx, path, content)
}

// A deletion during a push waits for the end of the push. Otherwise it would remove the link of a
// manifest that is stored afterwards.
func TestAReferrerIsDeletedInTheMiddleOfAPush(t *testing.T) {
	driver := &meddler{StorageDriver: inmemory.New()}
	s, err := store.Over(t.Context(), driver)
	if err != nil {
		t.Fatal(err)
	}
	subject := digest.FromString("subject")
	manifest, desc, err := distribution.UnmarshalManifest(v1.MediaTypeImageIndex,
		[]byte(`{"schemaVersion":2,"mediaType":"`+v1.MediaTypeImageIndex+`","manifests":[],"subject":{"mediaType":"a/b","digest":"`+subject.String()+`","size":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	push := func() {
		repo, err := s.Repository(t.Context(), "app")
		if err != nil {
			t.Fatal(err)
		}
		manifests, err := repo.Manifests(t.Context())
		if err == nil {
			_, err = manifests.Put(t.Context(), manifest)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	push()
	if _, err := s.Referrers(t.Context(), "app", subject); err != nil { // marks the repository: from now on only links count
		t.Fatal(err)
	}
	deleted := make(chan error, 1)
	driver.meddle = func() {
		go func() { deleted <- s.DeleteManifest(t.Context(), "app", desc.Digest) }()
		select {
		case err := <-deleted: // it did not wait
			deleted <- err
		case <-time.After(100 * time.Millisecond):
		}
	}
	push()
	driver.meddle = nil
	if err := <-deleted; err != nil {
		t.Fatal(err)
	}
	there, err := s.Manifest(t.Context(), "app", desc.Digest)
	if err != nil && !store.IsAbsent(err) {
		t.Fatal(err)
	}
	found, err := s.Referrers(t.Context(), "app", subject)
	if err != nil {
		t.Fatal(err)
	}
	if there != nil && len(found) == 0 {
		t.Error("a manifest is stored, but not listed as a referrer")
	}
}
