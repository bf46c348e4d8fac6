package depot

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// besideEachOther are operations that do not refuse each other.
var besideEachOther = []string{
	"push an image of old blobs", "push a manifest again", "push a new image", "mount a blob of another repository", "mount by sha512",
	"tag an image without a tag", "push an index of an image without a tag", "push a signature", "delete and upload again",
	"upload an archive of images", "change a record",
}

// Clients push, mount, delete and read while one collection follows the other, without a grace.
// Collections may refuse a push between two of its requests, which then begins again. What the depot
// has acknowledged stays, and reads of content that is in use never fail.
func TestCollectionsBesideClients(t *testing.T) {
	from := newTemplate(t)
	for range 3 {
		from.clients(t)
	}
}

func (p template) clients(t *testing.T) {
	t.Helper()
	r := p.open(t)
	defer r.close()
	var clients, others sync.WaitGroup
	var ended atomic.Bool
	does := make([]acked, len(besideEachOther))
	for i, operation := range besideEachOther {
		does[i] = acked{}
		clients.Go(func() {
			if err := r.until(operation, does[i]); err != nil {
				t.Errorf("%s: %v", operation, err)
			}
		})
	}
	collections := 0
	others.Go(func() {
		for !ended.Load() {
			if err := r.collect(t.Context(), 0); err != nil {
				t.Errorf("collection: %v", err)
			}
			collections++
		}
	})
	others.Go(func() {
		for !ended.Load() {
			for path, want := range p.stays {
				if w := r.send("GET", path, "", "Accept", "application/vnd.oci.image.manifest.v1+json"); w.Code != http.StatusOK || w.Body.String() != want {
					t.Errorf("read %s = %d %.100s", path, w.Code, w.Body)
				}
			}
		}
	})
	clients.Wait()
	ended.Store(true)
	others.Wait()
	r.must(r.collect(t.Context(), 0))
	r.verify(append(does, p.stays)...)
	t.Logf("%d collections beside %d clients", collections, len(besideEachOther))
}

// until repeats an operation until it is not refused.
func (r *raced) until(operation string, a acked) error {
	run := operations[operation]
	for try := 0; ; try++ {
		clear(a)
		err := run(r, a)
		var no refused
		if !errors.As(err, &no) || try == 100 {
			return err
		}
		if again := repeats[operation]; again != nil {
			run = again
		}
	}
}
