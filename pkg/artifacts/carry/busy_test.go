package carry

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/artifacts/depottest"
	"github.com/akraino-icn/bpa/pkg/artifacts/doors"
)

// taken answers the first uploads of a file as a depot does to which another client sends the same, without reading them.
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
	content := bytes.Repeat([]byte("x"), 8<<20) // more than the sockets take
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

func TestNobodyWaitsForEver(t *testing.T) {
	attempts := 0
	err := whileBusy(t.Context(), 50*time.Millisecond, func() error {
		attempts++
		return &doors.Busy{After: 20 * time.Millisecond}
	})
	var busy *doors.Busy
	if !errors.As(err, &busy) || attempts != 3 {
		t.Errorf("after %d attempts: %v; want the third answer", attempts, err)
	}
}
