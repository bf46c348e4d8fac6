package scrub_test

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/depot/scrub"
	"github.com/akraino-icn/bpa/pkg/depot/store"
	"github.com/akraino-icn/bpa/pkg/depot/uploads"
)

func filled(t *testing.T) (*store.Store, string) {
	t.Helper()
	dir := t.TempDir()
	s, err := store.OnDisk(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	u := uploads.New(s, limits.NewQuota(limits.Limits{}, &limits.Usage{}), nil, slog.New(slog.DiscardHandler))
	for name, content := range map[string]string{"one.img": "content of one", "two.img": "content of two"} {
		rec := protocol.Record{Owner: "o", ClusterName: "c", Kind: protocol.OSImages, ImageName: name, ImageLength: int64(len(content))}
		p, err := u.Create(t.Context(), rec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Append(t.Context(), p, 0, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		if _, err := u.Finish(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	return s, dir
}

func damages(t *testing.T, s *store.Store) []scrub.Damage {
	t.Helper()
	var found []scrub.Damage
	summary, err := scrub.Run(context.Background(), s, func(d scrub.Damage) { found = append(found, d) })
	if err != nil {
		t.Fatal(err)
	}
	if summary.Damaged != len(found) || summary.Blobs == 0 || summary.Links == 0 || summary.Manifests != 2 {
		t.Errorf("summary = %+v with %d damages", summary, len(found))
	}
	return found
}

func TestWholeStoreIsFoundWhole(t *testing.T) {
	s, _ := filled(t)
	if found := damages(t, s); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// Every file of the store is damaged in turn, by one bit in its middle.
func TestEveryFlippedBitIsFound(t *testing.T) {
	s, dir := filled(t)
	tried := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(path, "_uploads") {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		tried++
		flipped := append([]byte{}, content...)
		flipped[len(flipped)/2] ^= 1
		if err := os.WriteFile(path, flipped, 0o600); err != nil {
			return err
		}
		found := damages(t, s)
		if len(found) == 0 {
			t.Errorf("a flipped bit in %s was not found", path)
		}
		isStaging := strings.Contains(path, "bpa-depot/uploads")
		if text := say(found); !isStaging && !strings.Contains(text, "artifact o/c/os_images/") {
			t.Errorf("a flipped bit in %s: the report lacks the affected artifact: %s", path, text)
		}
		return os.WriteFile(path, content, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	if tried < 10 {
		t.Errorf("only %d files were tried", tried)
	}
}

func TestDamagedBlobIsSetAsideWithWhatNeedsIt(t *testing.T) {
	s, dir := filled(t)
	blob := filepath.Join(dir, filepath.FromSlash(store.BlobPath("sha256:"+sum)))
	if err := os.WriteFile(blob, []byte("content of eno"), 0o600); err != nil {
		t.Fatal(err)
	}
	found := damages(t, s)
	if len(found) != 1 || found[0].What != "sha256:"+sum || !strings.Contains(found[0].String(), "needed by artifact o/c/os_images/one.img") {
		t.Fatalf("found %v", say(found))
	}
	if err := scrub.SetAside(t.Context(), s, found[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context(), (protocol.Ref{Owner: "o", Cluster: "c", Kind: protocol.OSImages, Name: "one.img"}).Repository(), protocol.Tag); !store.IsAbsent(err) {
		t.Errorf("what needs the blob can still be seen: %v", err)
	}
	if summary, err := scrub.Run(t.Context(), s, func(d scrub.Damage) { t.Errorf("still damaged: %v", d) }); err != nil || summary.Manifests != 1 {
		t.Errorf("%+v, %v", summary, err)
	}
}

const sum = "70fcb0ddfafe8b932696f597564ec22d27c3045c6a0452fd08c92e38461ae3ef"

func say(found []scrub.Damage) string {
	var all []string
	for _, d := range found {
		all = append(all, d.String())
	}
	return strings.Join(all, "\n")
}
