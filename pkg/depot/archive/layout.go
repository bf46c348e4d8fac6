package archive

import (
	"encoding/json"
	"path"
	"slices"

	"github.com/distribution/distribution/v3/manifest/manifestlist"
	"github.com/distribution/distribution/v3/manifest/schema2"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	// maxDepth is the largest nesting depth of indexes.
	maxDepth = 4
	// maxTree limits the bytes of manifests that are held in memory.
	maxTree = 16 << 20
	// annotationContainerd is the annotation in which containerd and docker save write the full
	// name of an image.
	annotationContainerd = "io.containerd.image.name"
)

// planLayout plans the import of an OCI layout.
func (r *reader) planLayout(name string, c contents) (plan, error) {
	tree, err := r.tree(c)
	if err != nil {
		return plan{}, err
	}
	p := plan{blobs: map[string]blob{}}
	w := walk{tree: tree, contents: c, blobs: p.blobs}
	for _, root := range c.index.Manifests {
		i := image{}
		if err := w.add(root, &i, 0); err != nil {
			return plan{}, err
		}
		if len(i.manifests) == 0 {
			return plan{}, refuse("it contains no manifest of image %s", root.Digest)
		}
		if i.refs, err = refsOf(root, name, c, i); err != nil {
			return plan{}, err
		}
		p.images = append(p.images, i)
	}
	return p, p.checkNames()
}

// tree has the content of each manifest of a layout, by its digest.
type tree map[digest.Digest][]byte

func (r *reader) tree(c contents) (tree, error) {
	t := tree{}
	next := c.index.Manifests
	for depth := 0; len(next) > 0; depth++ {
		if depth > maxDepth {
			return nil, refuse("its indexes are nested deeper than %d", maxDepth)
		}
		files, err := r.read(t.missing(next, c))
		if err != nil {
			return nil, err
		}
		var children []v1.Descriptor
		for file, body := range files {
			d := digest.NewDigestFromEncoded(digest.SHA256, path.Base(file))
			if digest.FromBytes(body) != d {
				return nil, refuse("the content of %s does not match the digest in its name", file)
			}
			t[d] = body
			var index v1.Index
			if err := json.Unmarshal(body, &index); err != nil {
				return nil, refuse("%s: %v", file, err)
			}
			children = append(children, index.Manifests...)
		}
		next = children
	}
	return t, nil
}

// missing returns the files of the wanted manifests that must still be read. It leaves out the
// manifests that were read already and those that are not in the archive: an index may list
// platforms that the archive does not contain.
func (t tree) missing(wanted []v1.Descriptor, c contents) []string {
	var names []string
	for _, d := range wanted {
		file := blobFile(d.Digest)
		_, there := c.sizes[file]
		if _, known := t[d.Digest]; there && !known && !slices.Contains(names, file) {
			names = append(names, file)
		}
	}
	return names
}

// blobFile returns the path of a blob in a layout. It returns "" for a digest that cannot be in a
// layout.
func blobFile(d digest.Digest) string {
	if d.Validate() != nil || d.Algorithm() != digest.SHA256 {
		return ""
	}
	return path.Join("blobs", "sha256", d.Encoded())
}

// walk collects images from a tree of manifests.
type walk struct {
	tree
	contents
	blobs map[string]blob
	work  work
}

// add appends a manifest to an image. It first appends the manifests that this manifest refers to.
func (w *walk) add(d v1.Descriptor, i *image, depth int) error {
	body, ok := w.tree[d.Digest]
	if err := w.work.did(len(body)); err != nil {
		return err
	}
	if !ok {
		if depth == 0 {
			return refuse("manifest %q is missing", d.Digest)
		}
		return nil // a platform that is not in the archive
	}
	if slices.ContainsFunc(i.manifests, func(m manifest) bool { return m.digest == d.Digest }) {
		return nil
	}
	switch d.MediaType {
	case v1.MediaTypeImageIndex, manifestlist.MediaTypeManifestList:
		return w.addIndex(d, body, i, depth)
	case v1.MediaTypeImageManifest, schema2.MediaTypeManifest:
		return addImage(d, body, i, w.contents, w.blobs)
	}
	return refuse("manifest %s is of type %q: the depot accepts OCI images and indexes, and Docker images and manifest lists of schema 2", d.Digest, d.MediaType)
}

func (w *walk) addIndex(d v1.Descriptor, body []byte, i *image, depth int) error {
	if depth > maxDepth {
		return refuse("its indexes are nested deeper than %d", maxDepth)
	}
	var index v1.Index
	if err := json.Unmarshal(body, &index); err != nil {
		return refuse("index %s: %v", d.Digest, err)
	}
	before := len(i.manifests)
	for _, child := range index.Manifests {
		if err := w.add(child, i, depth+1); err != nil {
			return err
		}
	}
	if len(i.manifests) > before || depth == 0 && len(i.manifests) > 0 {
		i.manifests = append(i.manifests, manifest{mediaType: d.MediaType, body: body, digest: d.Digest})
	}
	return nil
}

func addImage(d v1.Descriptor, body []byte, i *image, c contents, blobs map[string]blob) error {
	var m v1.Manifest
	if err := json.Unmarshal(body, &m); err != nil {
		return refuse("manifest %s: %v", d.Digest, err)
	}
	parts := append([]v1.Descriptor{m.Config}, m.Layers...)
	for _, part := range parts {
		if len(part.URLs) > 0 {
			return refuse("layer %s of manifest %s is not in the archive, only at a URL (%s)", part.Digest, d.Digest, part.URLs[0])
		}
		file := blobFile(part.Digest)
		size, ok := c.sizes[file]
		if !ok || size != part.Size {
			return refuse("blob %q of manifest %s is missing or does not have %d bytes", part.Digest, d.Digest, part.Size)
		}
		blobs[file] = blob{size, part.Digest}
	}
	i.manifests = append(i.manifests, manifest{mediaType: d.MediaType, body: body, digest: d.Digest, blobs: parts})
	return nil
}
