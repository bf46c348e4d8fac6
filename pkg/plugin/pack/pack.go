package pack

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// The media types of a plugin's artifact and of its layer.
const (
	ArtifactType = "application/vnd.akraino.bpa.plugin.v1"
	LayerType    = "application/vnd.akraino.bpa.plugin.content.v1.tar"
)

// MaxLayer limits the layer in bytes: the content, and at most 2 KiB for each file.
const MaxLayer = plugin.MaxSize + plugin.MaxFiles*2<<10

// maxManifest limits a manifest in bytes.
const maxManifest = 64 << 10

// Artifact is a plugin as a registry stores it.
type Artifact struct {
	Repository string // plugins/NAME
	Tag        string // the plugin's version
	Manifest   []byte // of the media type v1.MediaTypeImageManifest
	Digest     string // of the manifest: sha256:HEX
	Config     []byte // the empty configuration, {}
	Layer      []byte
}

// Repository returns the repository of a plugin in a depot.
func Repository(name string) string { return "plugins/" + name }

// Pack returns the artifact of a plugin. A retired plugin cannot be packed: it has no version.
func Pack(p plugin.Plugin) (Artifact, error) {
	if p.Status == plugin.Retired {
		return Artifact{}, fmt.Errorf("plugin %s is retired: there is nothing to install", p.Name)
	}
	layer, err := layerOf(p)
	if err != nil {
		return Artifact{}, err
	}
	manifest, err := json.Marshal(v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: v1.MediaTypeImageManifest, ArtifactType: ArtifactType,
		Config: v1.DescriptorEmptyJSON,
		Layers: []v1.Descriptor{{MediaType: LayerType, Digest: digest.FromBytes(layer), Size: int64(len(layer))}},
		Annotations: map[string]string{
			v1.AnnotationTitle: p.Name, v1.AnnotationVersion: p.Version, v1.AnnotationDescription: p.Description,
		},
	})
	if err != nil {
		return Artifact{}, err
	}
	return Artifact{
		Repository: Repository(p.Name), Tag: p.Version, Manifest: manifest, Digest: digest.FromBytes(manifest).String(),
		Config: v1.DescriptorEmptyJSON.Data, Layer: layer,
	}, nil
}

func layerOf(p plugin.Plugin) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, path := range p.Paths() {
		text := p.Content[path]
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path, Size: int64(len(text)), Mode: 0o644, Format: tar.FormatPAX}
		if err := w.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", path, err)
		}
		if _, err := w.Write(text); err != nil {
			return nil, fmt.Errorf("pack %s: %w", path, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if out.Len() > MaxLayer {
		return nil, fmt.Errorf("the plugin has %d bytes as a tar, more than %d", out.Len(), MaxLayer)
	}
	return out.Bytes(), nil
}

// Layer is the layer of a plugin's artifact.
type Layer struct {
	Digest string // sha256:HEX
	Size   int64  // in bytes, at most MaxLayer
}

// ReadManifest returns the layer that a manifest names. It refuses the manifest of anything but a
// plugin, such as an image.
func ReadManifest(text []byte) (Layer, error) {
	var m v1.Manifest
	if len(text) > maxManifest {
		return Layer{}, fmt.Errorf("the manifest has %d bytes, more than %d", len(text), maxManifest)
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return Layer{}, fmt.Errorf("the manifest: %w", err)
	}
	if m.ArtifactType != ArtifactType || len(m.Layers) != 1 || m.Layers[0].MediaType != LayerType {
		return Layer{}, fmt.Errorf("the artifact of type %.100q is not a plugin: push it with \"kubectl bpa plugins push\"", m.ArtifactType)
	}
	layer := m.Layers[0]
	if err := layer.Digest.Validate(); err != nil || layer.Digest.Algorithm() != digest.SHA256 {
		return Layer{}, fmt.Errorf("the layer's digest %.100q is not like sha256:<64 hexadecimal digits>", layer.Digest)
	}
	if layer.Size < 0 || layer.Size > MaxLayer {
		return Layer{}, fmt.Errorf("the layer has %d bytes, more than %d", layer.Size, MaxLayer)
	}
	return Layer{Digest: layer.Digest.String(), Size: layer.Size}, nil
}

// Unpack returns the plugin in a layer, checked. The caller needs not trust the layer, but compares
// its digest if it expects one: see UnpackVerified.
func Unpack(layer io.Reader) (plugin.Plugin, error) {
	content, size := map[string][]byte{}, int64(0)
	limited := &io.LimitedReader{R: layer, N: MaxLayer + 1}
	reader := tar.NewReader(limited)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return plugin.Plugin{}, unreadable(err, limited)
		}
		text, err := readEntry(reader, header, plugin.MaxSize-size)
		if err != nil {
			return plugin.Plugin{}, err
		}
		if _, twice := content[header.Name]; twice || len(content) == plugin.MaxFiles {
			return plugin.Plugin{}, fmt.Errorf("file %.100q occurs twice, or the plugin has more than %d files", header.Name, plugin.MaxFiles)
		}
		content[header.Name], size = text, size+int64(len(text))
	}
	if _, err := io.Copy(io.Discard, limited); err != nil || limited.N == 0 {
		return plugin.Plugin{}, unreadable(err, limited)
	}
	return plugin.FromContent(content)
}

func readEntry(reader io.Reader, header *tar.Header, rest int64) ([]byte, error) {
	switch {
	case header.Typeflag != tar.TypeReg:
		return nil, fmt.Errorf("file %.100q is not a regular file", header.Name)
	case header.Size > rest:
		return nil, fmt.Errorf("the plugin's files have more than %d bytes", plugin.MaxSize)
	}
	if err := plugin.CheckPath(header.Name); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(reader, rest))
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", header.Name, err)
	}
	return text, nil
}

func unreadable(err error, limited *io.LimitedReader) error {
	if limited.N == 0 {
		return fmt.Errorf("the layer has more than %d bytes", MaxLayer)
	}
	return fmt.Errorf("the layer is not a tar of a plugin: %w", err)
}

// UnpackVerified returns the plugin in a layer with this digest and size.
func UnpackVerified(r io.Reader, want Layer) (plugin.Plugin, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxLayer+1))
	if err != nil {
		return plugin.Plugin{}, err
	}
	if got := digest.FromBytes(text).String(); got != want.Digest || int64(len(text)) != want.Size {
		return plugin.Plugin{}, fmt.Errorf("the layer has the digest %s and %d bytes, and not %s and %d bytes", got, len(text), want.Digest, want.Size)
	}
	return Unpack(bytes.NewReader(text))
}
