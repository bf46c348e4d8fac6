package bundle

import (
	"archive/tar"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

// CreateOptions are the options of Create.
type CreateOptions struct {
	// Platforms are the platforms to pack of a multi-platform image; none: all.
	Platforms []v1.Platform
	// TempDir is the folder for temporary files; empty: the system's folder. Files whose size or
	// checksum is unknown are stored there, one at a time.
	TempDir string
	// Log receives a line for each artifact; nil: no log.
	Log io.Writer
}

// Create writes all images and files on the list as one tar. It checks the content that it reads.
// After an error, the tar is incomplete. It then has no index, so it cannot be used as a bundle.
func Create(ctx context.Context, list artifacts.List, from transfer.Source, to io.Writer, o CreateOptions) error {
	w := &writer{CreateOptions: o, from: from, tar: tar.NewWriter(to), written: map[v1.Hash]bool{}}
	if w.Log == nil {
		w.Log = io.Discard
	}
	if err := w.entry(layoutEntry, []byte(layoutText)); err != nil {
		return err
	}
	for _, image := range list.Images {
		if err := w.image(ctx, image); err != nil {
			return err
		}
	}
	for _, file := range list.Files {
		if err := w.file(ctx, file); err != nil {
			return fmt.Errorf("file %s: %w", file.Path, err)
		}
	}
	if err := w.finish(); err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	return nil
}

type writer struct {
	CreateOptions
	from    transfer.Source
	tar     *tar.Writer
	written map[v1.Hash]bool
	index   []v1.Descriptor
	bytes   int64
}

func (w *writer) image(ctx context.Context, image artifacts.Image) error {
	tree, err := transfer.Walk(ctx, w.from, image, w.Platforms)
	if err != nil {
		return err
	}
	for _, d := range tree.Blobs {
		err := w.blob(d, func() (io.ReadCloser, error) { return w.from.Blob(ctx, image, d) })
		if err != nil {
			return fmt.Errorf("image %s: %w", image.Ref, err)
		}
	}
	for _, m := range tree.Manifests {
		if err := w.raw(m.Digest, m.Raw); err != nil {
			return err
		}
	}
	root := tree.Root().Descriptor
	w.index = append(w.index, v1.Descriptor{
		MediaType: root.MediaType, Digest: root.Digest, Size: root.Size,
		Annotations: map[string]string{annotationRef: image.Ref, annotationName: image.Ref},
	})
	fmt.Fprintf(w.Log, "image %s  %s\n", image.Ref, transfer.Bytes(tree.Bytes()))
	return nil
}

// file streams a file if its size and checksum are known. Otherwise it copies the file to the disk
// first.
func (w *writer) file(ctx context.Context, file artifacts.File) error {
	body, size, err := w.from.File(ctx, file)
	if err != nil {
		return err
	}
	defer body.Close()
	if file.Size > 0 && size >= 0 && size != file.Size {
		return fmt.Errorf("the content %w: it has %d bytes, expected %d", transfer.ErrDamaged, size, file.Size)
	}
	if size < 0 && file.Size > 0 {
		size = file.Size
	}
	content := transfer.Verified(body, transfer.Check{What: "the content", Size: size, SHA256: file.SHA256, SHA512: file.SHA512})
	digest := v1.Hash{Algorithm: "sha256", Hex: file.SHA256}
	if size < 0 || file.SHA256 == "" {
		kept, err := keep(w.TempDir, content)
		if err != nil {
			return err
		}
		defer kept.Close()
		content, digest, size = kept, kept.digest, kept.size
	}
	err = w.blob(v1.Descriptor{Digest: digest, Size: size}, func() (io.ReadCloser, error) { return io.NopCloser(content), nil })
	if err != nil {
		return err
	}
	manifest, entry, err := makeFile(file.Path, digest, size)
	if err != nil {
		return err
	}
	w.index = append(w.index, entry)
	fmt.Fprintf(w.Log, "file %s  %s\n", file.Path, transfer.Bytes(size))
	none := describe(noneType, none)
	return cmp.Or(w.raw(none.Digest, []byte("{}")), w.raw(entry.Digest, manifest))
}

// blob writes one blob, unless it is in the tar already.
func (w *writer) blob(d v1.Descriptor, open func() (io.ReadCloser, error)) error {
	if w.written[d.Digest] {
		return nil
	}
	body, err := open()
	if err != nil {
		return err
	}
	defer body.Close()
	if err := w.header(blobFolder+d.Digest.Hex, d.Size); err != nil {
		return err
	}
	want := transfer.Check{What: "blob " + d.Digest.String(), Size: d.Size, SHA256: d.Digest.Hex}
	if _, err := io.Copy(w.tar, transfer.Verified(body, want)); err != nil {
		return err
	}
	w.written[d.Digest] = true
	w.bytes += d.Size
	return nil
}

func (w *writer) raw(digest v1.Hash, content []byte) error {
	if w.written[digest] {
		return nil
	}
	w.written[digest] = true
	return w.entry(blobFolder+digest.Hex, content)
}

func (w *writer) entry(name string, content []byte) error {
	if err := w.header(name, int64(len(content))); err != nil {
		return err
	}
	_, err := w.tar.Write(content)
	return err
}

// header writes a header without time and owner, so that the same content always gives the same
// bytes.
func (w *writer) header(name string, size int64) error {
	return w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644})
}

// finish writes the index as the last entry. A tar without this entry is not a bundle.
func (w *writer) finish() error {
	slices.SortStableFunc(w.index, func(a, b v1.Descriptor) int {
		return cmp.Or(cmp.Compare(a.Annotations[annotationRef], b.Annotations[annotationRef]), cmp.Compare(a.Annotations[annotationTitle], b.Annotations[annotationTitle]))
	})
	if w.index == nil {
		w.index = []v1.Descriptor{}
	}
	text, err := json.Marshal(indexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: w.index})
	if err != nil {
		return err
	}
	if err := w.entry(indexEntry, text); err != nil {
		return err
	}
	fmt.Fprintf(w.Log, "%d artifacts, %s\n", len(w.index), transfer.Bytes(w.bytes))
	return w.tar.Close()
}
