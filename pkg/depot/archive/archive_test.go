package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	crv1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/zstd"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

type file struct {
	name    string
	content []byte
	kind    byte
}

func pack(t testing.TB, files ...file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.content)), Typeflag: tar.TypeReg}
		if f.kind != 0 {
			h.Typeflag, h.Linkname, h.Size = f.kind, "/etc/passwd", 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := w.Write(f.content); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded(t testing.TB, data []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(data, nil)
}

type nopCloser struct{ io.ReadSeeker }

func (nopCloser) Close() error { return nil }

func newImporter(t testing.TB) *Importer {
	t.Helper()
	s, err := store.OnDisk(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &Importer{s, limits.NewQuota(limits.Limits{MaxUpload: 1 << 30}, &limits.Usage{Dir: s.Dir()})}
}

func (i *Importer) take(t testing.TB, archive string, data []byte) ([]string, error) {
	t.Helper()
	return i.Import(t.Context(), archive, int64(len(data)), func() (io.ReadSeekCloser, error) { return nopCloser{bytes.NewReader(data)}, nil })
}

func (i *Importer) wantDigest(t *testing.T, reference string, want crv1.Hash) {
	t.Helper()
	repository, tag, _ := strings.Cut(reference, ":")
	repo, err := i.Store.Repository(t.Context(), repository)
	if err != nil {
		t.Fatal(err)
	}
	desc, err := repo.Tags(t.Context()).Get(t.Context(), tag)
	if err != nil {
		t.Fatal(err)
	}
	if got := desc.Digest.String(); got != want.String() {
		t.Errorf("%s = %s, want %s", reference, got, want)
	}
}

func randomImage(t testing.TB) crv1.Image {
	t.Helper()
	img, err := random.Image(2000, 3)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// dockerSave returns an archive in the form of docker save and crane save.
func dockerSave(t testing.TB, names ...string) ([]byte, crv1.Image) {
	t.Helper()
	img := randomImage(t)
	images := map[name.Tag]crv1.Image{}
	for _, n := range names {
		tag, err := name.NewTag(n)
		if err != nil {
			t.Fatal(err)
		}
		images[tag] = img
	}
	var b bytes.Buffer
	if err := tarball.MultiWrite(images, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), img
}

// ociLayout returns an OCI layout with one index that has images for two platforms. refName is the
// reference name of the index.
func ociLayout(t testing.TB, refName string) ([]byte, crv1.ImageIndex) {
	t.Helper()
	idx := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: randomImage(t), Descriptor: crv1.Descriptor{Platform: &crv1.Platform{OS: "linux", Architecture: "amd64"}}},
		mutate.IndexAddendum{Add: randomImage(t), Descriptor: crv1.Descriptor{Platform: &crv1.Platform{OS: "linux", Architecture: "arm64"}}})
	dir := t.TempDir()
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.AppendIndex(idx, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": refName})); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), idx
}

func TestDockerArchive(t *testing.T) {
	plain, img := dockerSave(t, "registry.k8s.io/coredns/coredns:v1.12.0", "busybox:1", "10.0.0.1:5000/own")
	want := []string{"coredns/coredns:v1.12.0", "library/busybox:1", "own:latest"}
	for form, data := range map[string][]byte{"tar": plain, "tar.gz": gzipped(t, plain), "tar.zst": zstded(t, plain)} {
		t.Run(form, func(t *testing.T) {
			i := newImporter(t)
			got, err := i.take(t, "a", data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("references (-want +got):\n%s", diff)
			}
			layers, err := img.Layers()
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range layers {
				d, err := l.Digest()
				if err != nil {
					t.Fatal(err)
				}
				if _, err := i.Store.Blob(t.Context(), digest.NewDigestFromEncoded(digest.SHA256, d.Hex)); err != nil {
					t.Errorf("layer %s: %v", d, err)
				}
			}
			if again, err := i.take(t, "a", data); err != nil || len(again) != len(want) {
				t.Errorf("a second import = %v, %v", again, err)
			}
		})
	}
}

func TestLayoutKeepsEveryPlatform(t *testing.T) {
	for refName, want := range map[string]string{
		"ghcr.io/flannel-io/flannel:v0.27.0": "flannel-io/flannel:v0.27.0",
		"v3":                                 "plugin-1.0:v3",
	} {
		data, idx := ociLayout(t, refName)
		i := newImporter(t)
		got, err := i.take(t, "Plugin-1.0.tar.gz", gzipped(t, data))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Fatalf("references (-want +got):\n%s", diff)
		}
		hash, err := idx.Digest()
		if err != nil {
			t.Fatal(err)
		}
		i.wantDigest(t, want, hash)
		index, err := idx.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range index.Manifests {
			if _, err := i.Store.Blob(t.Context(), digest.NewDigestFromEncoded(digest.SHA256, m.Digest.Hex)); err != nil {
				t.Errorf("platform %v: %v", m.Platform, err)
			}
		}
	}
}

func TestBadArchivesAreRefusedWithoutATrace(t *testing.T) {
	good, _ := dockerSave(t, "busybox:1")
	oci, _ := ociLayout(t, "a:b")
	config := []byte(`{"rootfs": {"type": "layers", "diff_ids": ["sha256:` + strings.Repeat("0", 64) + `"]}}`)
	saved := func(tags, layer string) []byte {
		return []byte(`[{"Config": "c", "RepoTags": ` + tags + `, "Layers": ["` + layer + `"]}]`)
	}
	for what, c := range map[string]struct {
		data []byte
		want string
	}{
		"not an archive":    {bytes.Repeat([]byte("nothing of the kind "), 100), "cannot be read"},
		"too short":         {[]byte("abc"), "too short"},
		"empty":             {pack(t), "is empty"},
		"something else":    {pack(t, file{name: "readme", content: []byte("hi")}), "neither an index.json"},
		"cut":               {good[:len(good)/2], "refused"},
		"cut gzip":          {gzipped(t, good)[:1000], "cannot be read"},
		"cut layout":        {oci[:len(oci)-3000], "refused"},
		"out of it":         {pack(t, file{name: "../../etc/passwd"}), "leads out"},
		"from the root":     {pack(t, file{name: "/etc/passwd"}), "leads out"},
		"a link":            {pack(t, file{name: "layer.tar", kind: tar.TypeSymlink}), "is a link"},
		"a hard link":       {pack(t, file{name: "layer.tar", kind: tar.TypeLink}), "is a link"},
		"a device":          {pack(t, file{name: "sda", kind: tar.TypeBlock}), "neither a file"},
		"a name twice":      {pack(t, file{name: "a"}, file{name: "./a"}), "twice"},
		"a large manifest":  {pack(t, file{name: "manifest.json", content: make([]byte, maxManifest+1)}), "at most"},
		"no JSON":           {pack(t, file{name: "index.json", content: []byte("{")}), "index.json"},
		"a bomb":            {gzipped(t, pack(t, file{name: "zeros", content: make([]byte, 80<<20)})), "bomb"},
		"no config":         {pack(t, file{name: "manifest.json", content: saved(`["a:b"]`, "l")}), "c is missing"},
		"no layer":          {pack(t, file{name: "manifest.json", content: saved(`["a:b"]`, "l")}, file{name: "c", content: config}), "layer l is missing"},
		"another layer":     {pack(t, file{name: "manifest.json", content: saved(`["a:b"]`, "l")}, file{name: "c", content: config}, file{name: "l", content: []byte("other")}), "its manifest says " + strings.Repeat("0", 64)},
		"another gzip":      {pack(t, file{name: "manifest.json", content: saved(`["a:b"]`, "l")}, file{name: "c", content: config}, file{name: "l", content: gzipped(t, []byte("other"))}), "unpacks to"},
		"no name":           {pack(t, file{name: "manifest.json", content: saved(`[]`, "l")}, file{name: "c", content: config}, file{name: "l"}), "no name"},
		"a bad name":        {pack(t, file{name: "manifest.json", content: saved(`["a//b"]`, "l")}, file{name: "c", content: config}, file{name: "l"}), "a//b"},
		"the depot's names": {pack(t, file{name: "manifest.json", content: saved(`["x.io/bpa-depot/artifacts/o:b"]`, "l")}, file{name: "c", content: config}, file{name: "l"}), "depot's own"},
		"foreign index":     {pack(t, file{name: "index.json", content: []byte(`{"manifests": [{"digest": "sha512:1"}]}`)}), "missing"},
	} {
		t.Run(what, func(t *testing.T) {
			i := newImporter(t)
			got, err := i.take(t, "a.tar", c.data)
			var refused *Refusal
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("import = %v, %v; want a refusal with %q", got, err, c.want)
			}
			if seen := repositories(t, i.Store); len(seen) > 0 {
				t.Errorf("repositories appeared: %v", seen)
			}
		})
	}
}

func repositories(t testing.TB, s *store.Store) []string {
	t.Helper()
	names := make([]string, 10)
	n, err := s.Registry.Repositories(context.Background(), names, "")
	if err != nil && !errors.Is(err, io.EOF) && !store.IsAbsent(err) {
		t.Fatal(err)
	}
	return names[:n]
}

func FuzzImport(f *testing.F) {
	saved, _ := dockerSave(f, "busybox:1")
	oci, _ := ociLayout(f, "a:b")
	f.Add(saved)
	f.Add(oci)
	f.Add(gzipped(f, saved))
	f.Add(zstded(f, oci))
	f.Add(pack(f, file{name: "../x"}, file{name: "index.json", content: []byte(`{"manifests":[{}]}`)}))
	f.Fuzz(func(t *testing.T, data []byte) {
		i := newImporter(t)
		refs, err := i.take(t, "a.tar", data)
		if err == nil {
			for _, r := range refs {
				if strings.HasPrefix(r, "bpa-depot") {
					t.Fatalf("an archive wrote into %s", r)
				}
			}
			return
		}
		var refused *Refusal
		if !errors.As(err, &refused) {
			t.Fatalf("the error is not a refusal of the archive: %v", err)
		}
		if seen := repositories(t, i.Store); len(seen) > 0 {
			t.Fatalf("a refused archive left %v", seen)
		}
	})
}

func FuzzIndex(f *testing.F) {
	f.Add(`{"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","digest":"sha256:`+strings.Repeat("a", 64)+`"}]}`, `{"manifests":[]}`)
	f.Fuzz(func(t *testing.T, index, blob string) {
		if !json.Valid([]byte(index)) {
			return
		}
		data := pack(t, file{name: "index.json", content: []byte(index)}, file{name: "blobs/sha256/" + strings.Repeat("a", 64), content: []byte(blob)})
		var refused *Refusal
		if _, err := newImporter(t).take(t, "a.tar", data); !errors.As(err, &refused) {
			t.Fatalf("import = %v, want a refusal", err)
		}
	})
}
