package software

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// The record of a large cluster in which everything fails fits into a ConfigMap.
func TestRecordFits(t *testing.T) {
	store := &memory{}
	r := &Record{store: store, now: time.Now}
	for i := range 200 {
		n := contract.SoftwareNode{Node: fmt.Sprint("node-", i)}
		for k := range 20 {
			n.Packages = append(n.Packages, contract.SoftwarePackage{Name: fmt.Sprint("package-", k), State: contract.SoftwareFailed, Message: strings.Repeat("no space left on device ", 25)})
		}
		r.set(contract.Node{Name: n.Node}, n)
	}
	if err := r.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := store.data[contract.KeySoftware]
	if len(text) > mostRecord || strings.Count(text, "left on device") < 4000 {
		t.Errorf("%d bytes", len(text))
	}
}

// Without messages, the record of more rows fits. One that does not fit is refused with the cause, and the stored one
// stays.
func TestRecordIsTooLong(t *testing.T) {
	for _, tc := range []struct {
		rows int
		fits bool
	}{{70, true}, {200, false}} {
		store := &memory{data: map[string]string{contract.KeySoftware: "before"}}
		r := &Record{store: store, now: time.Now}
		for i := range 100 {
			n := contract.SoftwareNode{Node: fmt.Sprint("node-", i), Message: "the node does not answer"}
			for k := range tc.rows {
				n.Packages = append(n.Packages, contract.SoftwarePackage{Name: fmt.Sprint("package-", k), State: contract.SoftwareFailed, Message: strings.Repeat("no space left ", 20),
					Wanted: "1.0", Installed: "1.0"})
			}
			r.set(contract.Node{Name: n.Node}, n)
		}
		err, text := r.Write(t.Context()), store.data[contract.KeySoftware]
		if tc.fits && (err != nil || len(text) > mostRecord || strings.Contains(text, "no space left")) {
			t.Errorf("%d rows: error %v, %d bytes", tc.rows, err, len(text))
		}
		if !tc.fits && (err == nil || !strings.Contains(err.Error(), "has 20000 packages on 100 nodes") || text != "before") {
			t.Errorf("%d rows: error %v, %d bytes", tc.rows, err, len(text))
		}
	}
}

// A row keeps its time until its state changes, and a node with another host has no rows.
func TestRecordSince(t *testing.T) {
	now := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	r := &Record{store: &memory{}, now: func() time.Time { return now }}
	n := contract.Node{Name: "node-1", HostUID: "uid-1"}
	set := func(state contract.SoftwareState) time.Time {
		r.set(n, contract.SoftwareNode{Node: n.Name, Host: n.HostUID, Packages: []contract.SoftwarePackage{{Name: "tool", State: state}}})
		now = now.Add(time.Minute)
		return r.of(n).Packages[0].Since
	}
	first := set(contract.SoftwarePending)
	if again := set(contract.SoftwarePending); again != first {
		t.Errorf("the same state has the times %s and %s", first, again)
	}
	if later := set(contract.SoftwareInstalled); !later.After(first) {
		t.Errorf("another state has the time %s", later)
	}
	n.HostUID = "uid-2"
	if rows := r.of(n).Packages; rows != nil {
		t.Errorf("rows of another host: %v", rows)
	}
	r.Keep([]contract.Node{n})
	if len(r.all.Nodes) != 0 {
		t.Errorf("kept %v", r.all.Nodes)
	}
}
