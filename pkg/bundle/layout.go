package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/akraino-icn/bpa/pkg/artifacts"
)

// Names of the entries of the tar.
const (
	layoutEntry = "oci-layout"
	indexEntry  = "index.json"
	blobFolder  = "blobs/sha256/"
)

const layoutText = `{"imageLayoutVersion":"1.0.0"}`

// Annotations and media types in index.json.
const (
	annotationRef   = "org.opencontainers.image.ref.name"
	annotationName  = "io.containerd.image.name" // the complete name of the image, even if annotationRef is only a tag
	annotationTitle = "org.opencontainers.image.title"
	// FileType is the artifact type of a file.
	FileType types.MediaType = "application/vnd.akraino.bpa.file.v1"
	dataType types.MediaType = "application/octet-stream"
	noneType types.MediaType = "application/vnd.oci.empty.v1+json"
)

// none is the empty configuration. The image specification requires it of an artifact that has no
// configuration.
var none = []byte("{}")

// fileManifest is the manifest of an artifact with one file.
type fileManifest struct {
	SchemaVersion int             `json:"schemaVersion"`
	MediaType     types.MediaType `json:"mediaType"`
	ArtifactType  types.MediaType `json:"artifactType"`
	Config        v1.Descriptor   `json:"config"`
	Layers        []v1.Descriptor `json:"layers"`
}

// indexManifest is like v1.IndexManifest. In addition, its entries keep their artifact type, and an
// empty list of manifests is written as [] instead of null.
type indexManifest struct {
	SchemaVersion int             `json:"schemaVersion"`
	MediaType     types.MediaType `json:"mediaType"`
	Manifests     []v1.Descriptor `json:"manifests"`
}

func describe(mediaType types.MediaType, content []byte) v1.Descriptor {
	digest, size, _ := v1.SHA256(bytes.NewReader(content)) // reading memory cannot fail
	return v1.Descriptor{MediaType: mediaType, Digest: digest, Size: size}
}

// makeFile returns the manifest of a file, and its entry in the index.
func makeFile(path string, digest v1.Hash, size int64) (raw []byte, entry v1.Descriptor, err error) {
	raw, err = json.Marshal(fileManifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: FileType, Config: describe(noneType, none),
		Layers: []v1.Descriptor{{MediaType: dataType, Digest: digest, Size: size, Annotations: map[string]string{annotationTitle: path}}},
	})
	entry = describe(types.OCIManifestSchema1, raw)
	entry.ArtifactType, entry.Annotations = string(FileType), map[string]string{annotationTitle: path}
	return raw, entry, err
}

// readFile parses the manifest of a file. It is the reverse of makeFile.
func readFile(raw []byte) (artifacts.File, v1.Descriptor, error) {
	var m fileManifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return artifacts.File{}, v1.Descriptor{}, err
	}
	if len(m.Layers) != 1 || m.Layers[0].Digest.Algorithm != "sha256" || m.Layers[0].Size < 0 {
		return artifacts.File{}, v1.Descriptor{}, fmt.Errorf("it has %d layers, expected one layer with a sha256 digest", len(m.Layers))
	}
	l := m.Layers[0]
	file := artifacts.File{Path: l.Annotations[annotationTitle], SHA256: l.Digest.Hex, Size: l.Size}
	return file, l, artifacts.CheckPath(file.Path)
}
