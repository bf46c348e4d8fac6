package pack

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGzipDependsOnlyOnContent(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "program")
	entries := []Entry{
		{Name: "bin", Dir: true},
		{Name: "bin/program", Source: source},
		{Name: "bin/other", Link: "program"},
		{Name: "etc/conf", Content: []byte("x=1\n")},
		{Name: "tmp", Dir: true, Mode: fs.ModeSticky | 0o777},
	}
	var archives [2]string
	for i := range archives {
		put(t, source, "binary")
		if err := os.Chtimes(source, time.Now(), time.Unix(int64(1e9+i), 0)); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(dir, "out.tar.gz")
		if err := Gzip(out, entries); err != nil {
			t.Fatal(err)
		}
		archives[i] = read(t, out)
	}
	if archives[0] != archives[1] {
		t.Error("the same content with another modification time gave other bytes")
	}
	want := []string{"bin/ 755", "bin/program 755 binary", "bin/other 777 -> program", "etc/conf 644 x=1\n", "tmp/ 1777"}
	if diff := cmp.Diff(want, list(t, filepath.Join(dir, "out.tar.gz"))); diff != "" {
		t.Errorf("archive (-want +got):\n%s", diff)
	}
}

func TestGzipRemovesItsFileWhenItFails(t *testing.T) {
	dir := t.TempDir()
	err := Gzip(filepath.Join(dir, "out.tar.gz"), []Entry{{Name: "x", Source: filepath.Join(dir, "absent")}})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Gzip() = %v, want file does not exist", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestTreeSkips(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a", "keep.txt"), "1")
	put(t, filepath.Join(dir, "b", "drop.txt"), "2")
	entries, err := Tree(dir, "root", func(rel string, _ fs.DirEntry) bool { return rel == "b" })
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	if diff := cmp.Diff([]string{"root", "root/a", "root/a/keep.txt"}, names); diff != "" {
		t.Errorf("Tree() (-want +got):\n%s", diff)
	}
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func list(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		line := h.Name + " " + strconv.FormatInt(h.Mode, 8)
		if h.Linkname != "" {
			line += " -> " + h.Linkname
		}
		if content, err := io.ReadAll(r); err != nil {
			t.Fatal(err)
		} else if len(content) > 0 {
			line += " " + string(content)
		}
		out = append(out, line)
	}
}
