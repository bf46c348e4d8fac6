package bundle

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/digest"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

// Limits of a bundle: the number of entries, and the bytes of the index.
const (
	maxEntries = 200_000
	maxIndex   = 16 << 20
)

// ErrNoBundle is wrapped by the error of Open if the file is not a bundle or only a part of a
// bundle.
var ErrNoBundle = errors.New("is not a complete bundle")

// Bundle is an open bundle. Several goroutines may read it at the same time.
type Bundle struct {
	path    string
	volume  *volume
	entries map[string]span // blobs by hexadecimal digest
	list    artifacts.List
	roots   map[artifacts.Place]v1.Descriptor // of images
	layers  map[string]v1.Descriptor          // of files, by path
}

// span says where content is in the volume: its offset and its size, in bytes.
type span struct{ at, size int64 }

// Open opens a bundle and reads its index and manifests. path names the bundle, its first part
// (.000), or the list of its parts (.parts.json). Open checks that the bundle has each blob of the
// index in the expected size. It does not check the content of blobs: see Verify.
func Open(path string) (*Bundle, error) {
	volume, err := openVolume(path)
	if err != nil {
		if volume != nil {
			err = errors.Join(err, volume.Close())
		}
		return nil, fmt.Errorf("open bundle: %w", err)
	}
	b := &Bundle{path: path, volume: volume, entries: map[string]span{}, roots: map[artifacts.Place]v1.Descriptor{}, layers: map[string]v1.Descriptor{}}
	index, err := b.scan()
	if err == nil {
		err = b.read(index)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s %w: %w", path, ErrNoBundle, err), b.Close())
	}
	return b, nil
}

// Close closes the files.
func (b *Bundle) Close() error { return b.volume.Close() }

// List returns the artifacts in the bundle, each with its digest or checksum.
func (b *Bundle) List() artifacts.List { return b.list }

// Size returns the size of the bundle in bytes.
func (b *Bundle) Size() int64 { return b.volume.size }

// foreign holds the names of entries that other tools add to a layout. Open ignores these entries.
var foreign = map[string]bool{"manifest.json": true, "repositories": true}

// scan records the offset and size of every entry, and returns the content of the index. It skips
// the content of all other entries.
func (b *Bundle) scan() (index []byte, err error) {
	in := io.NewSectionReader(b.volume, 0, b.volume.size)
	headers := tar.NewReader(in)
	seen := map[string]bool{}
	for {
		h, err := headers.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("after %d entries: %w", len(seen), err)
		}
		if seen[h.Name] || len(seen) > maxEntries {
			return nil, fmt.Errorf("entry %.100q appears twice, or there are more than %d entries", h.Name, maxEntries)
		}
		seen[h.Name] = true
		// The tar package has read the header and nothing after it, so the offset is now the start
		// of the content.
		at, err := in.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		if err := b.entry(h, at, &index); err != nil {
			return nil, err
		}
	}
	if index == nil {
		return nil, errors.New("it has no " + indexEntry)
	}
	return index, nil
}

// entry records an entry that belongs to a layout, and returns an error for any other entry.
func (b *Bundle) entry(h *tar.Header, at int64, index *[]byte) (err error) {
	name := strings.TrimPrefix(h.Name, "./")
	if h.Typeflag == tar.TypeDir && (name == "" || name == "blobs/" || name == blobFolder) {
		return nil
	}
	if h.Typeflag != tar.TypeReg || h.Size < 0 || at+h.Size > b.volume.size {
		return fmt.Errorf("entry %.100q: type %q with %d bytes does not belong to a bundle", h.Name, h.Typeflag, h.Size)
	}
	hex, isBlob := strings.CutPrefix(name, blobFolder)
	switch {
	case isBlob && digest.IsSHA256(hex):
		b.entries[hex] = span{at, h.Size}
	case name == indexEntry:
		*index, err = b.bytes(span{at, h.Size}, maxIndex)
	case name == layoutEntry, foreign[name]:
	default:
		err = fmt.Errorf("entry %.100q does not belong to a bundle", h.Name)
	}
	return err
}

func (b *Bundle) bytes(s span, max int64) ([]byte, error) {
	if s.size > max {
		return nil, fmt.Errorf("an index or manifest has %d bytes, more than %d", s.size, max)
	}
	text := make([]byte, s.size)
	if _, err := b.volume.ReadAt(text, s.at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return text, nil
}

// blob finds the blob of a descriptor and checks its size.
func (b *Bundle) blob(d v1.Descriptor) (span, error) {
	s, ok := b.entries[d.Digest.Hex]
	if !ok || d.Digest.Algorithm != "sha256" {
		return s, fmt.Errorf("blob %s is missing", d.Digest)
	}
	if s.size != d.Size {
		return s, fmt.Errorf("blob %s has %d bytes, expected %d", d.Digest, s.size, d.Size)
	}
	return s, nil
}

// manifest reads a manifest and checks its digest.
func (b *Bundle) manifest(d v1.Descriptor) ([]byte, error) {
	s, err := b.blob(d)
	if err != nil {
		return nil, err
	}
	raw, err := b.bytes(s, transfer.MaxManifest)
	if err != nil {
		return nil, err
	}
	if got := describe("", raw); got.Digest != d.Digest {
		return nil, fmt.Errorf("blob %s %w: its content is %s", d.Digest, transfer.ErrDamaged, got.Digest)
	}
	return raw, nil
}

func (b *Bundle) open(s span) io.Reader { return io.NewSectionReader(b.volume, s.at, s.size) }
