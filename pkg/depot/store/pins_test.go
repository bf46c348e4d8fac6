package store

import (
	"errors"
	"testing"
	"time"

	"github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/opencontainers/go-digest"
)

func TestACollectionRemovesWhatNobodyHasPinned(t *testing.T) {
	s, err := Over(t.Context(), inmemory.New())
	if err != nil {
		t.Fatal(err)
	}
	before, during, held, free := digest.FromString("before"), digest.FromString("during"), digest.FromString("held"), digest.FromString("free")
	s.Pin(before)()
	release := s.Pin(held)
	run, err := s.Collect()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Collect(); !errors.Is(err, ErrCollecting) {
		t.Errorf("a second collection: %v", err)
	}
	s.Pin(during)()
	release()
	for d, want := range map[digest.Digest]bool{before: true, during: false, held: false, free: true} {
		called := false
		removed, err := run.Remove(KeyOf(d), func() error { called = true; return nil })
		if err != nil || removed != want || called != want || run.Pinned(KeyOf(d)) == want {
			t.Errorf("%s: removed %t, want %t", d, removed, want)
		}
	}
	run.End()
	if run, err = s.Collect(); err != nil {
		t.Fatal(err)
	}
	defer run.End()
	if removed, err := run.Remove(KeyOf(held), func() error { return nil }); !removed || err != nil {
		t.Errorf("the next collection: %t, %v", removed, err)
	}
}

// The memory of questions is bounded: it lasts for one to two hours.
func TestQuestionsAreForgotten(t *testing.T) {
	s, err := Over(t.Context(), inmemory.New())
	if err != nil {
		t.Fatal(err)
	}
	d := digest.FromString("asked")
	s.Asked(d)
	run, err := s.Collect()
	if err != nil {
		t.Fatal(err)
	}
	defer run.End()
	stripe := s.pins.of(KeyOf(d))
	for _, c := range []struct {
		age  time.Duration
		want bool
	}{{0, true}, {remembered - time.Minute, true}, {remembered, true}, {remembered, false}} {
		stripe.turned = time.Now().Add(-c.age)
		if got := run.Asked(KeyOf(d)); got != c.want {
			t.Errorf("%s after the last turn: %t, want %t", c.age, got, c.want)
		}
	}
}
