package store_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// bucket is a driver that can fail like the S3 driver: it then loses the part that is being
// written.
type bucket struct {
	storagedriver.StorageDriver
	fails bool
}

var errBucket = errors.New("upload part: the bucket does not answer")

func (b *bucket) Writer(ctx context.Context, path string, appends bool) (storagedriver.FileWriter, error) {
	w, err := b.StorageDriver.Writer(ctx, path, appends)
	if err != nil || !b.fails {
		return w, err
	}
	return &losing{FileWriter: w}, nil
}

// losing is a writer that keeps the first piece in memory. The second piece fails, and the first
// one is lost.
type losing struct {
	storagedriver.FileWriter
	pieces int
}

func (l *losing) Write(p []byte) (int, error) {
	if l.pieces++; l.pieces > 1 {
		return 0, errBucket
	}
	return len(p), nil
}

func TestALostPartKeepsTheHashOfWhatIsThere(t *testing.T) {
	driver := &bucket{StorageDriver: inmemory.New()}
	s, err := store.Over(t.Context(), driver)
	if err != nil {
		t.Fatal(err)
	}
	id, err := s.Begin(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	add := func(at int64, content string) (int64, error) {
		return s.Append(t.Context(), "r", id, at, struct{ io.Reader }{strings.NewReader(content)}) // without WriteTo: in pieces
	}
	at, err := add(0, "first")
	if err != nil {
		t.Fatal(err)
	}
	rest := strings.Repeat("x", 1<<20)
	driver.fails = true
	if at, err = add(at, rest); at != 5 || !errors.Is(err, errBucket) {
		t.Errorf("append = %d, %v, want the 5 bytes that are there and %v", at, err, errBucket)
	}
	driver.fails = false
	if at, err = add(5, rest); err != nil {
		t.Fatal(err)
	}
	if d, err := s.Digest(t.Context(), "r", id, at); err != nil || d != digest.FromString("first"+rest) {
		t.Errorf("digest = %s, %v", d, err)
	}
}
