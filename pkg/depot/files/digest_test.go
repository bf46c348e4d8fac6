package files

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

func newDigests(t *testing.T, racy time.Duration) *digests {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Mkdir(Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files, err := root.OpenRoot(Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = files.Close(), root.Close() })
	return &digests{files: files, cache: root, racy: racy, log: slog.New(slog.DiscardHandler)}
}

func (d *digests) must(t *testing.T, name string) string {
	t.Helper()
	sum, err := d.Of(name)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// plant replaces the stored digest of a file, so that a test sees whether the digest is used.
func (d *digests) plant(t *testing.T, name, sum string) {
	t.Helper()
	held, ok := d.load(name)
	if !ok {
		t.Fatalf("no digest was stored for %s", name)
	}
	held.SHA256 = sum
	d.keep(name, held)
}

func TestDigestIsComputedOnceUntilTheFileChanges(t *testing.T) {
	d := newDigests(t, -time.Hour)
	write(t, d.files, "image", "one")
	first := d.must(t, "image")
	d.plant(t, "image", "planted")
	if got := d.must(t, "image"); got != "planted" {
		t.Errorf("second request computed %s again", got)
	}
	write(t, d.files, "image", "changed")
	if got := d.must(t, "image"); got == "planted" || got == first {
		t.Errorf("digest of a changed file = %s, want a new one", got)
	}
}

func TestDigestOfAFileJustWrittenIsNotKept(t *testing.T) {
	d := newDigests(t, time.Hour)
	write(t, d.files, "image", "one")
	d.must(t, "image")
	if held, ok := d.load("image"); ok {
		t.Errorf("stored %+v, though another write in the same clock tick could not be detected", held)
	}
}

func TestDamagedSidecarIsIgnored(t *testing.T) {
	d := newDigests(t, -time.Hour)
	write(t, d.files, "image", "one")
	want := d.must(t, "image")
	write(t, d.cache, sidecar("image"), `{"size":`)
	if got := d.must(t, "image"); got != want {
		t.Errorf("digest = %s, want %s", got, want)
	}
}

func TestDigestOfAFileAndOfOneInAFolderOfTheSameName(t *testing.T) {
	d := newDigests(t, -time.Hour)
	write(t, d.files, "a", "file")
	d.must(t, "a")
	if err := d.files.Remove("a"); err != nil {
		t.Fatal(err)
	}
	if err := d.files.Mkdir("a", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, d.files, "a/b", "inner")
	d.must(t, "a/b")
	if _, ok := d.load("a/b"); !ok {
		t.Error("the digest of a/b was not kept beside that of a")
	}
}

func TestManyAskForOneDigest(t *testing.T) {
	d := newDigests(t, -time.Hour)
	content := strings.Repeat("x", 4<<20)
	write(t, d.files, "image", content)
	want := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if got, err := d.Of("image"); err != nil || got != want {
				t.Errorf("digest = %s, %v; want %s", got, err, want)
			}
		})
	}
	wg.Wait()
}

func write(t *testing.T, root *os.Root, name, content string) {
	t.Helper()
	if err := root.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
