package transfer

import (
	"errors"
	"io"
	"sync/atomic"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layer is a blob that is being copied to the depot. It is opened only if the depot lacks the blob.
// The depot checks the digest of the blob.
type layer struct {
	v1.Descriptor
	meter *meter
	open  func() (io.ReadCloser, error)
	read  *countingReader
}

func (l *layer) Digest() (v1.Hash, error)             { return l.Descriptor.Digest, nil }
func (l *layer) Size() (int64, error)                 { return l.Descriptor.Size, nil }
func (l *layer) MediaType() (types.MediaType, error)  { return l.Descriptor.MediaType, nil }
func (l *layer) DiffID() (v1.Hash, error)             { return v1.Hash{}, errNotUnpacked }
func (l *layer) Uncompressed() (io.ReadCloser, error) { return nil, errNotUnpacked }

var errNotUnpacked = errors.New("blobs are copied as they are")

// Compressed opens the blob again for each attempt to send it.
func (l *layer) Compressed() (io.ReadCloser, error) {
	in, err := l.open()
	if err != nil {
		return nil, err
	}
	l.read = &countingReader{in: in, meter: l.meter, key: l.Descriptor.Digest.String()}
	return struct {
		io.Reader
		io.Closer
	}{l.read, in}, nil
}

// finish counts the blob as done and returns the number of bytes that were sent for it. The number
// is 0 if the depot had the blob already.
func (l *layer) finish() int64 {
	l.meter.set(l.Descriptor.Digest.String(), l.Descriptor.Size)
	if l.read == nil {
		return 0
	}
	return l.read.n.Load()
}

// countingReader reports to the meter how many bytes were read.
type countingReader struct {
	in    io.Reader
	meter *meter
	key   string
	n     atomic.Int64 // atomic, because an HTTP client may still read after the answer to its request has arrived
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.meter.set(c.key, c.n.Add(int64(n)))
	return n, err
}
