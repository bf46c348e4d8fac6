package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// These are the limits of one archive: maxEntries is a number of files, maxName a number of
// characters, and maxManifest a number of bytes. An archive with all images of Kubernetes has some
// hundred files.
const (
	maxEntries  = 10_000
	maxName     = 512
	maxManifest = 4 << 20 // the registry accepts no larger manifest
	// maxRatio is the largest allowed ratio of unpacked to packed bytes: an archive with a larger
	// ratio is treated as a bomb. slack, in bytes, is added to the allowed unpacked size, since
	// small archives of zeros have a large ratio.
	maxRatio = 100
	slack    = 64 << 20
	// window is the largest memory, in bytes, that unpacking zstd may use.
	window = 16 << 20
)

// reader reads one archive, as many times as needed. packed is its size in bytes.
type reader struct {
	open   func() (io.ReadSeekCloser, error)
	packed int64
	// most is the largest unpacked size in bytes; 0 means no limit.
	most int64
}

// each calls visit for the archive's files in order. visit may leave the body unread.
func (r *reader) each(visit func(name string, size int64, body io.Reader) error) (err error) {
	f, err := r.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	plain, done, err := r.unpack(f)
	if err != nil {
		return err
	}
	defer done()
	files := tar.NewReader(plain)
	for n := 0; ; n++ {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			if n == 0 {
				return refuse("it is empty")
			}
			return nil
		}
		if err != nil {
			return broken(err)
		}
		if n >= maxEntries {
			return refuse("it has more than %d files", maxEntries)
		}
		name, err := check(head)
		if err != nil {
			return err
		}
		if name == "" {
			continue
		}
		if err := visit(name, head.Size, files); err != nil {
			return err
		}
	}
}

// unpack detects the compression by the first bytes. It returns an uncompressed archive unchanged,
// so that the tar reader can skip unread files by seeking.
func (r *reader) unpack(f io.ReadSeeker) (io.Reader, func(), error) {
	magic := make([]byte, 4)
	if _, err := io.ReadFull(f, magic); err != nil {
		return nil, nil, refuse("it is too short for an archive")
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, nil, err
	}
	return r.decompress(magic, f)
}

func (r *reader) decompress(magic []byte, f io.Reader) (io.Reader, func(), error) {
	switch compressionOf(magic) {
	case "gzip":
		z, err := gzip.NewReader(bufio.NewReaderSize(f, 1<<16))
		if err != nil {
			return nil, nil, broken(err)
		}
		return r.bounded(z), func() { _ = z.Close() }, nil // Close only frees memory, so its error does not matter
	case "zstd":
		z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, nil, broken(err)
		}
		return r.bounded(z), z.Close, nil
	}
	return f, func() {}, nil
}

func compressionOf(magic []byte) string {
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return "gzip"
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "zstd"
	}
	return ""
}

func (r *reader) bounded(z io.Reader) io.Reader {
	left := r.packed*maxRatio + slack
	if r.most > 0 {
		left = min(left, r.most)
	}
	return &bound{z, left}
}

type bound struct {
	r    io.Reader
	left int64
}

func (b *bound) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, refuse("its unpacked content is far larger than the archive, as in a decompression bomb, or larger than the depot's limit for one upload")
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// check returns the cleaned name of a file. It returns "" for an entry without content, and refuses
// entries that archives of images never have.
func check(head *tar.Header) (string, error) {
	if len(head.Name) > maxName {
		return "", refuse("a file's name has %d characters", len(head.Name))
	}
	name := path.Clean(head.Name)
	if strings.HasPrefix(name, "/") || name == ".." || strings.HasPrefix(name, "../") || strings.ContainsAny(name, "\\\x00") {
		return "", refuse("the name %q leads out of the archive", head.Name)
	}
	switch head.Typeflag {
	case tar.TypeReg:
		return name, nil
	case tar.TypeDir, tar.TypeXGlobalHeader:
		return "", nil
	case tar.TypeSymlink, tar.TypeLink:
		return "", refuse("%q is a link: save the image again with a newer tool", head.Name)
	}
	return "", refuse("%q is of type %q, neither a file nor a directory", head.Name, string(head.Typeflag))
}

// broken returns a Refusal for an archive that cannot be read. A failure of the storage looks the
// same as an error in the archive, so the text always includes the cause.
func broken(err error) error {
	var already *Refusal
	if errors.As(err, &already) {
		return err
	}
	return refuse("it cannot be read as tar, tar.gz or tar.zst: %v", err)
}

func readManifest(name string, size int64, body io.Reader) ([]byte, error) {
	if size > maxManifest {
		return nil, refuse("%s has %d bytes, but a manifest may have at most %d", name, size, maxManifest)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(body, data); err != nil {
		return nil, broken(fmt.Errorf("%s: %w", name, err))
	}
	return data, nil
}
