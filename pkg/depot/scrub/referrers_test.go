package scrub_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/akraino-icn/bpa/pkg/depot/scrub"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// signed returns a store with an image and its signature, each pushed by its sha256 and its sha512.
func signed(t *testing.T) (s *store.Store, dir string, image, signature digest.Digest) {
	t.Helper()
	dir = t.TempDir()
	s, err := store.OnDisk(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	image = put(t, s, nil)
	signature = put(t, s, &v1.Descriptor{MediaType: v1.MediaTypeImageManifest, Digest: image, Size: 9})
	if _, err := s.Referrers(t.Context(), "app", image); err != nil { // Referrers also marks the repository
		t.Fatal(err)
	}
	return s, dir, image, signature
}

func put(t *testing.T, s *store.Store, subject *v1.Descriptor) digest.Digest {
	t.Helper()
	repo, err := s.Repository(t.Context(), "app")
	if err != nil {
		t.Fatal(err)
	}
	config, err := repo.Blobs(t.Context()).Put(t.Context(), "application/json", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	config.MediaType = v1.MediaTypeImageConfig
	body, err := json.Marshal(v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest,
		Config: config, Layers: []v1.Descriptor{config}, Subject: subject,
	})
	if err != nil {
		t.Fatal(err)
	}
	manifest, desc, err := distribution.UnmarshalManifest(v1.MediaTypeImageManifest, body)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := repo.Manifests(t.Context())
	if err == nil {
		_, err = manifests.Put(t.Context(), manifest)
	}
	if err == nil {
		err = s.AliasManifest(t.Context(), "app", digest.SHA512.FromBytes(body), desc.Digest)
	}
	if err != nil {
		t.Fatal(err)
	}
	return desc.Digest
}

func found(t *testing.T, s *store.Store) string {
	t.Helper()
	var all []scrub.Damage
	if _, err := scrub.Run(t.Context(), s, func(d scrub.Damage) { all = append(all, d) }); err != nil {
		t.Fatal(err)
	}
	return say(all)
}

func TestEveryFlippedLinkOfAReferrerIsFound(t *testing.T) {
	s, dir, _, _ := signed(t)
	if damage := found(t, s); damage != "" {
		t.Fatalf("whole, yet reported: %s", damage)
	}
	tried := 0
	for _, pattern := range []string{"_referrers/indexed", "_referrers/*/*/*/*/link", "_manifests/revisions/sha512/*/link"} {
		files, err := filepath.Glob(filepath.Join(dir, "docker/registry/v2/repositories/app", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			tried++
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			flipped := append([]byte{}, content...)
			flipped[len(flipped)/2] ^= 1
			write(t, file, flipped)
			if damage := found(t, s); !strings.Contains(damage, file[len(dir):]) || !strings.Contains(damage, "needed by image app") {
				t.Errorf("a flipped bit in %s: reported %q", file, damage)
			}
			write(t, file, content)
		}
	}
	if tried != 4 { // the mark, the referrer link of the signature, and the links of two sha512 digests
		t.Errorf("%d files were tried", tried)
	}
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A link that points to other content is damage, even if the link itself is well-formed.
func TestADigestThatLeadsElsewhereIsFound(t *testing.T) {
	s, _, image, signature := signed(t)
	body, err := s.Manifest(t.Context(), "app", signature)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AliasManifest(t.Context(), "app", digest.SHA512.FromBytes(body), image); err != nil {
		t.Fatal(err)
	}
	if damage := found(t, s); !strings.Contains(damage, "does not match the digest") {
		t.Errorf("reported %q", damage)
	}
}

func TestAReferrerThatIsNotListedIsFoundAndComesBack(t *testing.T) {
	s, _, image, signature := signed(t)
	if err := s.Driver.Delete(t.Context(), store.ReferrerLink("app", image, signature)); err != nil {
		t.Fatal(err)
	}
	if damage := found(t, s); !strings.Contains(damage, "the list of referrers lacks "+signature.String()) || !strings.Contains(damage, "image app@"+image.String()) {
		t.Errorf("reported %q", damage)
	}
	mark, _ := store.ReferrersMark("app")
	if err := s.Driver.Delete(t.Context(), mark); err != nil {
		t.Fatal(err)
	}
	if all, err := s.Referrers(t.Context(), "app", image); err != nil || len(all) != 1 || all[0] != signature {
		t.Errorf("as the report says: %v, %v", all, err)
	}
	if damage := found(t, s); damage != "" {
		t.Errorf("still reported: %s", damage)
	}
}
