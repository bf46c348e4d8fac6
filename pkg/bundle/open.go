package bundle

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/transfer"
)

// Bounds of a bundle.
const (
	maxEntries = 200_000
	maxIndex   = 16 << 20
)

// ErrNoBundle is in the error of a file that is none, or only a part of one.
var ErrNoBundle = errors.New("is no whole bundle")

// Bundle is an open one. It may be read by many goroutines.
type Bundle struct {
	path    string
	volume  *volume
	entries map[string]span // blobs by hexadecimal digest
	list    artifacts.List
	roots   map[artifacts.Place]v1.Descriptor // of images
	layers  map[string]v1.Descriptor          // of files, by path
}

// span is where a content lies in the volume.
type span struct{ at, size int64 }

// Open reads what is in a bundle: a file, or the first of its parts, or the file that tells of them. It sees to it that every blob that the
// index needs is there with its size; their contents are for Verify.
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

// List is what the bundle has, each with its digest or checksum.
func (b *Bundle) List() artifacts.List { return b.list }

// Size is the bundle's, in bytes.
func (b *Bundle) Size() int64 { return b.volume.size }

var blobName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// foreign are entries that other tools put beside a layout, and that we have no use for.
var foreign = map[string]bool{"manifest.json": true, "repositories": true}

// scan notes where everything is. Bodies are skipped, not read.
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
			return nil, fmt.Errorf("entry %.100q is there twice, or there are more than %d", h.Name, maxEntries)
		}
		seen[h.Name] = true
		// The tar package reads header by header, so the section stands where the body begins.
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

// entry takes an entry that a layout has a place for; any other is refused, whatever it would do.
func (b *Bundle) entry(h *tar.Header, at int64, index *[]byte) (err error) {
	name := strings.TrimPrefix(h.Name, "./")
	if h.Typeflag == tar.TypeDir && (name == "" || name == "blobs/" || name == blobFolder) {
		return nil
	}
	if h.Typeflag != tar.TypeReg || h.Size < 0 || at+h.Size > b.volume.size {
		return fmt.Errorf("entry %.100q: type %q with %d bytes has no place in it", h.Name, h.Typeflag, h.Size)
	}
	hex, isBlob := strings.CutPrefix(name, blobFolder)
	switch {
	case isBlob && blobName.MatchString(hex):
		b.entries[hex] = span{at, h.Size}
	case name == indexEntry:
		*index, err = b.bytes(span{at, h.Size}, maxIndex)
	case name == layoutEntry, foreign[name]:
	default:
		err = fmt.Errorf("entry %.100q has no place in it", h.Name)
	}
	return err
}

func (b *Bundle) bytes(s span, max int64) ([]byte, error) {
	if s.size > max {
		return nil, fmt.Errorf("%d bytes where at most %d are expected", s.size, max)
	}
	text := make([]byte, s.size)
	if _, err := b.volume.ReadAt(text, s.at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return text, nil
}

// blob finds a blob of which a descriptor tells.
func (b *Bundle) blob(d v1.Descriptor) (span, error) {
	s, ok := b.entries[d.Digest.Hex]
	if !ok || d.Digest.Algorithm != "sha256" {
		return s, fmt.Errorf("blob %s is missing", d.Digest)
	}
	if s.size != d.Size {
		return s, fmt.Errorf("blob %s has %d bytes, should have %d", d.Digest, s.size, d.Size)
	}
	return s, nil
}

// manifest reads and checks a small blob.
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
