package deadline

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// Handler keeps requests to the limits. It must be the outermost handler: the
// server drains bodies that an inner one refuses or leaves unread.
func Handler(l Limits, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		response := &writer{ResponseWriter: w, rc: rc, allowance: l.allowance()}
		if r.Body != nil && r.Body != http.NoBody {
			response.body = &body{ReadCloser: r.Body, rc: rc, allowance: l.allowance()}
			response.body.grant()
			r = withBody(r, response.body) // the server must find its own body in its own request
		}
		response.grant(0)
		next.ServeHTTP(response, r)
		response.body.grant() // the server drains what is left of it
		response.grant(0)     // and flushes what it still has
	})
}

func withBody(r *http.Request, body io.ReadCloser) *http.Request {
	r = r.WithContext(r.Context())
	r.Body = body
	return r
}

// body is a request's body. Its methods that set deadlines may be called on nil.
type body struct {
	io.ReadCloser
	rc *http.ResponseController

	mu        sync.Mutex
	allowance allowance
	// over says that the deadline stays as it is: the body has ended, or a handler
	// has ended it.
	over bool
	// begun says that no Read writes anymore: the body was read before, or the
	// handler has answered.
	begun bool
}

// grant sets the deadline for what is read next, by the handler or the server.
// Where there is nothing left to read none is set: the server goes on reading to
// notice that its peer hangs up, and would take a deadline for that.
func (b *body) grant() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		// A writer without deadlines, such as a test's recorder, needs none.
		_ = b.rc.SetReadDeadline(time.Now().Add(b.allowance.left))
	}
}

// pause takes the deadline away until the next grant.
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

// end sets the last deadline; the zero time is none.
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

// begin grants time for the "100 Continue" that the server may write within the
// first Read. The handler may have worked for long before that.
func (b *body) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.begun {
		b.begun = true
		_ = b.rc.SetWriteDeadline(time.Now().Add(b.allowance.limits.First))
	}
}

// answered says that the server writes no "100 Continue" from now on.
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

// Close may read what is left of a small body.
func (b *body) Close() error {
	b.grant()
	err := b.ReadCloser.Close()
	_ = b.end(time.Time{})
	return err
}

// writer is a response. A handler may use it from one goroutine, as any.
type writer struct {
	http.ResponseWriter
	rc        *http.ResponseController
	body      *body
	allowance allowance
	// headers says that the handler has answered, and flushed that the server has
	// drained the body, as it does before it sends headers.
	headers, flushed bool
	sent             int64
}

// Unwrap lets http.ResponseController reach the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// SetReadDeadline lets a handler end the body at once, which wakes a Read that
// waits. No handler gives a peer more time.
func (w *writer) SetReadDeadline(deadline time.Time) error {
	if deadline.IsZero() || deadline.After(time.Now()) {
		return nil
	}
	return w.body.end(deadline)
}

// SetWriteDeadline leaves the deadline as it is.
func (w *writer) SetWriteDeadline(time.Time) error { return nil }

// grant sets the deadline for sending up to n bytes.
func (w *writer) grant(n int64) {
	_ = w.rc.SetWriteDeadline(time.Now().Add(w.allowance.left + w.allowance.limits.earned(n)))
}

// chunk is how much is sent between two deadlines.
const chunk = 256 << 10

func (w *writer) WriteHeader(code int) {
	w.answer()
	w.grant(chunk)
	w.ResponseWriter.WriteHeader(code)
}

// answer gives the peer time for what the server drains of the body.
func (w *writer) answer() {
	if !w.headers {
		w.headers = true
		w.body.answered()
		w.body.grant()
	}
}

// buffered is more than the server keeps back of a response.
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

// ReadFrom keeps the kernel's file-to-socket copy, a chunk at a time. Any other
// source may be a storage that takes long to answer, so only the writes of what
// it yields are timed.
func (w *writer) ReadFrom(src io.Reader) (int64, error) {
	file, left := src, int64(-1)
	if limited, ok := src.(*io.LimitedReader); ok {
		file, left = limited.R, limited.N
	}
	// os.File hands itself over behind a type of package os, so its methods tell.
	if _, ok := file.(syscall.Conn); ok {
		return w.sendFile(file, left)
	}
	buffer := buffers.Get().(*[]byte) //nolint:forcetypeassert // there is nothing else in it
	defer buffers.Put(buffer)
	return io.CopyBuffer(struct{ io.Writer }{w}, src, *buffer)
}

// buffers are as large as those of io.Copy.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// sendFile sends left bytes, or all if left is negative. The net package
// recognises a file behind one LimitedReader and no more.
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

// timed sends up to n bytes.
func (w *writer) timed(n int64, send func() (int64, error)) (int64, error) {
	w.answer()
	w.grant(n)
	began := time.Now()
	sent, err := send()
	w.allowance.moved(sent, time.Since(began))
	if w.sent += sent; w.sent > buffered && !w.flushed {
		w.flushed = true
		w.body.pause() // a long response must not end by a deadline that was for the body
	}
	return sent, err
}
