package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// listings counts how often a folder is listed.
type listings struct {
	storagedriver.StorageDriver
	n atomic.Int32
}

func (l *listings) List(ctx context.Context, path string) ([]string, error) {
	l.n.Add(1)
	return l.StorageDriver.List(ctx, path)
}

// Each small piece of a large upload must have the same cost.
func TestPiecesKeepOneHashState(t *testing.T) {
	counted := &listings{}
	s, err := store.OnDisk(t.Context(), t.TempDir(), func(d storagedriver.StorageDriver) storagedriver.StorageDriver {
		counted.StorageDriver = d
		return counted
	})
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.Begin(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	const pieces, piece = 50, "some bytes "
	before, at := counted.n.Load(), int64(0)
	for range pieces {
		if at, err = s.Append(t.Context(), "r", id, at, strings.NewReader(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if listed := counted.n.Load() - before; listed != 0 {
		t.Errorf("%d pieces listed folders %d times, want never", pieces, listed)
	}
	states, err := os.ReadDir(filepath.Join(s.Dir(), "docker/registry/v2/repositories/r/_uploads", id, "hashstates/sha256"))
	if err != nil || len(states) > 2 {
		t.Errorf("%d hash states after %d pieces, %v; want at most 2", len(states), pieces, err)
	}
	d, err := s.Digest(t.Context(), "r", id, at)
	if want := digest.FromString(strings.Repeat(piece, pieces)); err != nil || d != want {
		t.Fatalf("digest = %s, %v; want %s", d, err, want)
	}
	if err := s.Commit(t.Context(), "r", id, d, at); err != nil {
		t.Fatal(err)
	}
}

// An earlier version kept the state of each piece. After a power failure, it also had states of
// bytes that are not stored.
func TestStatesOfAnEarlierDepotDoNotMakeAWrongDigest(t *testing.T) {
	s := onDisk(t)
	id, err := s.Begin(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	at, err := s.Append(t.Context(), "r", id, 0, strings.NewReader("1234"))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(s.Dir(), "docker/registry/v2/repositories/r/_uploads", id)
	old, err := os.ReadFile(filepath.Join(folder, "hashstates/sha256/4"))
	if err != nil {
		t.Fatal(err)
	}
	for _, ahead := range []string{"2", "8"} { // these are states of other bytes
		if err := os.WriteFile(filepath.Join(folder, "hashstates/sha256", ahead), old, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Tidy(t.Context(), "r", id, at); err != nil { // as at each start
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(folder, "data"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("5678"); err != nil { // as after a kill during the next piece
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := s.Digest(t.Context(), "r", id, 8)
	if want := digest.FromString("12345678"); err != nil || d != want {
		t.Errorf("digest = %s, %v; want %s", d, err, want)
	}
}
