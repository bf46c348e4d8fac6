package transfer

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/deadline"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
)

// taken is a depot that seems to receive the same file from another client: it rejects the first
// uploads of the file without reading them.
type taken struct {
	first    int32
	retry    string // Retry-After; empty: none
	attempts atomic.Int32
	got      atomic.Pointer[[]byte]
}

func (d *taken) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut {
		return
	}
	if d.attempts.Add(1) <= d.first {
		if d.retry != "" {
			w.Header().Set("Retry-After", d.retry)
		}
		http.Error(w, "another request is sending this artifact", http.StatusConflict)
		return
	}
	content, _ := io.ReadAll(r.Body)
	d.got.Store(&content)
	w.WriteHeader(http.StatusCreated)
}

func TestAFileThatAnotherClientSendsIsWaitedFor(t *testing.T) {
	net := newInternet(t)
	content := bytes.Repeat([]byte("x"), 8<<20) // more than the buffers of the sockets hold, so the client cannot send all of it before the answer
	list := artifacts.List{Files: []artifacts.File{net.offer("dl.example/image", content)}}
	for _, c := range []struct {
		name, retry string
		attempts    int32
		want        string // in the error
	}{
		{"busy", "1", 3, ""},
		{"other bytes are there", "", 1, "another request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			depot := &taken{first: 2, retry: c.retry}
			server := httptest.NewServer(depot)
			t.Cleanup(server.Close)
			_, err := ToDepot(t.Context(), list, upstream(t), connect(t, &depottest.Depot{URL: server.URL}), Options{})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
			if got := depot.attempts.Load(); got != c.attempts {
				t.Errorf("%d attempts, want %d", got, c.attempts)
			}
			if got := depot.got.Load(); c.want == "" && (got == nil || !bytes.Equal(*got, content)) {
				t.Error("the file did not arrive whole")
			}
		})
	}
}

// A depot ends a request whose body does not begin soon. A source may be slower, so the request to
// the depot must not start before the source has sent the beginning of the content.
func TestASourceThatBeginsLateIsNotCutOff(t *testing.T) {
	t.Parallel()
	limits := deadline.Limits{First: 500 * time.Millisecond, Pause: 2 * time.Second, Rate: 1 << 20}
	content := bytes.Repeat([]byte("x"), 2<<20)
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = w.Write(content[:100])
		_ = http.NewResponseController(w).Flush()
		<-time.After(3 * limits.First)
		_, _ = w.Write(content[100:])
	}))
	t.Cleanup(source.Close)
	depot := &taken{}
	server := httptest.NewServer(deadline.Handler(limits, depot))
	t.Cleanup(server.Close)
	list := artifacts.List{Files: []artifacts.File{{Path: "dl.example/late", URL: source.URL, Size: int64(len(content)), SHA256: depottest.Sum(content)}}}
	if _, err := ToDepot(t.Context(), list, upstream(t), connect(t, &depottest.Depot{URL: server.URL}), Options{}); err != nil {
		t.Error(err)
	}
	if got := depot.got.Load(); got == nil || !bytes.Equal(*got, content) {
		t.Error("the file did not arrive whole")
	}
}

func TestNobodyWaitsForEver(t *testing.T) {
	attempts := 0
	err := whileBusy(t.Context(), 50*time.Millisecond, func() error {
		attempts++
		return &client.Busy{After: 20 * time.Millisecond}
	})
	var busy *client.Busy
	if !errors.As(err, &busy) || attempts != 3 {
		t.Errorf("after %d attempts: %v; want the third answer", attempts, err)
	}
}
