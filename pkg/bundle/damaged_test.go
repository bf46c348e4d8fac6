package bundle

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/depottest"
)

type entry struct {
	tar.Header
	content []byte
}

func entries(t testing.TB, path string) (all []entry) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in := tar.NewReader(file)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry{*h, content})
	}
}

func written(t testing.TB, all []entry) string {
	t.Helper()
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	for _, e := range all {
		e.Size = int64(len(e.content))
		if err := errors.Join(out.WriteHeader(&e.Header), write(out, e.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "changed.tar")
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// An import of a damaged bundle sends nothing to the depot.
func TestDamagedLeavesNoTrace(t *testing.T) {
	good := entries(t, newFixture(t).pack(t, 0))
	largest := 0
	for n, e := range good {
		if e.Size > good[largest].Size {
			largest = n
		}
	}
	evil := func(h tar.Header, content string) func([]entry) []entry {
		return func(all []entry) []entry { return append(all, entry{h, []byte(content)}) }
	}
	inIndex := func(old, new string) func([]entry) []entry {
		return func(all []entry) []entry {
			last := &all[len(all)-1]
			last.content = []byte(strings.ReplaceAll(string(last.content), old, new))
			return all
		}
	}
	for name, change := range map[string]func([]entry) []entry{
		"a flipped bit in a layer": func(all []entry) []entry {
			all[largest].content = bytes.Clone(all[largest].content)
			all[largest].content[len(all[largest].content)/2] ^= 1
			return all
		},
		"a blob of another size":     func(all []entry) []entry { all[largest].content = all[largest].content[1:]; return all },
		"a missing blob":             func(all []entry) []entry { return append(all[:largest:largest], all[largest+1:]...) },
		"no index":                   func(all []entry) []entry { return all[:len(all)-1] },
		"an index that is no JSON":   func(all []entry) []entry { all[len(all)-1].content = []byte("{"); return all },
		"two indexes":                func(all []entry) []entry { return append(all, all[len(all)-1]) },
		"a name that climbs":         evil(tar.Header{Typeflag: tar.TypeReg, Name: "blobs/sha256/../../../etc/passwd"}, "root"),
		"an absolute name":           evil(tar.Header{Typeflag: tar.TypeReg, Name: "/etc/passwd"}, "root"),
		"a link":                     evil(tar.Header{Typeflag: tar.TypeSymlink, Name: "blobs/sha256/" + strings.Repeat("0", 64), Linkname: "/etc/passwd"}, ""),
		"a hard link":                evil(tar.Header{Typeflag: tar.TypeLink, Name: "blobs/sha256/" + strings.Repeat("0", 64), Linkname: "index.json"}, ""),
		"a device":                   evil(tar.Header{Typeflag: tar.TypeChar, Name: "blobs/sha256/" + strings.Repeat("0", 64)}, ""),
		"something else":             evil(tar.Header{Typeflag: tar.TypeReg, Name: "README"}, "hello"),
		"an image without a name":    inIndex("registry.k8s.io/kube-proxy:v1", ""),
		"an image of an evil name":   inIndex("registry.k8s.io/kube-proxy:v1", "registry.k8s.io/../proxy:v1"),
		"two images of one place":    inIndex("registry.k8s.io/kube-proxy:v1", "quay.io/coredns/coredns:v1"),
		"an index of another digest": inIndex(`"sha256:`, `"sha256:0`),
	} {
		t.Run(name, func(t *testing.T) { refused(t, written(t, change(append([]entry(nil), good...)))) })
	}
	whole, err := os.ReadFile(written(t, good))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 1, 512, 1000, len(whole) / 2, len(whole) - 4096} {
		path := filepath.Join(t.TempDir(), "cut.tar")
		if err := os.WriteFile(path, whole[:size], 0o644); err != nil {
			t.Fatal(err)
		}
		refused(t, path)
	}
}

func refused(t *testing.T, path string) {
	t.Helper()
	site := depottest.Start(t)
	b, err := Open(path)
	if err == nil {
		defer b.Close()
		_, err = Import(t.Context(), b, connect(t, site), io.Discard)
	}
	if err == nil {
		t.Error("it was imported")
	} else if len(err.Error()) > 2000 {
		t.Errorf("the error has %d bytes", len(err.Error()))
	}
	if site.Uploads() > 0 {
		t.Errorf("%v, but it sent %v", err, site.Calls())
	}
}

// The path of a file is read from its manifest, which is verified by digest. The path in the index
// is not verified and not used.
func TestFilePathComesFromTheManifest(t *testing.T) {
	all := entries(t, newFixture(t).pack(t, 0))
	last := &all[len(all)-1]
	last.content = []byte(strings.ReplaceAll(string(last.content), "dl.k8s.io/kubelet", "../../../kubelet"))
	for _, f := range open(t, written(t, all)).List().Files {
		if strings.Contains(f.Path, "..") {
			t.Errorf("path %q", f.Path)
		}
	}
}

// If one byte of a bundle is changed at random, Open or Verify returns an error, or the content is
// still the packed one.
func TestRandomDamage(t *testing.T) {
	w := newFixture(t)
	path := w.pack(t, 0)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := open(t, path).List()
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		changed := bytes.Clone(whole)
		at := random.IntN(len(changed))
		changed[at] ^= byte(1 + random.IntN(255))
		file := filepath.Join(t.TempDir(), "changed.tar")
		if err := os.WriteFile(file, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		b, err := Open(file)
		if err != nil {
			continue
		}
		if err := b.Verify(t.Context(), b.List()); err == nil {
			for n, f := range b.List().Files {
				if f.SHA256 != want.Files[n].SHA256 {
					t.Errorf("byte %d: changed content is accepted", at)
				}
			}
		}
		_ = b.Close()
		_ = os.Remove(file)
	}
}

func FuzzOpen(f *testing.F) {
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	for _, e := range []struct{ name, content string }{{layoutEntry, layoutText}, {indexEntry, `{"schemaVersion":2,"manifests":[]}`}} {
		if err := errors.Join(out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.content))}), write(out, []byte(e.content))); err != nil {
			f.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("not a tar"))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "fuzz.tar")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		b, err := Open(path)
		if err != nil {
			return
		}
		defer b.Close()
		_ = b.Verify(t.Context(), b.List()) // must not panic
	})
}
