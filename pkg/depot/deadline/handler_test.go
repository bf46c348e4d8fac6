package deadline_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/depot/deadline"
)

// brief has short limits, so that tests do not wait long.
var brief = deadline.Limits{First: 500 * time.Millisecond, Pause: 2 * time.Second, Rate: 256 << 10}

// far is later than any deadline that the limits allow.
const far = 20 * time.Second

func serve(t *testing.T, handler http.HandlerFunc) (server *httptest.Server, connect func() net.Conn) {
	t.Helper()
	server = httptest.NewServer(deadline.Handler(brief, handler))
	t.Cleanup(server.Close)
	return server, func() net.Conn {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := c.SetDeadline(time.Now().Add(far)); err != nil {
			t.Fatal(err)
		}
		return c
	}
}

func say(t *testing.T, c net.Conn, format string, args ...any) {
	t.Helper()
	if _, err := fmt.Fprintf(c, format, args...); err != nil {
		t.Fatal(err)
	}
}

func readBody(errs chan error) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		errs <- err
	}
}

// wantTimeout waits for the error of a handler's read or write.
func wantTimeout(t *testing.T, errs chan error) {
	t.Helper()
	select {
	case err := <-errs:
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("the transfer ended with %v, want a timeout", err)
		}
	case <-time.After(far):
		t.Fatal("the handler still waits for its peer")
	}
}

// The server drains a body that the handler does not read.
func TestABodyThatNeverComesEndsTheConnection(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"unread":  func(http.ResponseWriter, *http.Request) {},
		"refused": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) },
		"long answer": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 64<<10))
		},
		"closed": func(_ http.ResponseWriter, r *http.Request) { _ = r.Body.Close() },
		"read":   func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) },
	} {
		for _, announced := range []string{"Content-Length: 1", "Content-Length: 1000000", "Transfer-Encoding: chunked", "Content-Length: 1\r\nExpect: 100-continue"} {
			t.Run(name+" "+announced, func(t *testing.T) {
				t.Parallel()
				_, connect := serve(t, handler)
				c := connect()
				say(t, c, "POST / HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", announced)
				if _, err := io.ReadAll(c); err != nil && !strings.Contains(err.Error(), "reset") {
					t.Errorf("%v: the connection stays", err)
				}
			})
		}
	}
}

func TestATrickleIsCutOff(t *testing.T) {
	t.Parallel()
	errs := make(chan error, 1)
	_, connect := serve(t, readBody(errs))
	c := connect()
	say(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n")
	tick := time.NewTicker(brief.First / 5) // well within each pause
	defer tick.Stop()
	go func() {
		for range tick.C {
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
		}
	}()
	wantTimeout(t, errs)
}

func TestASlowUploadThatKeepsTheRateEndsWell(t *testing.T) {
	t.Parallel()
	errs := make(chan error, 1)
	_, connect := serve(t, readBody(errs))
	c := connect()
	const pieces, piece = 40, 64 << 10
	say(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", pieces*piece)
	tick := time.NewTicker(100 * time.Millisecond) // the pieces arrive at more than twice the rate, and all together take longer than any pause
	defer tick.Stop()
	for range pieces {
		<-tick.C
		if _, err := c.Write(make([]byte, piece)); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-errs; err != nil {
		t.Error(err)
	}
}

// After the whole body has arrived, the depot may work longer than any client may be silent.
func TestTheServersOwnTimeIsNotThePeers(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "all of it"} {
		cancelled := make(chan error, 1)
		server, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-r.Context().Done():
			case <-time.After(2 * (brief.First + brief.Pause)):
			}
			cancelled <- r.Context().Err()
			_, _ = io.WriteString(w, "done")
		})
		resp, err := http.Post(server.URL, "text/plain", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if ended := <-cancelled; ended != nil || err != nil || string(got) != "done" {
			t.Errorf("body %q: %q, %v, and the request's context %v", body, got, err, ended)
		}
	}
}

// A client that sends "Expect: 100-continue" must get a refusal of its body at once.
func TestExpectedBodyIsRefusedAtOnce(t *testing.T) {
	_, connect := serve(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusConflict) })
	c := connect()
	say(t, c, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n")
	if err := c.SetDeadline(time.Now().Add(brief.First / 2)); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "409") {
		t.Errorf("answer = %q, %v", line, err)
	}
}

// net/http writes "100 Continue" within the first read of the body. That read may come late, for
// example after a handler has waited for a lock.
func TestALateReadOfAnExpectedBodyIsAnswered(t *testing.T) {
	t.Parallel()
	errs := make(chan error, 1)
	_, connect := serve(t, func(w http.ResponseWriter, r *http.Request) {
		<-time.After(2 * brief.First)
		_, err := io.Copy(io.Discard, r.Body)
		errs <- errors.Join(err, r.Context().Err())
		_, _ = io.WriteString(w, "done")
	})
	c := connect()
	say(t, c, "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n")
	answers := bufio.NewReader(c)
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
		t.Fatalf("answer = %q, %v, want 100 Continue", line, err)
	}
	say(t, c, "body")
	got, err := io.ReadAll(answers)
	if !strings.Contains(string(got), " 200 ") || !strings.HasSuffix(string(got), "done") {
		t.Errorf("answer = %q, %v", got, err)
	}
	if err := <-errs; err != nil {
		t.Errorf("the handler's read: %v", err)
	}
}

func TestAHandlerEndsABodyAndNeverExtendsIt(t *testing.T) {
	t.Parallel()
	errs, end := make(chan error, 1), make(chan struct{})
	_, connect := serve(t, func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Now().Add(time.Hour))
		_ = rc.SetReadDeadline(time.Time{})
		_, _ = r.Body.Read(make([]byte, 1))
		go func() {
			<-end
			_ = rc.SetReadDeadline(time.Now())
		}()
		_, err := io.Copy(io.Discard, r.Body)
		errs <- err
	})
	c := connect()
	say(t, c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx")
	wantTimeout(t, errs) // by the package's own deadline: the handler has not ended the body yet
	d := connect()
	say(t, d, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\nx")
	began := time.Now()
	close(end)
	wantTimeout(t, errs)
	if took := time.Since(began); took >= brief.First {
		t.Errorf("the handler's end came after %s", took)
	}
}

// file returns a file that is larger than the buffers of both sockets.
func file(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "big"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if err := f.Truncate(64 << 20); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestWhoDoesNotReadIsCutOff(t *testing.T) {
	for name, source := range map[string]func(f *os.File) io.Reader{
		"file":   func(f *os.File) io.Reader { return f },
		"part":   func(f *os.File) io.Reader { return io.LimitReader(f, 63<<20) },
		"writes": func(f *os.File) io.Reader { return struct{ io.Reader }{f} },
	} {
		for what, pause := range map[string]time.Duration{"nothing": 0, "a byte at times": brief.First / 5} {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				f, errs := file(t), make(chan error, 1)
				_, connect := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					_, err := io.Copy(w, source(f))
					errs <- err
				})
				c := connect()
				say(t, c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
				if pause > 0 {
					tick := time.NewTicker(pause)
					defer tick.Stop()
					go func() {
						for range tick.C {
							if _, err := c.Read(make([]byte, 1)); err != nil {
								return
							}
						}
					}()
				}
				select {
				case err := <-errs:
					if !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("the download ended with %v, want a timeout", err)
					}
				case <-time.After(far):
					t.Fatal("the handler still waits for a peer that reads nothing")
				}
			})
		}
	}
}

func TestASlowDownloadThatKeepsTheRateEndsWell(t *testing.T) {
	t.Parallel()
	const size = 24 << 20
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		_, _ = io.Copy(w, bytes.NewReader(make([]byte, size)))
	})
	resp, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	const pieces = 12
	pace := time.NewTicker(3 * brief.Pause / pieces)
	defer pace.Stop()
	var got int64
	for err == nil {
		<-pace.C
		var n int64
		n, err = io.CopyN(io.Discard, resp.Body, size/pieces)
		got += n
	}
	if !errors.Is(err, io.EOF) || got != size {
		t.Errorf("slow download ended with %d of %d bytes: %v", got, size, err)
	}
}

// late is a reader that waits before its first byte, as slow storage does.
type late struct {
	io.Reader
	wait time.Duration
}

func (l *late) Read(p []byte) (int, error) {
	<-time.After(l.wait)
	l.wait = 0
	return l.Reader.Read(p)
}

func TestTheStoragesTimeIsNotThePeers(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(size))
		_, _ = io.CopyN(w, &late{bytes.NewReader(make([]byte, size)), 2 * (brief.First + brief.Pause)}, size)
	})
	resp, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.Copy(io.Discard, resp.Body); err != nil || got != size {
		t.Errorf("download ended with %d of %d bytes: %v", got, size, err)
	}
}

// fromFile counts the copies that the kernel could make from a file, and the other copies.
type fromFile struct {
	*httptest.ResponseRecorder
	files, others int
}

func (f *fromFile) ReadFrom(r io.Reader) (int64, error) {
	if limited, ok := r.(*io.LimitedReader); ok {
		if _, ok := limited.R.(syscall.Conn); ok {
			f.files++
			return io.Copy(io.Discard, r)
		}
	}
	f.others++
	return io.Copy(io.Discard, r)
}

func TestFilesAreStillSentByTheKernel(t *testing.T) {
	f := file(t)
	for name, send := range map[string]func(w io.Writer){
		"a part": func(w io.Writer) { _, _ = io.CopyN(w, f, 1<<20) },
		"all":    func(w io.Writer) { _, _ = io.Copy(w, f) }, // io.Copy calls ReadFrom with an unexported type of package os
	} {
		w := &fromFile{ResponseRecorder: httptest.NewRecorder()}
		deadline.Handler(brief, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			send(w)
		})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if w.files == 0 || w.others > 0 {
			t.Errorf("%s: %d copies from the file and %d from others", name, w.files, w.others)
		}
	}
}
