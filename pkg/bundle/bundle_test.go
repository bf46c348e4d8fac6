package bundle

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

// fixture is a depot with images and files, and the list of these artifacts.
type fixture struct {
	site *depottest.Depot
	list artifacts.List
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	w := &fixture{site: depottest.Start(t)}
	to := connect(t, w.site)
	for _, repository := range []string{"kube-proxy", "coredns/coredns"} {
		image, err := random.Image(3000, 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(to.Repository(repository).Tag("v1"), image, to.Remote()...); err != nil {
			t.Fatal(err)
		}
		w.list.Images = append(w.list.Images, artifacts.Image{Ref: "registry.k8s.io/" + repository + ":v1"})
	}
	index, err := random.Index(500, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(to.Repository("several").Tag("v2"), index, to.Remote()...); err != nil {
		t.Fatal(err)
	}
	w.list.Images = append(w.list.Images, artifacts.Image{Ref: "quay.io/several:v2"})
	for path, content := range map[string]string{"dl.k8s.io/kubelet": strings.Repeat("kubelet", 10_000), "empty": ""} {
		w.list.Files = append(w.list.Files, artifacts.File{Path: path, SHA256: w.site.Put(t, path, []byte(content))})
	}
	return w
}

func connect(t *testing.T, d *depottest.Depot) *client.Depot {
	t.Helper()
	client, err := client.Connect(t.Context(), d.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// pack makes a bundle of the artifacts on the fixture's list.
func (w *fixture) pack(t *testing.T, limit int64) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "bundle.tar")
	out := NewOutput(path, limit)
	defer out.Discard()
	if err := Create(t.Context(), w.list, transfer.FromDepot(connect(t, w.site)), out, CreateOptions{TempDir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) *Bundle {
	t.Helper()
	b, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func TestThereAndBack(t *testing.T) {
	w := newFixture(t)
	b := open(t, w.pack(t, 0))
	if err := b.Verify(t.Context(), b.List()); err != nil {
		t.Fatal(err)
	}
	other := depottest.Start(t)
	to := connect(t, other)
	var log bytes.Buffer
	done, err := Import(t.Context(), b, to, &log)
	if err != nil || done.Images != 3 || done.Files != 2 {
		t.Fatalf("Import = %+v, %v", done, err)
	}
	have, err := to.Stat(t.Context(), b.List())
	if err != nil || !artifacts.Compare(b.List(), have).Nothing() {
		t.Errorf("missing %v, %v", artifacts.Compare(b.List(), have).List, err)
	}
	index, err := remote.Index(to.Repository("several").Tag("v2"), to.Remote()...)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 3 {
		t.Errorf("the index has %d manifests, %v", len(manifest.Manifests), err)
	}
	image, err := remote.Image(to.Repository("coredns/coredns").Tag("v1"), to.Remote()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Error(err)
	}

	other.Forget()
	if _, err := Import(t.Context(), b, connect(t, other), &log); err != nil || other.Uploads() > 0 {
		t.Errorf("the second time: %v, it sent %v", err, other.Calls())
	}
	if !strings.Contains(log.String(), "has all 5 artifacts of the bundle") {
		t.Errorf("the log:\n%s", &log)
	}
}

// An interrupted import resumes where it stopped: blobs that arrived are not sent again.
func TestImportResumes(t *testing.T) {
	w := newFixture(t)
	b := open(t, w.pack(t, 0))
	other := depottest.Start(t)
	to := connect(t, other)
	first := w.list.Images[0]
	tree, err := transfer.Walk(t.Context(), b, first, nil)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(connect(t, w.site).Repository("kube-proxy").Tag("v1"), connect(t, w.site).Remote()...)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		if err := to.PutBlob(t.Context(), "kube-proxy", "", l); err != nil {
			t.Fatal(err)
		}
	}
	other.Forget()
	if _, err := Import(t.Context(), b, connect(t, other), io.Discard); err != nil {
		t.Fatal(err)
	}
	asked, sent := 0, 0
	for _, c := range other.Calls() {
		switch {
		case strings.HasPrefix(c, "POST /v2/kube-proxy/blobs/uploads/"):
			asked++
		case strings.HasPrefix(c, "PUT /v2/kube-proxy/blobs/uploads/"):
			sent++
		}
	}
	if asked != len(tree.Blobs) {
		t.Errorf("the depot was asked %d times for the %d blobs of the image", asked, len(tree.Blobs))
	}
	if want := len(tree.Blobs) - len(layers); sent != want {
		t.Errorf("%d blobs of the image were sent, want %d", sent, want)
	}
}

func TestSameContentSameBytes(t *testing.T) {
	w := newFixture(t)
	one, err := os.ReadFile(w.pack(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.ReadFile(w.pack(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		t.Error("two bundles of the same list differ")
	}
}

func TestParts(t *testing.T) {
	w := newFixture(t)
	path := w.pack(t, 10_000)
	names, err := filepath.Glob(path + "*")
	if err != nil || len(names) < 5 {
		t.Fatalf("parts %v, %v", names, err)
	}
	want := open(t, w.pack(t, 0)).List()
	for _, name := range []string{path, path + ".000", path + ".parts.json"} {
		b := open(t, name)
		if diff := cmp.Diff(want, b.List()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if err := b.Verify(t.Context(), b.List()); err != nil {
			t.Error(err)
		}
	}
	if err := os.Truncate(path+".001", 9_999); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), ".001 has 9999 bytes, expected 10000: copy it again") {
		t.Errorf("with a truncated part: %v", err)
	}
	if err := os.Remove(path + ".001"); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("with a missing part: %v", err)
	}
}

// Other tools can read a bundle: when unpacked, it is an OCI image layout.
func TestIsALayout(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Open(newFixture(t).pack(t, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in := tar.NewReader(file)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		at := filepath.Join(dir, h.Name)
		content, err := io.ReadAll(in)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, content, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 5 {
		t.Fatalf("index %+v, %v", manifest, err)
	}
	for _, d := range manifest.Manifests {
		if d.Annotations["org.opencontainers.image.ref.name"] != "registry.k8s.io/kube-proxy:v1" {
			continue
		}
		image, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Image(image); err != nil {
			t.Error(err)
		}
	}
}

// Open reads layouts of other tools if their images have complete names.
func TestForeignLayout(t *testing.T) {
	image, err := random.Image(100, 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, fails := range map[string]bool{"docker.io/library/nginx:1": false, "latest": true} {
		dir := t.TempDir()
		path, err := layout.Write(dir, emptyIndex(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := path.AppendImage(image, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": name})); err != nil {
			t.Fatal(err)
		}
		b, err := Open(tarOf(t, dir))
		if fails {
			if err == nil || !strings.Contains(err.Error(), `its name is "latest"`) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := b.List().Images; len(got) != 1 || got[0].Ref != name {
			t.Errorf("List = %+v", got)
		}
		if err := errors.Join(b.Verify(t.Context(), b.List()), b.Close()); err != nil {
			t.Error(err)
		}
	}
}

func emptyIndex(t *testing.T) v1.ImageIndex {
	t.Helper()
	index, err := random.Index(1, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// tarOf packs a folder like tar(1): with entries for folders, and ./ before each name.
func tarOf(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: strings.Replace("./"+name+"/", "././", "./", 1), Mode: 0o755})
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "./" + name, Size: int64(len(content)), Mode: 0o644}), write(out, content))
	})
	if err := errors.Join(err, out.Close()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "foreign.tar")
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func write(out io.Writer, content []byte) error {
	_, err := out.Write(content)
	return err
}

// The whole content of a depot is exported and imported into another depot. This includes files
// that users uploaded below /v1.
func TestExportOfEverything(t *testing.T) {
	w := newFixture(t)
	from := connect(t, w.site)
	upload(t, w.site.URL+"/v1/baremetalcluster/owner/cluster/os_images/Debian.img/content", "an operating system")
	everything, _, err := from.Everything(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.list = everything
	b := open(t, w.pack(t, 0))
	if len(b.List().Images) != 3 || len(b.List().Files) != 3 {
		t.Errorf("the bundle has %+v", b.List())
	}
	other := depottest.Start(t)
	if _, err := Import(t.Context(), b, connect(t, other), io.Discard); err != nil {
		t.Fatal(err)
	}
	got, _, err := connect(t, other).Everything(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(everything, got); diff != "" {
		t.Errorf("content of the other depot (-want +got):\n%s", diff)
	}
	body, _, err := connect(t, other).GetFile(t.Context(), "os_images/owner/cluster/Debian.img")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if text, err := io.ReadAll(body); err != nil || string(text) != "an operating system" {
		t.Errorf("the uploaded image is %q, %v", text, err)
	}
}

func upload(t *testing.T, url, content string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("PUT %s: %s", url, resp.Status)
	}
}

func TestCreateFails(t *testing.T) {
	w := newFixture(t)
	for name, list := range map[string]artifacts.List{
		"an image that is not there":    {Images: []artifacts.Image{{Ref: "quay.io/none:v1"}}},
		"a file that is not there":      {Files: []artifacts.File{{Path: "none"}}},
		"a file of another content":     {Files: []artifacts.File{{Path: "dl.k8s.io/kubelet", SHA256: strings.Repeat("0", 64)}}},
		"a file of another size":        {Files: []artifacts.File{{Path: "dl.k8s.io/kubelet", Size: 1}}},
		"another digest than the tag's": {Images: []artifacts.Image{{Ref: "registry.k8s.io/kube-proxy:v1", Digest: "sha256:" + strings.Repeat("0", 64)}}},
	} {
		path := filepath.Join(t.TempDir(), "bundle.tar")
		out := NewOutput(path, 0)
		if err := Create(context.Background(), list, transfer.FromDepot(connect(t, w.site)), out, CreateOptions{TempDir: t.TempDir()}); err == nil {
			t.Errorf("%s: no error", name)
		}
		out.Discard()
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) > 0 {
			t.Errorf("%s: it leaves %v", name, left)
		}
	}
}

// If the checksum of a file is not known, Create reads the file once and writes the checksum into
// the bundle.
func TestUnknownChecksum(t *testing.T) {
	w := newFixture(t)
	want := w.list.Files
	w.list = artifacts.List{}
	for _, f := range want {
		w.list.Files = append(w.list.Files, artifacts.File{Path: f.Path})
	}
	for _, f := range open(t, w.pack(t, 0)).List().Files {
		for _, g := range want {
			if g.Path == f.Path && g.SHA256 != f.SHA256 {
				t.Errorf("%s has sha256 %s, want %s", f.Path, f.SHA256, g.SHA256)
			}
		}
	}
}
