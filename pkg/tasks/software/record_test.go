package software

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// recordOf returns a record whose packages have all failed, with different messages.
func recordOf(store *memory, nodes, packages int) *Record {
	r := &Record{store: store, now: func() time.Time { return time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC) }}
	for i := range nodes {
		n := contract.SoftwareNode{Node: fmt.Sprintf("node-%04d", i), Message: "the node does not answer"}
		for k := range packages {
			seed := sha256.Sum256(fmt.Append(nil, i, k))
			n.Packages = append(n.Packages, contract.SoftwarePackage{Name: fmt.Sprint("package-", k), State: contract.SoftwareFailed, Wanted: "1.0", Installed: "1.0",
				Message: strings.Repeat(fmt.Sprintf("no space left for %x\n", seed), 4)})
		}
		r.all.Nodes = append(r.all.Nodes, n)
	}
	return r
}

// The record of 1,000 nodes with 20 packages fits into a ConfigMap, also if everything fails. It loses parts of
// its messages then.
func TestRecordFits(t *testing.T) {
	for _, packages := range []int{1, 20} {
		store := &memory{}
		if err := recordOf(store, 1000, packages).Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		if size := len(store.data[contract.KeySoftware]); size > mostRecord {
			t.Errorf("%d packages: %d bytes", packages, size)
		}
		r, err := ReadRecord(t.Context(), store, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if n := r.all.Nodes[len(r.all.Nodes)-1]; len(r.all.Nodes) != 1000 || len(n.Packages) != packages || !strings.HasPrefix(n.Packages[0].Message, "no space left") && packages == 1 {
			t.Errorf("%d packages: %d nodes, the last is %+v", packages, len(r.all.Nodes), n)
		}
	}
}

// A record that does not fit is refused with the cause, and the stored one stays.
func TestRecordIsTooLong(t *testing.T) {
	store := &memory{data: map[string]string{contract.KeySoftware: "before"}}
	r := recordOf(store, 1000, 20)
	for i := range r.all.Nodes {
		for k := range r.all.Nodes[i].Packages {
			r.all.Nodes[i].Packages[k].Message = ""
			r.all.Nodes[i].Packages[k].Intent = fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, "intent", i, k)))
		}
	}
	err := r.Write(t.Context())
	if err == nil || !strings.Contains(err.Error(), "has 20000 packages on 1000 nodes") || store.data[contract.KeySoftware] != "before" {
		t.Errorf("error %v, %d bytes", err, len(store.data[contract.KeySoftware]))
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
