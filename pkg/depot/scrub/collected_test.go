package scrub_test

import (
	"context"
	"testing"

	storagedriver "github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/inmemory"

	"github.com/akraino-icn/bpa/pkg/depot/garbage"
	"github.com/akraino-icn/bpa/pkg/depot/scrub"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// removing is a driver that calls before each read of a blob.
type removing struct {
	storagedriver.StorageDriver
	before func()
}

func (d *removing) Stat(ctx context.Context, at string) (storagedriver.FileInfo, error) {
	d.before()
	return d.StorageDriver.Stat(ctx, at)
}

// A running depot deletes a document and collects garbage at any call of a scrub. The scrub must not
// report the removed content as lost.
func TestAScrubBesideACollectionReportsNoDamage(t *testing.T) {
	ctx := t.Context()
	for k, more := 0, true; more; k++ {
		d := &removing{inmemory.New(), func() {}}
		s, err := store.Over(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"kept", "removed"} {
			if err := s.Save(ctx, name, "current", store.Document{Type: "application/vnd.test", Config: []byte(`{"name": "` + name + `"}`)}); err != nil {
				t.Fatal(err)
			}
		}
		n := 0
		more = false
		d.before = func() {
			if n++; n != k+1 {
				return
			}
			more = true
			if err := s.Remove(ctx, "removed", "current"); err != nil {
				t.Error(err)
			}
			if r, err := garbage.Collect(ctx, s, garbage.Options{}); err != nil || r.Freed.Blobs != 2 {
				t.Errorf("freed %+v, %v", r.Freed, err)
			}
		}
		if _, err := scrub.Run(ctx, s, func(damage scrub.Damage) { t.Errorf("call %d: %s", k, damage) }); err != nil {
			t.Errorf("call %d: %v", k, err)
		}
	}
}
