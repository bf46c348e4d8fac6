package registry

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// sendChunk is how much is sent before it is asked again how many blobs are on their way.
const sendChunk = 1 << 20

// copySize is that of the pieces in which a lone blob is sent: they stay in the processor's cache until a client on this machine reads them.
const copySize = 128 << 10

var copyBuffers = sync.Pool{New: func() any { return new([copySize]byte) }}

// sending is how many blobs are on their way.
var sending atomic.Int32

// copied sends a blob through a buffer while it is the only one, and lets the kernel copy from the file to the socket while there are several. The
// kernel's way costs this process a third of the time, which counts as soon as the processors are busy, but leaves it to the client to fetch each
// byte from memory: a lone client on this machine, which hashes as fast as it can, has the blob a fifth sooner by the buffer (test/bench/depot).
type copied struct{ http.ResponseWriter }

// Unwrap lets http.ResponseController reach the connection.
func (c copied) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// ReadFrom is what io.Copy looks for.
func (c copied) ReadFrom(src io.Reader) (total int64, err error) {
	sending.Add(1)
	defer sending.Add(-1)
	limited, ok := src.(*io.LimitedReader)
	if !ok {
		return c.buffered(src)
	}
	for limited.N > 0 {
		size := min(limited.N, sendChunk)
		send := c.buffered
		if sending.Load() > 1 {
			send = func(r io.Reader) (int64, error) { return io.Copy(c.ResponseWriter, r) }
		}
		n, err := send(&io.LimitedReader{R: limited.R, N: size})
		total += n
		limited.N -= n
		if err != nil || n < size { // the file ended before its time
			return total, err
		}
	}
	return total, nil
}

func (c copied) buffered(src io.Reader) (int64, error) {
	buffer := copyBuffers.Get().(*[copySize]byte)
	defer copyBuffers.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{c.ResponseWriter}, struct{ io.Reader }{src}, buffer[:])
}
