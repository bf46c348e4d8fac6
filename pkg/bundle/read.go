package bundle

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

// read reads the index and adds its artifacts to the list of the bundle. It returns an error if the
// bundle lacks a blob of one of these artifacts.
func (b *Bundle) read(text []byte) error {
	index, err := v1.ParseIndexManifest(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", indexEntry, err)
	}
	var all artifacts.List
	for _, d := range index.Manifests {
		if d.ArtifactType == string(FileType) {
			err = b.addFile(d, &all)
		} else {
			err = b.addImage(d, &all)
		}
		if err != nil {
			return err
		}
	}
	if b.list, err = artifacts.Merge(all); err != nil {
		return err
	}
	for _, image := range b.list.Images {
		tree, err := transfer.Walk(context.Background(), b, image, nil)
		if err != nil {
			return err
		}
		for _, d := range tree.Blobs {
			if _, err := b.blob(d); err != nil {
				return fmt.Errorf("image %s: %w", image.Ref, err)
			}
		}
	}
	return nil
}

func (b *Bundle) addFile(d v1.Descriptor, all *artifacts.List) error {
	raw, err := b.manifest(d)
	if err != nil {
		return fmt.Errorf("file %q: %w", d.Annotations[annotationTitle], err)
	}
	file, layer, err := readFile(raw)
	if err == nil {
		_, err = b.blob(layer)
	}
	if err != nil {
		return fmt.Errorf("file %q: %w", d.Annotations[annotationTitle], err)
	}
	b.layers[file.Path] = layer
	all.Files = append(all.Files, file)
	return nil
}

func (b *Bundle) addImage(d v1.Descriptor, all *artifacts.List) error {
	ref := cmp.Or(d.Annotations[annotationName], d.Annotations[annotationRef])
	if !strings.ContainsAny(ref, "/:") {
		return fmt.Errorf("manifest %s: its name is %q, not like registry.k8s.io/pause:3.10", d.Digest, ref)
	}
	image := artifacts.Image{Ref: ref, Digest: d.Digest.String()}
	place, err := image.Place()
	if err != nil {
		return err
	}
	b.roots[place] = d
	all.Images = append(all.Images, image)
	return nil
}

// Root implements transfer.Source.
func (b *Bundle) Root(_ context.Context, image artifacts.Image) (v1.Descriptor, error) {
	place, err := image.Place()
	if err != nil {
		return v1.Descriptor{}, err
	}
	root, ok := b.roots[place]
	if !ok {
		return root, errors.New("it is not in the bundle")
	}
	return root, nil
}

// Manifest implements transfer.Source.
func (b *Bundle) Manifest(_ context.Context, _ artifacts.Image, d v1.Descriptor) ([]byte, error) {
	return b.manifest(d)
}

// Blob implements transfer.Source.
func (b *Bundle) Blob(_ context.Context, _ artifacts.Image, d v1.Descriptor) (io.ReadCloser, error) {
	s, err := b.blob(d)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(b.open(s)), nil
}

// File implements transfer.Source.
func (b *Bundle) File(_ context.Context, file artifacts.File) (io.ReadCloser, int64, error) {
	d, ok := b.layers[file.Path]
	if !ok {
		return nil, 0, errors.New("it is not in the bundle")
	}
	s, err := b.blob(d)
	if err != nil {
		return nil, 0, err
	}
	return io.NopCloser(b.open(s)), s.size, nil
}

// Verify reads all artifacts on the list and compares their content with their digests. The list
// must be a part of b.List().
func (b *Bundle) Verify(ctx context.Context, list artifacts.List) error {
	checked := map[string]bool{}
	check := func(what string, d v1.Descriptor) error {
		if checked[d.Digest.Hex] {
			return nil
		}
		checked[d.Digest.Hex] = true
		s, err := b.blob(d)
		if err != nil {
			return err
		}
		in := transfer.Verified(b.open(s), transfer.Check{What: what, Size: d.Size, SHA256: d.Digest.Hex})
		_, err = io.Copy(io.Discard, stoppable{ctx, in})
		return err
	}
	for _, image := range list.Images {
		tree, err := transfer.Walk(ctx, b, image, nil)
		if err != nil {
			return b.damaged(err)
		}
		for _, d := range tree.Blobs {
			if err := check("blob "+d.Digest.String()+" of image "+image.Ref, d); err != nil {
				return b.damaged(err)
			}
		}
	}
	for _, file := range list.Files {
		if err := check("file "+file.Path, b.layers[file.Path]); err != nil {
			return b.damaged(err)
		}
	}
	return nil
}

func (b *Bundle) damaged(err error) error {
	if errors.Is(err, transfer.ErrDamaged) {
		return fmt.Errorf("%s: %w; copy the bundle again", b.path, err)
	}
	return fmt.Errorf("%s: %w", b.path, err)
}

// stoppable is a reader that ends with its context.
type stoppable struct {
	ctx context.Context
	in  io.Reader
}

func (s stoppable) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.in.Read(p)
}
