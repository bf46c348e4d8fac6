package archive

import (
	"encoding/json"
	"io"
	"slices"

	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// plan lists the content of an archive before any of it is stored.
type plan struct {
	images []image
	// blobs has the expected content of each file that must be stored, by the name of the file.
	blobs map[string]blob
}

// digests returns the digests of all blobs and manifests.
func (p plan) digests() (all []digest.Digest) {
	for _, b := range p.blobs {
		all = append(all, b.digest)
	}
	for _, img := range p.images {
		for _, m := range img.manifests {
			all = append(all, m.digest)
			for _, b := range m.blobs {
				all = append(all, b.Digest)
			}
		}
	}
	return all
}

// image is one tree of manifests, and the references that will point to this tree.
type image struct {
	refs []ref
	// manifests are in the order in which the registry accepts them: children first. The last one
	// gets the tags.
	manifests []manifest
}

type manifest struct {
	mediaType string
	body      []byte
	digest    digest.Digest
	blobs     []v1.Descriptor
}

// blob is the expected content of a file. size is in bytes.
type blob struct {
	size   int64
	digest digest.Digest
}

// contents has the size of each file in an archive, and the content of the few files that describe
// the others.
type contents struct {
	sizes map[string]int64
	index *v1.Index
	saved []saved
}

// saved is an entry of docker save's manifest.json.
type saved struct {
	Config   string
	RepoTags []string
	Layers   []string
}

func (r *reader) contents() (contents, error) {
	c := contents{sizes: map[string]int64{}}
	err := r.each(func(name string, size int64, body io.Reader) error {
		if _, twice := c.sizes[name]; twice {
			return refuse("the file %q is in it twice", name)
		}
		c.sizes[name] = size
		switch name {
		case v1.ImageIndexFile:
			c.index = &v1.Index{}
			return decode(name, size, body, c.index)
		case "manifest.json":
			return decode(name, size, body, &c.saved)
		}
		return nil
	})
	return c, err
}

func decode(name string, size int64, body io.Reader, into any) error {
	data, err := readManifest(name, size, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return refuse("%s: %v", name, err)
	}
	return nil
}

// read returns the content of the named files, each of which is a manifest or a config.
func (r *reader) read(names []string) (map[string][]byte, error) {
	found := map[string][]byte{}
	var total int64
	err := r.each(func(name string, size int64, body io.Reader) error {
		if !slices.Contains(names, name) {
			return nil
		}
		if total += size; total > maxTree {
			return refuse("its manifests have more than %d bytes together", maxTree)
		}
		data, err := readManifest(name, size, body)
		found[name] = data
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, ok := found[name]; !ok {
			return nil, refuse("%s is missing", name)
		}
	}
	return found, nil
}

func (r *reader) plan(name string) (plan, error) {
	c, err := r.contents()
	if err != nil {
		return plan{}, err
	}
	switch {
	case c.index != nil && len(c.index.Manifests) > 0:
		return r.planLayout(name, c)
	case len(c.saved) > 0:
		return r.planSaved(c)
	}
	return plan{}, refuse("it has neither an index.json with images nor a manifest.json: upload an archive of docker save or an OCI layout")
}
