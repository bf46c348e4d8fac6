package transfer

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// flaky starts a server of the content. The server closes the connection of each of its first
// answers after a third of the content. breaks is the number of these answers.
func flaky(t *testing.T, content []byte, etag string, breaks int) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if etag != "" {
			w.Header().Set("ETag", etag)
		}
		if breaks <= 0 {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
			return
		}
		breaks--
		http.ServeContent(&breaking{w, len(content) / 3}, r, "", time.Time{}, bytes.NewReader(content))
	}))
	t.Cleanup(server.Close)
	return server
}

type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		_, _ = b.ResponseWriter.Write(p[:max(0, len(p)+b.left)])
		_ = http.NewResponseController(b.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return b.ResponseWriter.Write(p)
}

func TestDownloadGoesOn(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789"), 100_000)
	for _, tc := range []struct {
		name   string
		etag   string
		breaks int
		fails  bool
	}{
		{"a good connection", `"a"`, 0, false},
		{"two broken connections", `"a"`, 2, false},
		{"broken, without an ETag that shows whether the rest belongs to it", "", 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := flaky(t, want, tc.etag, tc.breaks)
			d := &download{ctx: t.Context(), client: server.Client(), url: server.URL, pause: time.Millisecond, stall: time.Minute}
			if _, err := d.open(); err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			got, err := io.ReadAll(d)
			if tc.fails {
				if err == nil || !strings.Contains(err.Error(), "broke off after") {
					t.Errorf("%d bytes, %v; want an error", len(got), err)
				}
				return
			}
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d of %d bytes, %v", len(got), len(want), err)
			}
		})
	}
}

// A download from a server that stops sending is resumed. Here the second answer is complete.
func TestDownloadThatStallsGoesOn(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789"), 1000)
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		if asked++; asked > 1 {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(want))
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(want)))
		_, _ = w.Write(want[:4000])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // until the client closes the connection
	}))
	defer server.Close()
	d := &download{ctx: t.Context(), client: server.Client(), url: server.URL, pause: time.Millisecond, stall: 50 * time.Millisecond}
	if _, err := d.open(); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	got, err := io.ReadAll(d)
	if err != nil || !bytes.Equal(got, want) || asked != 2 {
		t.Errorf("%d of %d bytes after asking %d times, %v", len(got), len(want), asked, err)
	}
}

// Wrong content is never returned completely.
func TestVerifiedHoldsBack(t *testing.T) {
	text := strings.Repeat("content ", 10_000)
	for _, want := range []Check{
		{Size: int64(len(text)), SHA256: strings.Repeat("0", 64)},
		{Size: -1, SHA512: strings.Repeat("0", 128)},
		{Size: int64(len(text)) - 1},
		{Size: int64(len(text)) + 1},
	} {
		got, err := io.ReadAll(Verified(strings.NewReader(text), want))
		if !errors.Is(err, ErrDamaged) || len(got) >= len(text) {
			t.Errorf("%+v: %d of %d bytes, %v", want, len(got), len(text), err)
		}
	}
	got, err := io.ReadAll(Verified(strings.NewReader(""), Check{Size: 0}))
	if err != nil || len(got) != 0 {
		t.Errorf("of nothing: %q, %v", got, err)
	}
}
