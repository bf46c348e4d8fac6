package archive

import (
	"encoding/json"
	"path"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// planSaved plans the import of an archive of the older docker save form, which has a config and
// layers, but no OCI layout. The config has the digests of the uncompressed layers. The depot
// stores each layer as it is in the archive, compressed or not, and makes an OCI manifest for the
// image.
func (r *reader) planSaved(c contents) (plan, error) {
	var names []string
	for _, s := range c.saved {
		names = append(names, path.Clean(s.Config))
	}
	configs, err := r.read(names)
	if err != nil {
		return plan{}, err
	}
	packed, err := r.packedLayers(c)
	if err != nil {
		return plan{}, err
	}
	p := plan{blobs: map[string]blob{}}
	var w work
	for _, s := range c.saved {
		if err := w.did(len(configs[path.Clean(s.Config)])); err != nil {
			return plan{}, err
		}
		i, err := planImage(s, configs[path.Clean(s.Config)], c, packed, p.blobs)
		if err != nil {
			return plan{}, err
		}
		p.images = append(p.images, i)
	}
	return p, p.checkNames()
}

func planImage(s saved, config []byte, c contents, packed map[string]packedLayer, blobs map[string]blob) (image, error) {
	var content v1.Image
	if err := json.Unmarshal(config, &content); err != nil {
		return image{}, refuse("config %s: %v", s.Config, err)
	}
	if len(content.RootFS.DiffIDs) != len(s.Layers) {
		return image{}, refuse("config %s has %d layers, but manifest.json names %d", s.Config, len(content.RootFS.DiffIDs), len(s.Layers))
	}
	m := v1.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: v1.MediaTypeImageManifest,
		Config:    v1.Descriptor{MediaType: v1.MediaTypeImageConfig, Digest: digest.FromBytes(config), Size: int64(len(config))},
	}
	blobs[path.Clean(s.Config)] = blob{m.Config.Size, m.Config.Digest}
	for n, layer := range s.Layers {
		layer = path.Clean(layer)
		size, ok := c.sizes[layer]
		id := content.RootFS.DiffIDs[n]
		if !ok || id.Validate() != nil || id.Algorithm() != digest.SHA256 {
			return image{}, refuse("layer %s is missing, or config %s has no sha256 for it", layer, s.Config)
		}
		desc := v1.Descriptor{MediaType: v1.MediaTypeImageLayer, Digest: id, Size: size}
		if as, ok := packed[layer]; ok {
			if as.unpacked != id {
				return image{}, refuse("layer %s unpacks to %s, but it should unpack to %s according to config %s", layer, as.unpacked, id, s.Config)
			}
			desc.MediaType, desc.Digest = as.mediaType, as.digest
		}
		blobs[layer] = blob{size, desc.Digest}
		m.Layers = append(m.Layers, desc)
	}
	body, err := json.Marshal(m)
	if err != nil {
		return image{}, err
	}
	i := image{manifests: []manifest{{v1.MediaTypeImageManifest, body, digest.FromBytes(body), append([]v1.Descriptor{m.Config}, m.Layers...)}}}
	if len(s.RepoTags) == 0 {
		return image{}, refuse("the image with config %s has no name: save it again by its name and tag", s.Config)
	}
	for _, tag := range s.RepoTags {
		ref, err := parseRef(tag)
		if err != nil {
			return image{}, err
		}
		i.refs = append(i.refs, ref)
	}
	return i, nil
}
