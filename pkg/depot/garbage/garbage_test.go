package garbage_test

import (
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/garbage"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// site is a depot that can be stopped for a collection and started again.
type site struct {
	t      *testing.T
	dir    string
	depot  *depot.Depot
	server *httptest.Server
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir()}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *site) start() {
	s.t.Helper()
	var err error
	if s.depot, err = depot.New(s.dir, depot.WithLogger(slog.New(slog.DiscardHandler))); err != nil {
		s.t.Fatal(err)
	}
	s.server = httptest.NewServer(s.depot)
}

func (s *site) stop() {
	s.server.Close()
	if err := s.depot.Close(); err != nil {
		s.t.Error(err)
	}
}

func (s *site) collect(keep garbage.Keeper, dry bool) garbage.Freed {
	s.t.Helper()
	s.stop()
	defer s.start()
	st, err := store.OnDisk(s.t.Context(), filepath.Join(s.dir, "registry"))
	if err != nil {
		s.t.Fatal(err)
	}
	result, err := garbage.Collect(s.t.Context(), st, garbage.Options{Keep: keep, DryRun: dry})
	if err != nil {
		s.t.Fatal(err)
	}
	return result.Freed
}

func (s *site) ref(image string) name.Reference {
	s.t.Helper()
	ref, err := name.ParseReference(strings.TrimPrefix(s.server.URL, "http://") + "/" + image)
	if err != nil {
		s.t.Fatal(err)
	}
	return ref
}

func (s *site) push(image string) v1.Hash {
	s.t.Helper()
	img, err := random.Image(1000, 2)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := remote.Write(s.ref(image), img); err != nil {
		s.t.Fatal(err)
	}
	d, err := img.Digest()
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *site) whole(image string) bool {
	s.t.Helper()
	img, err := remote.Image(s.ref(image))
	return err == nil && validate.Image(img) == nil
}

func TestOnlyWhatNothingUsesIsFreed(t *testing.T) {
	s := newSite(t)
	old := s.push("app:v1")
	used := s.push("app:v1")
	s.push("app:v1")
	idx, err := random.Index(1000, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(s.ref("multi:v1"), idx); err != nil {
		t.Fatal(err)
	}

	if freed := s.collect(garbage.All{}, false); freed.Manifests != 0 || freed.Blobs != 0 {
		t.Errorf("keeping all freed %+v", freed)
	}
	keep := garbage.Listed{digest.Digest(used.String()): true}
	// A manifest, its config and its two layers.
	if freed := s.collect(keep, true); freed.Manifests != 1 || freed.Blobs != 4 || !s.whole("app@"+old.String()) {
		t.Errorf("a dry run counts %+v, want 1 manifest and 4 blobs, and removes nothing", freed)
	}
	if freed := s.collect(keep, false); freed.Manifests != 1 || freed.Blobs != 4 {
		t.Errorf("freed %+v, want 1 manifest and 4 blobs", freed)
	}
	for image, want := range map[string]bool{"app:v1": true, "app@" + used.String(): true, "app@" + old.String(): false} {
		if got := s.whole(image); got != want {
			t.Errorf("%s whole = %t, want %t", image, got, want)
		}
	}
	multi, err := remote.Index(s.ref("multi:v1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(multi); err != nil {
		t.Errorf("an index lost a platform: %v", err)
	}
	if freed := s.collect(keep, false); freed != (garbage.Freed{}) {
		t.Errorf("a second collection freed %+v", freed)
	}
	if again := s.push("app:v2"); !s.whole("app@" + again.String()) {
		t.Error("the registry does not work after a collection")
	}
}
