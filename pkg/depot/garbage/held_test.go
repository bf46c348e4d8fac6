package garbage_test

import (
	"errors"
	"testing"

	"github.com/distribution/distribution/v3/registry/storage/driver/inmemory"

	"github.com/akraino-icn/bpa/pkg/depot/garbage"
	"github.com/akraino-icn/bpa/pkg/depot/store"
)

// A depot that may have lost its bucket to another one removes nothing: the other one may have
// referred to the content.
func TestALostLeaseEndsACollection(t *testing.T) {
	s, err := store.Over(t.Context(), inmemory.New())
	if err != nil {
		t.Fatal(err)
	}
	doc := store.Document{Type: "application/vnd.test", Config: []byte(`{}`)}
	if err := s.Save(t.Context(), "app", "current", doc); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), "app", "current"); err != nil {
		t.Fatal(err)
	}
	lost := errors.New("the lease is lost")
	r, err := garbage.Collect(t.Context(), s, garbage.Options{Held: func() error { return lost }})
	if !errors.Is(err, lost) || r.Freed != (garbage.Freed{}) {
		t.Errorf("freed %+v, %v", r.Freed, err)
	}
	r, err = garbage.Collect(t.Context(), s, garbage.Options{Held: func() error { return nil }})
	if err != nil || r.Freed.Blobs != 2 {
		t.Errorf("freed %+v, %v; want the two blobs of the document", r.Freed, err)
	}
}
