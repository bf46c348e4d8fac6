package deadline

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// Handler applies the limits to each request. It must be the outermost handler, since the server
// drains bodies that an inner handler refuses or leaves unread.
func Handler(l Limits, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		response := &writer{ResponseWriter: w, rc: rc, allowance: l.allowance()}
		if r.Body != nil && r.Body != http.NoBody {
			response.body = &body{ReadCloser: r.Body, rc: rc, allowance: l.allowance()}
			response.body.grant()
			r = withBody(r, response.body) // in a copy of the request: the server must find its own body in its own request
		}
		response.grant(0)
		next.ServeHTTP(response, r)
		response.body.grant() // the server then drains the rest of the body
		response.grant(0)     // and flushes the rest of the response
	})
}

func withBody(r *http.Request, body io.ReadCloser) *http.Request {
	r = r.WithContext(r.Context())
	r.Body = body
	return r
}

// body is a request's body. The methods that set deadlines accept a nil receiver.
type body struct {
	io.ReadCloser
	rc *http.ResponseController

	mu        sync.Mutex
	allowance allowance
	// over means that the deadline must not change any more: the body was read to its end or
	// closed, or a handler has ended it by SetReadDeadline.
	over bool
	// begun means that no Read can cause a "100 Continue" any more: the body was read before, or
	// the handler has answered.
	begun bool
}

// grant sets the deadline for the next read by the handler or the server. It sets none after the
// end of the body: the server then continues to read only to notice a disconnect, and would treat
// an expired deadline as a disconnect.
func (b *body) grant() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		// The error is ignored: a writer that does not support deadlines, such as a test's
		// recorder, needs none.
		_ = b.rc.SetReadDeadline(time.Now().Add(b.allowance.left))
	}
}

// pause removes the deadline until the next grant.
func (b *body) pause() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		_ = b.rc.SetReadDeadline(time.Time{})
	}
}

// end sets the final deadline of the body; the zero time means no deadline.
func (b *body) end(deadline time.Time) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return nil
	}
	b.over = true
	return b.rc.SetReadDeadline(deadline)
}

// begin sets the write deadline for the "100 Continue" that the server may send within the first
// Read. The handler may have worked for a long time before that, so an earlier deadline may have
// expired.
func (b *body) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.begun {
		b.begun = true
		_ = b.rc.SetWriteDeadline(time.Now().Add(b.allowance.limits.First))
	}
}

// answered records that the server sends no "100 Continue" from now on.
func (b *body) answered() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun = true
}

func (b *body) Read(p []byte) (int, error) {
	b.begin()
	b.grant()
	began := time.Now()
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	b.allowance.moved(int64(n), time.Since(began))
	b.mu.Unlock()
	if errors.Is(err, io.EOF) {
		_ = b.end(time.Time{})
	}
	return n, err
}

// Close sets a deadline because the server may read the rest of a small body during Close.
func (b *body) Close() error {
	b.grant()
	err := b.ReadCloser.Close()
	_ = b.end(time.Time{})
	return err
}

// writer is a response. As usual, a handler may use it from one goroutine only.
type writer struct {
	http.ResponseWriter
	rc        *http.ResponseController
	body      *body
	allowance allowance
	// headers means that the handler has answered. flushed means that the server has sent the
	// headers. The server drains the body before that.
	headers, flushed bool
	sent             int64
}

// Unwrap lets http.ResponseController reach the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// SetReadDeadline lets a handler end the body at once: a deadline in the past wakes a Read that is
// waiting. Any other deadline is ignored, so that no handler can give a client more time.
func (w *writer) SetReadDeadline(deadline time.Time) error {
	if deadline.IsZero() || deadline.After(time.Now()) {
		return nil
	}
	return w.body.end(deadline)
}

// SetWriteDeadline does nothing: only this package sets the write deadline.
func (w *writer) SetWriteDeadline(time.Time) error { return nil }

// grant sets the deadline for sending up to n bytes.
func (w *writer) grant(n int64) {
	_ = w.rc.SetWriteDeadline(time.Now().Add(w.allowance.left + w.allowance.limits.earned(n)))
}

// chunk is the number of bytes that are sent between two deadlines.
const chunk = 256 << 10

func (w *writer) WriteHeader(code int) {
	w.answer()
	w.grant(chunk)
	w.ResponseWriter.WriteHeader(code)
}

// answer is called before the response begins. It sets the read deadline for the server, which then
// drains the body.
func (w *writer) answer() {
	if !w.headers {
		w.headers = true
		w.body.answered()
		w.body.grant()
	}
}

// buffered, in bytes, is larger than the server's buffer for a response. Once the handler has
// written more bytes than that, the server has sent the headers.
const buffered = 16 << 10

func (w *writer) Write(p []byte) (total int, err error) {
	for {
		part := p[:min(len(p), chunk)]
		n, err := w.timed(int64(len(part)), func() (int64, error) {
			n, err := w.ResponseWriter.Write(part)
			return int64(n), err
		})
		total += int(n)
		if p = p[n:]; err != nil || len(p) == 0 {
			return total, err
		}
	}
}

// ReadFrom lets the kernel copy a file to the socket, one chunk at a time. For any other source,
// only the writes are timed: the source may be a storage that takes long to answer a read.
func (w *writer) ReadFrom(src io.Reader) (int64, error) {
	file, left := src, int64(-1)
	if limited, ok := src.(*io.LimitedReader); ok {
		file, left = limited.R, limited.N
	}
	// os.File passes itself on as an unexported type, so a file is recognized by its methods.
	if _, ok := file.(syscall.Conn); ok {
		return w.sendFile(file, left)
	}
	buffer := buffers.Get().(*[]byte) //nolint:forcetypeassert // the pool has no other type
	defer buffers.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{w}, src, *buffer)
}

// buffers have the size of io.Copy's buffers.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// sendFile sends left bytes of a file, or all remaining bytes if left is negative. It wraps the
// file in one LimitedReader only: package net unwraps only one, and with two it would not let the
// kernel copy the file.
func (w *writer) sendFile(src io.Reader, left int64) (total int64, err error) {
	for left != 0 {
		part := int64(chunk)
		if left > 0 {
			part = min(part, left)
		}
		n, err := w.timed(part, func() (int64, error) { return io.Copy(w.ResponseWriter, &io.LimitedReader{R: src, N: part}) })
		total += n
		if left > 0 {
			left -= n
		}
		if err != nil || n < part {
			return total, err
		}
	}
	return total, nil
}

// timed sets the deadline for n bytes and then calls send, which sends up to n bytes.
func (w *writer) timed(n int64, send func() (int64, error)) (int64, error) {
	w.answer()
	w.grant(n)
	began := time.Now()
	sent, err := send()
	w.allowance.moved(sent, time.Since(began))
	if w.sent += sent; w.sent > buffered && !w.flushed {
		w.flushed = true
		w.body.pause() // the body's deadline must not end a long response
	}
	return sent, err
}
