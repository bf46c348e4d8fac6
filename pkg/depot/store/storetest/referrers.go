package storetest

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/distribution/distribution/v3"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

const signed = "signed/app"

// refer stores a manifest in the repository signed/app. The manifest refers to subject, unless that
// is empty.
func refer(t *testing.T, s *store.Store, subject digest.Digest, annotation string) digest.Digest {
	t.Helper()
	repo := must[distribution.Repository](t)(s.Repository(t.Context(), signed))
	config := must[v1.Descriptor](t)(repo.Blobs(t.Context()).Put(t.Context(), "application/json", []byte("{}")))
	config.MediaType = "application/vnd.test"
	m := v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest,
		Config: config, Layers: []v1.Descriptor{config}, Annotations: map[string]string{"is": annotation},
	}
	if subject != "" {
		m.Subject = &v1.Descriptor{MediaType: v1.MediaTypeImageManifest, Digest: subject, Size: 1}
	}
	return putManifest(t, repo, v1.MediaTypeImageManifest, m)
}

func putManifest(t *testing.T, repo distribution.Repository, mediaType string, m any) digest.Digest {
	t.Helper()
	body := must[[]byte](t)(json.Marshal(m))
	manifest, desc, err := distribution.UnmarshalManifest(mediaType, body)
	if err != nil {
		t.Fatal(err)
	}
	manifests := must[distribution.ManifestService](t)(repo.Manifests(t.Context()))
	must[digest.Digest](t)(manifests.Put(t.Context(), manifest))
	return desc.Digest
}

func areReferrers(t *testing.T, s *store.Store, subject digest.Digest, want ...digest.Digest) {
	t.Helper()
	slices.Sort(want)
	if got := must[[]digest.Digest](t)(s.Referrers(t.Context(), signed, subject)); !slices.Equal(got, want) {
		t.Errorf("referrers of %s: %v, want %v", subject, got, want)
	}
}

func referrers(t *testing.T, s *store.Store) {
	image := refer(t, s, "", "an image")
	areReferrers(t, s, image)
	one, two := refer(t, s, image, "one"), refer(t, s, image, "two")
	areReferrers(t, s, image, one, two)
	areReferrers(t, s, one)
	if err := s.DeleteManifest(t.Context(), signed, one); err != nil {
		t.Fatal(err)
	}
	areReferrers(t, s, image, two)
	if err := s.DeleteManifest(t.Context(), signed, image); err != nil {
		t.Fatal(err)
	}
	areReferrers(t, s, image, two)
	if err := s.DeleteManifest(t.Context(), signed, two); err != nil {
		t.Fatal(err)
	}
	areReferrers(t, s, image)
}

// earlier checks referrers that an earlier version of the depot stored without links.
func earlier(t *testing.T, s *store.Store) {
	image := refer(t, s, "", "an image")
	linked := refer(t, s, image, "from before there were links")
	if err := s.Driver.Delete(t.Context(), store.RepositoriesPath+"/"+signed+"/"+store.ReferrersFolder); err != nil {
		t.Fatal(err)
	}
	areReferrers(t, s, image, linked)

	repo := must[distribution.Repository](t)(s.Repository(t.Context(), signed))
	listed := refer(t, s, "", "of a client that lists it itself")
	index := putManifest(t, repo, v1.MediaTypeImageIndex, v1.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageIndex,
		Manifests: []v1.Descriptor{{MediaType: v1.MediaTypeImageManifest, Digest: listed, Size: 1}, {MediaType: v1.MediaTypeImageManifest, Digest: linked, Size: 1}},
	})
	if err := repo.Tags(t.Context()).Tag(t.Context(), store.FallbackTag(image), v1.Descriptor{Digest: index}); err != nil {
		t.Fatal(err)
	}
	areReferrers(t, s, image, linked, listed)
}

// otherNames reads manifests by another digest than their sha256.
func otherNames(t *testing.T, s *store.Store) {
	image := refer(t, s, "", "an image")
	body := must[[]byte](t)(s.Manifest(t.Context(), signed, image))
	long := digest.SHA512.FromBytes(body)
	if _, err := s.Manifest(t.Context(), signed, long); !store.IsAbsent(err) {
		t.Errorf("a digest without an alias: %v", err)
	}
	if err := s.AliasManifest(t.Context(), signed, long, image); err != nil {
		t.Fatal(err)
	}
	if got := must[[]byte](t)(s.Manifest(t.Context(), signed, long)); string(got) != string(body) {
		t.Errorf("by its other digest it is %s", got)
	}
	if err := s.DeleteManifest(t.Context(), signed, image); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Manifest(t.Context(), signed, long); !store.IsAbsent(err) {
		t.Errorf("an alias outlived its manifest: %v", err)
	}
}
