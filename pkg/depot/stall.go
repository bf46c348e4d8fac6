package depot

import (
	"io"
	"net/http"
	"time"
)

// stallChunk is how much may be sent between two extensions of the deadline.
// At the default stall a peer slower than about 9 KB/s is cut off.
const stallChunk = 1 << 20

// bounded ends a request whose peer moves no byte for the given time. The
// server's own timeouts cannot be used: they bound the whole request, and an
// OS image over a thin line takes hours.
func bounded(stall time.Duration, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := &boundedWriter{ResponseWriter: w, rc: http.NewResponseController(w), stall: stall}
		b.extend()
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &boundedBody{ReadCloser: r.Body, rc: b.rc, stall: stall}
		}
		next.ServeHTTP(b, r)
		b.extend() // for what the server still has to flush
	})
}

type boundedBody struct {
	io.ReadCloser
	rc    *http.ResponseController
	stall time.Duration
}

func (b *boundedBody) Read(p []byte) (int, error) {
	// A writer without deadlines (a test's recorder) needs none.
	_ = b.rc.SetReadDeadline(time.Now().Add(b.stall))
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		// The server goes on reading to notice a closed connection; a deadline
		// left behind would look like one while the handler still works.
		_ = b.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

type boundedWriter struct {
	http.ResponseWriter
	rc    *http.ResponseController
	stall time.Duration
}

// Unwrap lets http.ResponseController reach the connection.
func (b *boundedWriter) Unwrap() http.ResponseWriter { return b.ResponseWriter }

func (b *boundedWriter) extend() { _ = b.rc.SetWriteDeadline(time.Now().Add(b.stall)) }

func (b *boundedWriter) WriteHeader(code int) {
	b.extend()
	b.ResponseWriter.WriteHeader(code)
}

func (b *boundedWriter) Write(p []byte) (int, error) {
	b.extend()
	return b.ResponseWriter.Write(p)
}

// ReadFrom keeps the kernel's file-to-socket copy, a chunk at a time. The net
// package recognises a file behind one LimitedReader and no more, hence the
// unwrapping.
func (b *boundedWriter) ReadFrom(src io.Reader) (int64, error) {
	left := int64(-1)
	if limited, ok := src.(*io.LimitedReader); ok {
		src, left = limited.R, limited.N
	}
	var total int64
	for left != 0 {
		chunk := int64(stallChunk)
		if left > 0 {
			chunk = min(chunk, left)
		}
		b.extend()
		n, err := io.Copy(b.ResponseWriter, &io.LimitedReader{R: src, N: chunk})
		total += n
		if left > 0 {
			left -= n
		}
		if err != nil || n < chunk {
			return total, err
		}
	}
	return total, nil
}
