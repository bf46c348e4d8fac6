package limits

import (
	"errors"
	"math"
	"net/http"
	"testing"
)

// fixed is a Meter with fixed values.
type fixed struct {
	held, free int64
	uploads    map[string]int64
}

func (f fixed) Held(uploads []string) (int64, []int64) {
	var there []int64
	for _, u := range uploads {
		bytes, open := f.uploads[u]
		if !open {
			bytes = -1
		}
		there = append(there, bytes)
	}
	return f.held, there
}

func (f fixed) Free() (int64, bool, error) { return f.free, true, nil }

func TestQuota(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits Limits
		meter  fixed
		open   []int64
		size   int64
		status int
	}{
		{"no limits", Limits{}, fixed{free: 10}, nil, 10, 0},
		{"largest upload", Limits{MaxUpload: 5}, fixed{free: 10}, nil, 5, 0},
		{"too large", Limits{MaxUpload: 5}, fixed{free: 10}, nil, 6, http.StatusRequestEntityTooLarge},
		{"too many", Limits{MaxOpen: 2}, fixed{free: 10}, []int64{1, 1}, 1, http.StatusServiceUnavailable},
		{"quota", Limits{Quota: 10}, fixed{held: 4, free: 100}, []int64{3}, 3, 0},
		{"over quota", Limits{Quota: 10}, fixed{held: 4, free: 100}, []int64{3}, 4, http.StatusInsufficientStorage},
		{"disk", Limits{MinFree: 2}, fixed{free: 10}, []int64{3}, 5, 0},
		{"disk full", Limits{MinFree: 2}, fixed{free: 10}, []int64{3}, 6, http.StatusInsufficientStorage},
	} {
		g := NewQuota(c.limits, c.meter)
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

// A byte of an upload counts as reserved until it is written, and then as held.
func TestEachByteCountsOnce(t *testing.T) {
	meter := fixed{free: 1000, uploads: map[string]int64{}}
	g := NewQuota(Limits{Quota: 100, MaxOpen: 1}, &meter)
	fits := func(when string, want int64) {
		t.Helper()
		if err := g.checkFree(want); err != nil {
			t.Errorf("%s: %v", when, err)
		}
		if err := g.checkFree(want + 1); err == nil {
			t.Errorf("%s: %d bytes fit, want only %d", when, want+1, want)
		}
	}
	if err := g.Reserve("a", 60); err != nil {
		t.Fatal(err)
	}
	fits("reserved", 40)
	meter.uploads["folder"] = 0
	g.Bind("a", "folder")
	fits("begun", 40)
	meter.uploads["folder"], meter.held = 50, 50
	fits("mostly there", 40)
	delete(meter.uploads, "folder")
	meter.held = 60
	fits("a blob", 40)
	if err := g.Hold("b", 40); err != nil {
		t.Fatal(err)
	}
	fits("held for something else", 0)
	g.Less("b", 30)
	fits("of which most is not needed", 30)
	if err := g.Slot("c"); err == nil {
		t.Error("an upload that is not published yet no longer counts")
	}
	for range 2 {
		g.Release("a")
		g.Release("b")
	}
	fits("released", 40)
	if err := g.Slot("c"); err != nil {
		t.Error(err)
	}
	if _, err := g.Grow("e", "of an earlier process, and not found yet", 10); err != nil {
		t.Error(err)
	}
	fits("growing in an unknown folder", 30)
	g.Release("e")
	meter.uploads["new"] = 0
	if size, err := g.Grow("d", "new", 10); err != nil || size != 10 {
		t.Errorf("Grow = %d, %v", size, err)
	}
	fits("growing", 30)
	if size, err := g.Grow("d", "new", 30); err != nil || size != 40 {
		t.Errorf("Grow = %d, %v", size, err)
	}
	if _, err := g.Grow("d", "new", 1); err == nil {
		t.Error("it grew beyond the quota")
	}
}

// A client may announce any length.
func TestMoreThanNumbersHoldIsTooLarge(t *testing.T) {
	g := NewQuota(Limits{MaxUpload: 10}, fixed{free: math.MaxInt64, uploads: map[string]int64{"begun": 3}})
	var refused *Refusal
	if _, err := g.Grow("a", "begun", math.MaxInt64); !errors.As(err, &refused) || refused.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("%v, want a refusal with status 413", err)
	}
}

// The bytes of a plain file use disk space as they are written, but count as held only when the
// file is complete.
func TestAFileUnderWayTakesItsRoomOnTheDiskOnce(t *testing.T) {
	meter := fixed{free: 100}
	g := NewQuota(Limits{Quota: 1000}, &meter)
	if err := g.Reserve("file", 60); err != nil {
		t.Fatal(err)
	}
	meter.free = 50
	g.Written("file", 50)
	if err := g.checkFree(40); err != nil {
		t.Error(err)
	}
	if g.checkFree(41) == nil {
		t.Error("the space for the rest of the file is no longer reserved")
	}
	g.limits.Quota = 70
	if g.checkFree(11) == nil {
		t.Error("the written bytes of the file do not count against the quota")
	}
}
