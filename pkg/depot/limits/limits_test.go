package limits

import (
	"errors"
	"net/http"
	"testing"
)

type fixed struct{ used, free int64 }

func (f fixed) Used() (int64, error)       { return f.used, nil }
func (f fixed) Free() (int64, bool, error) { return f.free, true, nil }

func TestGate(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits Limits
		meter  fixed
		open   []int64
		size   int64
		status int
	}{
		{"no limits", Limits{}, fixed{0, 10}, nil, 10, 0},
		{"largest upload", Limits{MaxUpload: 5}, fixed{0, 10}, nil, 5, 0},
		{"too large", Limits{MaxUpload: 5}, fixed{0, 10}, nil, 6, http.StatusRequestEntityTooLarge},
		{"too many", Limits{MaxOpen: 2}, fixed{0, 10}, []int64{1, 1}, 1, http.StatusServiceUnavailable},
		{"quota", Limits{Quota: 10}, fixed{4, 100}, []int64{3}, 3, 0},
		{"over quota", Limits{Quota: 10}, fixed{4, 100}, []int64{3}, 4, http.StatusInsufficientStorage},
		{"disk", Limits{MinFree: 2}, fixed{0, 10}, []int64{3}, 5, 0},
		{"disk full", Limits{MinFree: 2}, fixed{0, 10}, []int64{3}, 6, http.StatusInsufficientStorage},
	} {
		g := NewGate(c.limits, c.meter)
		for i, size := range c.open {
			if err := g.Reserve(string(rune('a'+i)), size); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		var refused *Refusal
		err := g.Reserve("new", c.size)
		if got := errors.As(err, &refused); got != (c.status != 0) || got && refused.Status != c.status {
			t.Errorf("%s: %v, want status %d", c.name, err, c.status)
		}
	}
}

func TestWhatIsReleasedCanBePromisedAgain(t *testing.T) {
	g := NewGate(Limits{MaxOpen: 1}, fixed{0, 10})
	if err := g.Reserve("a", 10); err != nil {
		t.Fatal(err)
	}
	g.Keep("a", 10, 4)
	if err := g.Room(6); err != nil {
		t.Error(err)
	}
	if err := g.Room(7); err == nil {
		t.Error("room that an upload still needs was given away")
	}
	g.Release("a")
	g.Release("a")
	if err := g.Reserve("b", 10); err != nil {
		t.Error(err)
	}
}

// What has come of an open upload is held by no blob yet, and so not measured.
func TestAnOpenUploadCountsWholeForTheQuota(t *testing.T) {
	g := NewGate(Limits{Quota: 100}, fixed{0, 1000})
	if err := g.Reserve("a", 90); err != nil {
		t.Fatal(err)
	}
	g.Keep("a", 90, 10)
	if err := g.Reserve("b", 50); err == nil {
		t.Error("140 bytes were promised of a quota of 100")
	}
}
