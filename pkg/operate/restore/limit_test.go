package restore

import (
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// The members receive the snapshot at the same time, so that the time grows with their number.
func TestRestoreLimit(t *testing.T) {
	r := &restoration{planes: make([]contract.Node, 5)}
	if r.limit() != 30*time.Minute {
		t.Errorf("without a copy: %s", r.limit())
	}
	r.backup = &backup.Open{Manifest: backup.Manifest{Files: []backup.FileSize{{Name: "x", Size: 1}, {Name: "y", Size: 8_000_000_000}}}}
	if want := 30*time.Minute + 4000*time.Second; r.limit() != want {
		t.Errorf("%s, want %s", r.limit(), want)
	}
}
