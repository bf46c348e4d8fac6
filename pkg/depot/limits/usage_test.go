package limits_test

import (
	"bytes"
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/opencontainers/go-digest"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

func open(t *testing.T, dir string, c *limits.Usage) *store.Store {
	t.Helper()
	s, err := store.OnDisk(t.Context(), dir, c.Over)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onDisk returns the bytes of blobs and uploads on the disk, which a Usage must count.
func onDisk(t *testing.T, dir string) (total int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() == "data" {
			info, statErr := d.Info()
			if statErr != nil {
				return statErr
			}
			total += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// work makes random changes to a store: uploads that stay open, end or are aborted, some with the
// same content at the same time.
func work(t *testing.T, s *store.Store, r *rand.Rand) {
	for range 15 {
		id, err := s.Begin(t.Context(), "r")
		if err != nil {
			t.Error(err)
			return
		}
		content := bytes.Repeat([]byte{byte(r.IntN(8))}, 1+r.IntN(20_000))
		half := int64(len(content) / 2)
		if _, err := s.Append(t.Context(), "r", id, 0, bytes.NewReader(content[:half])); err != nil {
			t.Error(err)
		}
		if _, err := s.Append(t.Context(), "r", id, half, bytes.NewReader(content[half:])); err != nil {
			t.Error(err)
		}
		switch r.IntN(4) {
		case 0:
			err = s.Abort(t.Context(), "r", id)
		case 1: // the upload stays open
		default:
			err = s.Commit(t.Context(), "r", id, digest.FromBytes(content), int64(len(content)))
		}
		if err == nil && r.IntN(3) == 0 {
			err = s.Save(t.Context(), "doc", "t", store.Document{Type: "application/vnd.test.v1", Config: content})
		}
		if err == nil && r.IntN(8) == 0 {
			err = s.Driver.Delete(t.Context(), store.BlobPath(digest.FromBytes(content)))
			if store.IsAbsent(err) {
				err = nil
			}
		}
		if err != nil && !strings.Contains(err.Error(), "unknown") { // another goroutine deleted it first
			t.Error(err)
		}
	}
}

func TestCountMatchesTheDisk(t *testing.T) {
	dir := t.TempDir()
	for start := range 3 { // each start finds the content of the one before
		c := &limits.Usage{All: true}
		s := open(t, dir, c)
		var working sync.WaitGroup
		for n := range 3 {
			working.Go(func() { work(t, s, rand.New(rand.NewPCG(uint64(start), uint64(n)))) })
		}
		if err := c.Count(t.Context()); err != nil { // while the goroutines work
			t.Fatal(err)
		}
		working.Wait()
		if got, _ := c.Held(nil); got != onDisk(t, dir) || got == 0 {
			t.Errorf("start %d: %d bytes are counted, and %d are there", start, got, onDisk(t, dir))
		}
		if pushes, _ := filepath.Glob(dir + "/docker/registry/v2/repositories/*/_uploads/*"); c.Pushes() != len(pushes) {
			t.Errorf("start %d: %d uploads are counted, and %d are there", start, c.Pushes(), len(pushes))
		}
	}
}

// stuck is a storage whose listings wait until free is closed.
type stuck struct {
	storagedriver.StorageDriver
	asked, free chan struct{}
	once        *sync.Once
}

func (s stuck) wait(ctx context.Context) error {
	s.once.Do(func() { close(s.asked) })
	select {
	case <-s.free:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s stuck) List(ctx context.Context, path string) ([]string, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return s.StorageDriver.List(ctx, path)
}

func (s stuck) Walk(ctx context.Context, path string, f storagedriver.WalkFn, options ...func(*storagedriver.WalkOptions)) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.StorageDriver.Walk(ctx, path, f, options...)
}

func TestASlowCountBlocksNothing(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, &limits.Usage{})
	if _, err := s.AddKnown(t.Context(), "r", strings.NewReader("old"), digest.FromString("old"), 3); err != nil {
		t.Fatal(err)
	}
	c := &limits.Usage{All: true}
	slow := stuck{s.Driver, make(chan struct{}), make(chan struct{}), &sync.Once{}}
	driver := c.Over(slow)
	ended := make(chan error)
	go func() { ended <- c.Count(t.Context()) }()
	<-slow.asked
	g := limits.NewQuota(limits.Limits{Quota: 10}, c)
	if err := g.Reserve("a", 10); err != nil {
		t.Errorf("while nothing is counted: %v", err)
	}
	g.Release("a")
	if err := driver.PutContent(t.Context(), store.BlobPath(digest.FromString("new")), []byte("new")); err != nil {
		t.Fatal(err)
	}
	close(slow.free)
	if err := <-ended; err != nil || !c.Counted() {
		t.Fatalf("counted = %v, %v", c.Counted(), err)
	}
	if got, _ := c.Held(nil); got != 6 {
		t.Errorf("%d bytes are counted, want those of before and after", got)
	}
}

func TestPlainFilesAreCounted(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	c := &limits.Usage{All: true, Files: root}
	c.Over(open(t, t.TempDir(), &limits.Usage{}).Driver)
	if err := c.Count(t.Context()); err != nil {
		t.Fatal(err)
	}
	write := func(name, content string) func() error {
		return func() error { return root.WriteFile(name, []byte(content), 0o600) }
	}
	held := func(want int64) {
		t.Helper()
		if got, _ := c.Held(nil); got != want {
			t.Errorf("held = %d, want %d", got, want)
		}
	}
	for _, step := range []struct {
		content string
		want    int64
	}{{"12345", 5}, {"123", 3}, {"1234567", 7}} {
		if err := c.Place("a", write("a", step.content)); err != nil {
			t.Fatal(err)
		}
		held(step.want)
	}
	if err := root.Mkdir("by", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := write("by/hand", "1234")(); err != nil {
		t.Fatal(err)
	}
	held(7)
	if err := c.CountFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	held(11)

	var working sync.WaitGroup
	for n := range 3 { // these goroutines write files while CountFiles runs
		working.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			for range 300 {
				name := string(rune('b' + r.IntN(20)))
				if err := c.Place(name, write(name, strings.Repeat("x", r.IntN(100)))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		if err := c.CountFiles(t.Context()); err != nil {
			t.Error(err)
		}
	}
	working.Wait()
	before, _ := c.Held(nil)
	if err := c.CountFiles(t.Context()); err != nil {
		t.Error(err)
	}
	held(before)
}
