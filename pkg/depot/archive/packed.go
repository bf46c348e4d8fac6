package archive

import (
	"bufio"
	"crypto/sha256"
	"io"
	"path"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// packedLayer is a compressed layer in an archive of docker save's form. The archive's
// manifest.json does not have the digest of the compressed layer.
type packedLayer struct {
	mediaType        string
	digest, unpacked digest.Digest
}

// packedLayers reads each compressed layer once and computes the digests of its compressed and its
// uncompressed content.
func (r *reader) packedLayers(c contents) (map[string]packedLayer, error) {
	wanted := map[string]bool{}
	for _, s := range c.saved {
		for _, layer := range s.Layers {
			wanted[path.Clean(layer)] = true
		}
	}
	found := map[string]packedLayer{}
	err := r.each(func(name string, size int64, body io.Reader) error {
		if !wanted[name] {
			return nil
		}
		buffered := bufio.NewReader(body)
		magic, _ := buffered.Peek(4) // a layer with fewer than 4 bytes is not compressed
		mediaType := map[string]string{"gzip": v1.MediaTypeImageLayerGzip, "zstd": v1.MediaTypeImageLayerZstd}[compressionOf(magic)]
		if mediaType == "" {
			return nil
		}
		layer, err := r.unpackLayer(name, size, buffered)
		layer.mediaType = mediaType
		found[name] = layer
		return err
	})
	return found, err
}

func (r *reader) unpackLayer(name string, size int64, body *bufio.Reader) (packedLayer, error) {
	packed, unpacked := sha256.New(), sha256.New()
	layer := reader{packed: size, most: r.most}
	magic, _ := body.Peek(4) // the caller has peeked at these bytes already
	plain, done, err := layer.decompress(magic, io.TeeReader(body, packed))
	if err != nil {
		return packedLayer{}, err
	}
	defer done()
	if _, err := io.Copy(unpacked, plain); err != nil {
		return packedLayer{}, refuse("layer %s cannot be unpacked: %v", name, err)
	}
	if _, err := io.Copy(packed, body); err != nil {
		return packedLayer{}, broken(err)
	}
	return packedLayer{digest: digest.NewDigest(digest.SHA256, packed), unpacked: digest.NewDigest(digest.SHA256, unpacked)}, nil
}
