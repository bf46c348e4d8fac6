package transfer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/artifacts"
)

// The limits bound the memory that one image needs.
const (
	MaxManifest  = 4 << 20 // size of one manifest in bytes, as in registries
	maxManifests = 200     // number of manifests of one image with all its platforms
	maxDepth     = 4       // levels of indexes in indexes
)

// Tree holds the manifests of an image and the descriptors of its blobs.
type Tree struct {
	Image artifacts.Image
	// Manifests is in the order in which they can be stored; the last is the root.
	Manifests []Manifest
	// Blobs holds layers and configurations, each once.
	Blobs []v1.Descriptor
}

// Manifest is a manifest or an index.
type Manifest struct {
	v1.Descriptor
	Raw []byte
}

// Root returns the manifest or index that gets the image's tag.
func (t Tree) Root() Manifest { return t.Manifests[len(t.Manifests)-1] }

// Bytes returns the size of all blobs.
func (t Tree) Bytes() (n int64) {
	for _, b := range t.Blobs {
		n += b.Size
	}
	return n
}

// Walk reads the manifests of an image and checks their digests. If the image is an index, Walk
// keeps only the given platforms; none: all. It also keeps all platforms if a digest is expected
// for the image, because an index with fewer platforms would have another digest.
func Walk(ctx context.Context, from Source, image artifacts.Image, platforms []v1.Platform) (Tree, error) {
	root, err := from.Root(ctx, image)
	if err != nil {
		return Tree{}, fmt.Errorf("image %s: %w", image.Ref, err)
	}
	if want := image.Wanted(); want != "" {
		if root.Digest.String() != want {
			return Tree{}, fmt.Errorf("image %s: the source has %s under this name, expected %s", image.Ref, root.Digest, want)
		}
		platforms = nil
	}
	w := &walk{from: from, tree: Tree{Image: image}, platforms: platforms, blobs: map[v1.Hash]bool{}, manifests: map[v1.Hash]bool{}}
	if err := w.visit(ctx, root, 0); err != nil {
		return Tree{}, fmt.Errorf("image %s: %w", image.Ref, err)
	}
	return w.tree, nil
}

type walk struct {
	from             Source
	tree             Tree
	platforms        []v1.Platform
	blobs, manifests map[v1.Hash]bool
}

// visit appends the manifests that d names, then d itself.
func (w *walk) visit(ctx context.Context, d v1.Descriptor, depth int) error {
	if w.manifests[d.Digest] {
		return nil
	}
	w.manifests[d.Digest] = true
	if depth > maxDepth || len(w.manifests) > maxManifests {
		return fmt.Errorf("it has more than %d manifests, or indexes nested more than %d deep", maxManifests, maxDepth)
	}
	if d.Size > MaxManifest {
		return fmt.Errorf("manifest %s has %d bytes, more than %d", d.Digest, d.Size, MaxManifest)
	}
	raw, err := w.from.Manifest(ctx, w.tree.Image, d)
	if err != nil {
		return err
	}
	if got, _, err := v1.SHA256(bytes.NewReader(raw)); err != nil || got != d.Digest {
		return fmt.Errorf("manifest %s is damaged: its content is %s", d.Digest, got)
	}
	m := Manifest{Descriptor: d, Raw: raw}
	switch {
	case d.MediaType.IsIndex():
		m, err = w.index(ctx, m, depth)
	case d.MediaType.IsImage():
		err = w.image(m)
	default:
		err = fmt.Errorf("%s has the media type %s, which is neither an image nor an index", d.Digest, d.MediaType)
	}
	if err == nil {
		w.tree.Manifests = append(w.tree.Manifests, m)
	}
	return err
}

func (w *walk) image(m Manifest) error {
	parsed, err := v1.ParseManifest(bytes.NewReader(m.Raw))
	if err != nil {
		return fmt.Errorf("manifest %s: %w", m.Digest, err)
	}
	for _, d := range append([]v1.Descriptor{parsed.Config}, parsed.Layers...) {
		if !d.MediaType.IsDistributable() || w.blobs[d.Digest] {
			continue
		}
		if d.Digest.Algorithm != "sha256" || d.Size < 0 {
			return fmt.Errorf("manifest %s: blob %s with %d bytes is not supported: it needs a sha256 digest and a size of at least 0", m.Digest, d.Digest, d.Size)
		}
		w.blobs[d.Digest] = true
		w.tree.Blobs = append(w.tree.Blobs, d)
	}
	return nil
}

func (w *walk) index(ctx context.Context, m Manifest, depth int) (Manifest, error) {
	parsed, err := v1.ParseIndexManifest(bytes.NewReader(m.Raw))
	if err != nil {
		return m, fmt.Errorf("index %s: %w", m.Digest, err)
	}
	if all := len(parsed.Manifests); len(w.platforms) > 0 {
		parsed.Manifests = slices.DeleteFunc(parsed.Manifests, func(d v1.Descriptor) bool { return !w.wants(d) })
		if len(parsed.Manifests) == 0 {
			return m, fmt.Errorf("index %s: none of its %d manifests is for %v", m.Digest, all, w.platforms)
		}
		if len(parsed.Manifests) < all {
			if m, err = rewritten(m, parsed); err != nil {
				return m, err
			}
		}
	}
	for _, child := range parsed.Manifests {
		if err := w.visit(ctx, child, depth+1); err != nil {
			return m, err
		}
	}
	return m, nil
}

func (w *walk) wants(d v1.Descriptor) bool {
	return d.Platform != nil && slices.ContainsFunc(w.platforms, func(p v1.Platform) bool { return d.Platform.Satisfies(p) })
}

func rewritten(m Manifest, content *v1.IndexManifest) (Manifest, error) {
	raw, err := json.Marshal(content)
	if err != nil {
		return m, err
	}
	m.Raw = raw
	m.Digest, m.Size, err = v1.SHA256(bytes.NewReader(raw))
	return m, err
}
