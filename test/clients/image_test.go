//go:build integration

package clients

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	spec "github.com/opencontainers/image-spec/specs-go/v1"
)

// image is an image for two architectures, in an OCI layout under the name v1.
type image struct{ layout, digest string }

func makeImage(t *testing.T) *image {
	t.Helper()
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, architecture := range []string{"amd64", "arm64"} {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        oneOf(t, architecture),
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	written := inCanonicalOrder(t, index)
	digest, err := written.Digest()
	if err != nil {
		t.Fatal(err)
	}
	made := &image{t.TempDir(), digest.String()}
	path, err := layout.Write(made.layout, empty.Index)
	if err == nil {
		err = path.AppendIndex(written, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "v1"}))
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// canonical is an index without the field artifactType. It has the form in which the Go types of
// the specification encoded an index before they had this field. When skopeo copies an index, it
// decodes the index and encodes it again. With Debian's version of skopeo, the copy has the same
// digest only if the index has this form.
type canonical struct {
	original
	raw []byte
}

type original = v1.ImageIndex

func inCanonicalOrder(t *testing.T, index v1.ImageIndex) canonical {
	t.Helper()
	raw, err := index.RawManifest()
	var fields spec.Index
	if err == nil {
		err = json.Unmarshal(raw, &fields)
	}
	if err == nil {
		for i := range fields.Manifests {
			fields.Manifests[i].ArtifactType = ""
		}
		raw, err = json.Marshal(fields)
	}
	if err != nil {
		t.Fatal(err)
	}
	return canonical{index, raw}
}

func (c canonical) RawManifest() ([]byte, error) { return c.raw, nil }
func (c canonical) Digest() (v1.Hash, error)     { return partial.Digest(c) }
func (c canonical) Size() (int64, error)         { return partial.Size(c) }

func oneOf(t *testing.T, architecture string) v1.Image {
	t.Helper()
	made := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	made, err := mutate.ConfigFile(made, &v1.ConfigFile{OS: "linux", Architecture: architecture, RootFS: v1.RootFS{Type: "layers"}})
	for n := 0; err == nil && n < 2; n++ {
		made, err = mutate.AppendLayers(made, randomLayer(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// randomLayer returns a compressed archive with one large file, which clients send in several
// chunks.
func randomLayer(t *testing.T) v1.Layer {
	t.Helper()
	content := make([]byte, 1<<20)
	_, _ = rand.Read(content) // never fails, by its contract
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: "random-" + rand.Text(), Mode: 0o644, Size: int64(len(content))})
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

// isIn checks that a layout contains the complete image.
func (i *image) isIn(t *testing.T, folder string) {
	t.Helper()
	all, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := v1.NewHash(i.digest)
	if err != nil {
		t.Fatal(err)
	}
	index, err := all.ImageIndex(digest)
	if err != nil {
		t.Fatalf("the pulled layout does not contain the image %s: %v", i.digest, err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
}
