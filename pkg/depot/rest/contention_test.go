package rest_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// running is a request whose body is being sent.
type running struct {
	send   *io.PipeWriter
	answer chan int
}

// begin sends a request with the first part of its body.
func (c *contract) begin(method, path, first string, size int64, header ...string) *running {
	c.t.Helper()
	body, send := io.Pipe()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.server.URL+path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	req.ContentLength = size
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	r := &running{send, make(chan int, 1)}
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			r.answer <- 0
			return
		}
		_ = resp.Body.Close()
		r.answer <- resp.StatusCode
	}()
	if _, err := io.WriteString(send, first); err != nil {
		c.t.Fatal(err)
	}
	return r
}

// end sends the rest and returns the status of the answer.
func (r *running) end(rest string) int {
	_, _ = io.WriteString(r.send, rest) // an interrupted request reads no more
	_ = r.send.Close()
	return <-r.answer
}

// arrivals counts the bytes of request bodies that the depot has read, by path.
type arrivals struct {
	mu     sync.Mutex
	more   *sync.Cond
	counts map[string]int
}

func newArrivals() *arrivals {
	a := &arrivals{counts: map[string]int{}}
	a.more = sync.NewCond(&a.mu)
	return a
}

func (a *arrivals) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		counted := *r
		counted.Body = &arriving{ReadCloser: r.Body, all: a, path: r.URL.Path}
		next.ServeHTTP(w, &counted)
	})
}

// arriving counts the bytes of one Read when the next Read begins, since the depot has handled them
// by then.
type arriving struct {
	io.ReadCloser
	all  *arrivals
	path string
	last int
}

func (b *arriving) Read(p []byte) (n int, err error) {
	b.all.mu.Lock()
	b.all.counts[b.path] += b.last
	b.all.mu.Unlock()
	b.all.more.Broadcast()
	n, err = b.ReadCloser.Read(p)
	b.last = n
	return n, err
}

// arrived waits until the depot has read the given number of body bytes that were sent to path.
func (c *contract) arrived(path string, bytes int) {
	c.arrivals.mu.Lock()
	defer c.arrivals.mu.Unlock()
	for c.arrivals.counts[path] < bytes {
		c.arrivals.more.Wait()
	}
}

// stands checks the offset that the depot reports for an upload.
func (c *contract) stands(path, offset string) {
	c.t.Helper()
	if got := c.do(200, "HEAD", path, "", "Tus-Resumable", "1.0.0").Header.Get("Upload-Offset"); got != offset {
		c.t.Errorf("HEAD %s = Upload-Offset %q, want %s", path, got, offset)
	}
}

// busy sends a request that must fail because another request works on the artifact.
func (c *contract) busy(method, path, body string, header ...string) {
	c.t.Helper()
	resp := c.do(http.StatusConflict, method, path, body, header...)
	if resp.Header.Get("Retry-After") == "" {
		c.t.Errorf("%s %s: no Retry-After", method, path)
	}
}

var half = strings.Repeat("x", 8192)

// Two clients that retry must not interrupt each other forever.
func TestASecondWriterLetsAWholeUploadEnd(t *testing.T) {
	c := newContract(t)
	c.load()
	first := c.begin("PUT", image+"/content", half, 16384)
	c.arrived(image+"/content", len(half))
	c.busy("PUT", image+"/content", half+half)
	c.busy("PATCH", image, half, "Upload-Offset", "0") // an upload that must come in one request cannot be resumed
	c.busy("DELETE", image, "")
	c.busy("PUT", image, record("a", 16384), inJSON...)
	c.busy("POST", kind, record("a", 16384), inJSON...)
	if got := first.end(half); got != http.StatusCreated {
		t.Errorf("the first upload = %d, want 201", got)
	}
	c.do(200, "PUT", image+"/content", half+half) // tried again
}

func TestOnlyWhoResumesATransferEndsIt(t *testing.T) {
	tus := []string{"Tus-Resumable", "1.0.0", "Content-Type", "application/offset+octet-stream"}
	for _, protocol := range []struct {
		name   string
		header []string
		create func(c *contract) string
	}{
		{"pieces", nil, func(c *contract) string {
			c.do(201, "POST", kind, record("a", 24576), inJSON...)
			return image
		}},
		{"tus", tus, func(c *contract) string { return c.tusCreate("a", "", "24576") }},
	} {
		t.Run(protocol.name, func(t *testing.T) {
			c := newContract(t)
			c.load()
			upload := protocol.create(c)
			at := func(offset string) []string { return append([]string{"Upload-Offset", offset}, protocol.header...) }
			first := c.begin("PATCH", upload, half, 24576, at("0")...)
			c.arrived(upload, len(half))
			c.stands(upload, "0") // the received bytes are in memory only: a crash would lose them
			c.busy("PATCH", upload, half, at("8192")...)
			c.busy("PATCH", upload, half, at("8191")...)
			c.busy("DELETE", upload, "", protocol.header...)

			// The client has lost its connection and resumes the upload. The depot has not noticed
			// the loss yet. It keeps the bytes of the first transfer.
			taken := c.do(409, "PATCH", upload, half, at("0")...)
			if protocol.header == nil && taken.Header.Get("Upload-Offset") != "8192" {
				t.Errorf("Upload-Offset = %q, want 8192", taken.Header.Get("Upload-Offset"))
			}
			c.stands(upload, "8192")
			c.do(204, "PATCH", upload, half+half, at("8192")...)
			if got := first.end(""); got == http.StatusNoContent {
				t.Error("the transfer that was resumed by another request ended well")
			}
			c.do(200, "GET", image+"/content", "")
		})
	}
}
