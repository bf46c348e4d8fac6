package apt

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/depot/apt/apttest"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// fixture is the part of a depot's directory that this package uses.
type fixture struct {
	dir   string
	repos *Repositories
	sums  *atomic.Int32 // number of files that were read for their checksum
	log   *bytes.Buffer
}

// newFixture opens a directory. Its files count as final immediately after a change, so that tests
// need not wait for mayStillChange.
func newFixture(t testing.TB, dir string) *fixture {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "files"), 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := root.OpenRoot("files")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = files.Close(), root.Close() })
	w := &fixture{dir: dir, sums: &atomic.Int32{}, log: &bytes.Buffer{}}
	key, err := OpenKey(root, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w.repos = New(root, files, key, func(name string) (string, error) {
		w.sums.Add(1)
		content, err := files.ReadFile(name)
		return sumOf(content), err
	}, slog.New(slog.NewTextHandler(w.log, nil)))
	w.repos.mayStillChange = -time.Hour
	return w
}

func (w *fixture) path(rest string) string { return filepath.Join(w.dir, "files/apt/debian-12", rest) }

// copyIn stores a file without the depot, as users do with cp.
func (w *fixture) copyIn(t testing.TB, rest string, content []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(rest)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.path(rest), content, 0o644); err != nil {
		t.Fatal(err)
	}
}

func (w *fixture) repository(t testing.TB) *repository {
	t.Helper()
	r, err := w.repos.of("debian-12")
	if err != nil || r == nil {
		t.Fatalf("repository = %v, %v", r, err)
	}
	return r
}

func (w *fixture) current(t testing.TB) generation {
	t.Helper()
	g, err := w.repository(t).current()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (w *fixture) index(t testing.TB, g generation) string {
	t.Helper()
	plain, err := os.ReadFile(filepath.Join(w.dir, cacheDir, "debian-12", g.Index.SHA256))
	if err != nil {
		t.Fatal(err)
	}
	return string(plain)
}

// filenames returns the paths of the packages in the current index.
func (w *fixture) filenames(t testing.TB) (all []string) {
	t.Helper()
	for line := range strings.SplitSeq(w.index(t, w.current(t)), "\n") {
		if name, ok := strings.CutPrefix(line, "Filename: "); ok {
			all = append(all, name)
		}
	}
	return all
}

func TestIndexHasWhatIsInTheFolder(t *testing.T) {
	w := newFixture(t, t.TempDir())
	app, library := apttest.Package(t, "app", "2", "amd64", "Depends: library\n"), apttest.Package(t, "library", "1:1", "all", "")
	w.copyIn(t, "pool/main/app.deb", app)
	w.copyIn(t, "library.deb", library)
	w.copyIn(t, "notes.txt", nil)
	w.copyIn(t, ".~tmp~/half.deb", nil)
	w.copyIn(t, ".half.deb.Xy12", nil)
	g := w.current(t)
	want := fmt.Sprintf(`Package: app
Version: 2
Architecture: amd64
Maintainer: Nobody <nobody@example.org>
Description: nothing
 at all
Depends: library
Filename: pool/main/app.deb
Size: %d
SHA256: %s

Package: library
Version: 1:1
Architecture: all
Maintainer: Nobody <nobody@example.org>
Description: nothing
 at all
Filename: library.deb
Size: %d
SHA256: %s

`, len(app), sumOf(app), len(library), sumOf(library))
	if diff := cmp.Diff(want, w.index(t, g)); diff != "" {
		t.Errorf("Packages (-want +got):\n%s", diff)
	}
	f, err := os.Open(filepath.Join(w.dir, cacheDir, "debian-12", g.Packed.SHA256))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := io.ReadAll(unzipped); err != nil || string(plain) != want {
		t.Errorf("Packages.gz has %q, %v", plain, err)
	}
	release := fmt.Sprintf("Origin: bpa-depot\nLabel: bpa-depot\nSuite: debian-12\nArchitectures: all amd64\nDate: %s\nAcquire-By-Hash: yes\n"+
		"Description: packages of debian-12 in the depot\nSHA256:\n %s %d Packages\n %s %d Packages.gz\n",
		time.Unix(0, g.Changed).UTC().Format("Mon, 02 Jan 2006 15:04:05 UTC"), g.Index.SHA256, g.Index.Size, g.Packed.SHA256, g.Packed.Size)
	if diff := cmp.Diff(release, string(g.Release)); diff != "" {
		t.Errorf("Release (-want +got):\n%s", diff)
	}
}

func TestSameFolderGivesTheSameBytes(t *testing.T) {
	w := newFixture(t, t.TempDir())
	for i := range 20 {
		w.copyIn(t, fmt.Sprintf("%d.deb", i), apttest.Package(t, fmt.Sprintf("app%d", i%7), fmt.Sprint(i), "amd64", ""))
	}
	first := w.current(t)
	for name, other := range map[string]*fixture{"again": w, "after a restart": newFixture(t, w.dir)} {
		if diff := cmp.Diff(first, other.current(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := os.RemoveAll(filepath.Join(w.dir, cacheDir)); err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]*fixture{"removed while it runs": w, "made from nothing": newFixture(t, w.dir)} {
		got := other.current(t)
		if string(got.Release) != string(first.Release) || other.index(t, got) == "" {
			t.Errorf("%s: Release = %s, want %s", name, got.Release, first.Release)
		}
	}
}

func TestPackageIsReadOnce(t *testing.T) {
	w := newFixture(t, t.TempDir())
	for i := range 5 {
		w.copyIn(t, fmt.Sprintf("%d.deb", i), apttest.Package(t, "app", fmt.Sprint(i), "amd64", ""))
	}
	w.current(t)
	w.copyIn(t, "5.deb", apttest.Package(t, "app", "5", "amd64", ""))
	w.current(t)
	if got := w.sums.Load(); got != 6 {
		t.Errorf("read %d packages, want 6", got)
	}
	restarted := newFixture(t, w.dir)
	if got := len(restarted.filenames(t)); got != 6 || restarted.sums.Load() != 0 {
		t.Errorf("after a restart: %d in the index, want 6; %d were read again, want none", got, restarted.sums.Load())
	}
}

func TestPackageThatMayStillChangeIsReadAgain(t *testing.T) {
	w := newFixture(t, t.TempDir())
	w.repos.mayStillChange = time.Hour
	w.copyIn(t, "app.deb", apttest.Package(t, "app", "1", "amd64", ""))
	first, second := w.current(t), w.current(t)
	if got := w.sums.Load(); got != 2 {
		t.Errorf("read %d times, want 2: a second write in the same clock tick would be missed", got)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("a new generation without a change (-want +got):\n%s", diff)
	}
}

func TestRemovingAPackageDoesNotSetTheDateBack(t *testing.T) {
	w := newFixture(t, t.TempDir())
	w.copyIn(t, "pool/a.deb", apttest.Package(t, "a", "1", "amd64", ""))
	w.copyIn(t, "pool/b.deb", apttest.Package(t, "b", "1", "amd64", ""))
	before := w.current(t)
	if err := os.Remove(w.path("pool/b.deb")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"pool/a.deb"}, w.filenames(t)); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
	if after := w.current(t); after.Changed < before.Changed {
		t.Errorf("the date of Release is %d, before the last date %d, so apt would ignore it", after.Changed, before.Changed)
	}
}

func TestDamagedPackagesAreLeftOutAndLogged(t *testing.T) {
	w := newFixture(t, t.TempDir())
	good := apttest.Package(t, "app", "1", "amd64", "")
	w.copyIn(t, "good.deb", good)
	w.copyIn(t, "same.deb", good)
	w.copyIn(t, "text.deb", []byte("text"))
	w.copyIn(t, "half.deb", good[:len(good)-1])
	w.copyIn(t, "other.deb", apttest.Package(t, "app", "1", "amd64", "Section: other\n"))
	w.copyIn(t, "what?.deb", apttest.Package(t, "what", "1", "amd64", ""))
	w.copyIn(t, "line\nbreak.deb", apttest.Package(t, "line", "1", "amd64", ""))
	if err := os.Symlink("/etc/passwd", w.path("out.deb")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("good.deb", w.path("link.deb")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if diff := cmp.Diff([]string{"good.deb"}, w.filenames(t)); diff != "" {
			t.Errorf("index (-want +got):\n%s", diff)
		}
	}
	list := string(w.repository(t).damaged())
	for _, want := range []string{
		`"text.deb": not a Debian package: it does not begin as an ar archive`, `"half.deb": not a Debian package: it is cut off`,
		`"other.deb": it is app 1 amd64 like good.deb, but with other content`, `"what?.deb": not a Debian package: apt cannot fetch`,
		`"line\nbreak.deb": `, `"out.deb": it cannot be read: `,
	} {
		if !strings.Contains(list, want) {
			t.Errorf("damaged.txt =\n%swant %s in it", list, want)
		}
	}
	for _, name := range []string{"text.deb", "half.deb", "other.deb", "what?.deb", "out.deb"} {
		if got := strings.Count(w.log.String(), " path="+name+" "); got != 1 {
			t.Errorf("%s is in the log %d times, want once:\n%s", name, got, w.log)
		}
	}
	if got, want := strings.Count(list, "\n"), 6; got != want {
		t.Errorf("damaged.txt has %d lines, want %d:\n%s", got, want, list)
	}
	w.copyIn(t, "half.deb", apttest.Package(t, "half", "1", "amd64", ""))
	if diff := cmp.Diff([]string{"good.deb", "half.deb"}, w.filenames(t)); diff != "" {
		t.Errorf("index after the package was repaired (-want +got):\n%s", diff)
	}
}

// If files is a file system of its own, it has the folder lost+found, which only root may read. The
// depot must still index the other packages.
func TestFolderThatMayNotBeReadIsLeftOutAndLogged(t *testing.T) {
	w := newFixture(t, t.TempDir())
	w.copyIn(t, "good.deb", apttest.Package(t, "app", "1", "amd64", ""))
	if err := os.Mkdir(w.path("lost+found"), 0o000); err != nil {
		t.Fatal(err)
	}
	r := w.repository(t)
	asNobody(t, func() {
		if _, err := r.update(); err != nil {
			t.Error(err)
		}
	})
	if list := string(r.damaged()); !strings.HasPrefix(list, `"lost+found": it cannot be read: `) {
		t.Errorf("damaged.txt =\n%s", list)
	}
	if diff := cmp.Diff([]string{"good.deb"}, w.filenames(t)); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
}

// asNobody calls f without root's rights.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := os.Geteuid()
	if err := syscall.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	f()
	if err := syscall.Setfsuid(before); err != nil {
		t.Fatal(err)
	}
}

func TestEarlierIndexesAreKeptForAWhile(t *testing.T) {
	w := newFixture(t, t.TempDir())
	var all []generation
	for i := range 10 {
		w.copyIn(t, fmt.Sprintf("%d.deb", i), apttest.Package(t, "app", fmt.Sprint(i), "amd64", ""))
		all = append(all, w.current(t))
	}
	restarted := newFixture(t, w.dir)
	restarted.current(t)
	for i, g := range all {
		for _, sum := range []string{g.Index.SHA256, g.Packed.SHA256} {
			if _, ok := restarted.repository(t).indexOf(sum); !ok {
				t.Errorf("index %d of 10, %s, is gone", i, sum)
			}
		}
	}

	r := w.repository(t)
	for i := range r.history[1:] {
		r.history[i+1].Until = time.Now().Add(-keepFor - time.Minute)
	}
	w.copyIn(t, "10.deb", apttest.Package(t, "app", "10", "amd64", ""))
	w.current(t)
	entries, err := os.ReadDir(filepath.Join(w.dir, cacheDir, "debian-12"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(entries), 2*keepNewest+1; got != want {
		t.Errorf("%d files are kept, want %d: %v", got, want, entries)
	}
}

func TestEarlierIndexesAreLimited(t *testing.T) {
	now := time.Now()
	history := func(n int, size int64) []generation {
		return slices.Repeat([]generation{{Index: indexFile{Size: size}, Until: now}}, n)
	}
	for name, tt := range map[string]struct{ have, want []generation }{
		"few":       {history(2, 1), history(2, 1)},
		"many":      {history(2*keepAtMost, 1), history(keepAtMost, 1)},
		"large":     {history(20, keepBytes/10), history(10, keepBytes/10)},
		"too large": {history(20, 2*keepBytes), history(keepNewest, 2*keepBytes)},
	} {
		if got := prune(tt.have, now); len(got) != len(tt.want) {
			t.Errorf("%s: %d of %d are kept, want %d", name, len(got), len(tt.have), len(tt.want))
		}
	}
}

func TestFolderWithItsOwnIndexIsServedUnchanged(t *testing.T) {
	for _, own := range []string{"dists/bookworm/InRelease", "InRelease", "Release", "Packages"} {
		w := newFixture(t, t.TempDir())
		w.copyIn(t, own, nil)
		w.copyIn(t, "app.deb", apttest.Package(t, "app", "1", "amd64", ""))
		if r, err := w.repos.of("debian-12"); r != nil || err != nil {
			t.Errorf("with %s: %v, %v, want no repository", own, r, err)
		}
	}
}

func TestCheckedPaths(t *testing.T) {
	for name, want := range map[string]string{
		"other/app.deb":                  "",
		"apt/debian-12/app.deb":          "",
		"apt/debian-12/a/b/1%3a2~+=.deb": "",
		"apt/debian-12/notes.txt":        "",
		"apt/debian-12/pool/Packages":    "",
		"apt/debian-12/dists/x/Release":  "",
		"apt/app.deb":                    "ID-VERSION_ID",
		"apt/Debian 12/app.deb":          "ID-VERSION_ID",
		"apt/debian-12/.app.deb":         "no dot",
		"apt/debian-12/.x/app.deb":       "no dot",
		"apt/debian-12/a?.deb":           "no dot",
		"apt/debian-12/Packages":         "makes the index",
		"apt/debian-12/Packages.xz":      "makes the index",
		"apt/debian-12/Release":          "makes the index",
		"apt/debian-12/Release.gpg":      "makes the index",
		"apt/debian-12/InRelease":        "makes the index",
		"apt/debian-12/damaged.txt":      "makes the index",
		"apt/debian-12/by-hash/SHA256/a": "makes the index",
		"apt/debian-12/by-hash":          "makes the index",
	} {
		err := newFixture(t, t.TempDir()).repos.Check(name)
		if err == nil != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// BenchmarkIndexAfterAnUpload uploads a package to a folder of 2000 packages and then generates
// their index, which has 2 MB.
func BenchmarkIndexAfterAnUpload(b *testing.B) {
	w := newFixture(b, b.TempDir())
	fields := "Depends: " + strings.Repeat("some-library (>= 1.2.3), ", 20) + "end\n"
	for i := range 2000 {
		w.copyIn(b, fmt.Sprintf("pool/%d/app%d.deb", i%50, i), apttest.Package(b, fmt.Sprintf("app%d", i), "1", "amd64", fields))
	}
	w.current(b)
	uploads := 0
	for b.Loop() {
		uploads++
		content := apttest.Package(b, "app", fmt.Sprint(uploads), "amd64", fields)
		w.upload(b, fmt.Sprintf("app%d.deb", uploads), content)
		w.current(b)
	}
}

// upload stores a package as the HTTP handler does.
func (w *fixture) upload(b *testing.B, rest string, content []byte) {
	b.Helper()
	temp := filepath.Join(b.TempDir(), "temp")
	if err := os.WriteFile(temp, content, 0o644); err != nil {
		b.Fatal(err)
	}
	f, err := os.Open(temp)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	err = w.repos.Store(path.Join(protocol.AptFolder, "debian-12", rest), f, sumOf(content), func() (fs.FileInfo, error) {
		if err := os.Rename(temp, w.path(rest)); err != nil {
			return nil, err
		}
		return f.Stat()
	})
	if err != nil {
		b.Fatal(err)
	}
}
