package depot

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
)

// filling is a disk on which whatever is read from zeros lands.
type filling struct{ free int64 }

func (f *filling) Used() (int64, error)       { return 0, nil }
func (f *filling) Free() (int64, bool, error) { return f.free, true, nil }

func (f *filling) Read(p []byte) (int, error) {
	f.free -= int64(len(p))
	return len(p), nil
}

func TestAPushOfUnknownLengthLeavesTheDiskItsRoom(t *testing.T) {
	const minFree = 1 << 30
	disk := &filling{minFree + 4*askAfter}
	gate := limits.NewGate(limits.Limits{MinFree: minFree}, disk)
	var err error
	h := guarded(gate, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, err = io.Copy(io.Discard, r.Body) }))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPatch, "/v2/app/blobs/uploads/id", io.LimitReader(disk, 1<<32))
	r.ContentLength = -1
	h.ServeHTTP(httptest.NewRecorder(), r)
	var refused *limits.Refusal
	if !errors.As(err, &refused) || disk.free < minFree {
		t.Errorf("read ended with %v, and %d bytes are free", err, disk.free)
	}
}
