package registry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
)

// filling is a disk whose free space shrinks by every byte that is read from it.
type filling struct{ free int64 }

func (f *filling) Held([]string) (int64, []int64) { return 0, nil }
func (f *filling) Free() (int64, bool, error)     { return f.free, true, nil }

func (f *filling) Read(p []byte) (int, error) {
	f.free -= int64(len(p))
	return len(p), nil
}

func TestAPushOfUnknownLengthLeavesTheDiskItsRoom(t *testing.T) {
	const minFree, piece = 1 << 30, 1 << 20
	disk := &filling{minFree + 64<<20}
	quota := limits.NewQuota(limits.Limits{MinFree: minFree}, disk)
	var err error
	h := &pushLimiter{quota, func(context.Context) bool { return false }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r.Body}, make([]byte, piece))
		w.WriteHeader(http.StatusInternalServerError) // as the library answers
	})}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPatch, "/v2/app/blobs/uploads/id", io.LimitReader(disk, 1<<32))
	r.ContentLength = -1
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var refused *limits.Refusal
	if !errors.As(err, &refused) || disk.free < minFree-piece {
		t.Errorf("read ended with %v, and %d bytes are free", err, disk.free)
	}
	if w.Code != http.StatusInsufficientStorage || !strings.Contains(w.Body.String(), "--min-free") {
		t.Errorf("answer = %d %s, want 507 with the reason", w.Code, w.Body)
	}
}
