package imaging

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// of returns a held host without an operating system. If node is empty, the host is held for no
// node.
func of(name, node, set string, change ...func(*hosts.Host)) hosts.Host {
	h := hosts.Host{Name: name, Node: node, Set: set, Bare: true}
	for _, f := range change {
		f(&h)
	}
	return h
}

func TestDue(t *testing.T) {
	standby := func(h *hosts.Host) { h.Standby = true }
	installed := func(h *hosts.Host) { h.Bare = false }
	lost := func(h *hosts.Host) { h.Lost, h.Bare = true, false }
	hasImage := func(h *hosts.Host) { h.Imaged = true }
	released := func(h *hosts.Host) { h.Labels = map[string]string{contract.LabelRelease: "true"} }
	sets := []contract.Set{{Name: "w", Active: 1, Standby: 1}}
	for _, tc := range []struct {
		name string
		held []hosts.Host
		want map[string]string
	}{
		{"nothing is held", nil, nil},
		{"a slot has no host", []hosts.Host{of("h2", "w-1", "w")}, nil},
		{"a node of the set has no host", []hosts.Host{of("h1", "m", ""), of("h3", "w-2", "w", standby)}, nil},
		{"the claim is complete", []hosts.Host{of("h1", "m", ""), of("h2", "w-1", "w"), of("h3", "w-2", "w", standby)}, map[string]string{"h1": "m", "h2": "w-1", "h3": "w-2"}},
		{"complete except for a standby", []hosts.Host{of("h1", "m", ""), of("h2", "w-1", "w")}, map[string]string{"h1": "m", "h2": "w-1"}},
		{"some have an operating system", []hosts.Host{of("h1", "m", "", installed), of("h2", "w-1", "w", hasImage), of("h3", "w-2", "w", standby)}, map[string]string{"h3": "w-2"}},
		{"a lost host counts for no node", []hosts.Host{of("h1", "m", "", lost), of("h2", "w-1", "w")}, nil},
		{"a released host counts for no node", []hosts.Host{of("h1", "m", "", released), of("h2", "w-1", "w")}, nil},
		{"a node of a set with the name of a slot", []hosts.Host{of("h1", "m", "x"), of("h2", "w-1", "w")}, nil},
		{"held for no node any more", []hosts.Host{of("h1", "m", ""), of("h2", "w-1", "w"), of("h3", "", ""), of("h4", "w-2", "w", released)}, map[string]string{"h1": "m", "h2": "w-1"}},
	} {
		got := Due([]string{"m"}, sets, tc.held)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	leaving := func(h *hosts.Host) { released(h); h.Leaving = true }
	given := GivenUp([]hosts.Host{of("h1", "m", ""), of("h2", "", "", released), of("h3", "", "", leaving)})
	if len(given) != 1 || given[0].Name != "h2" {
		t.Errorf("given up: %v; want h2", given)
	}
}

func TestOffline(t *testing.T) {
	off := func(h *hosts.Host) { h.Offline = true }
	imaged := func(h *hosts.Host) { h.Imaged = true }
	installed := func(h *hosts.Host) { h.Bare = false }
	got := Offline([]hosts.Host{
		of("on", "m", "", installed), of("off", "m", "", installed, off), of("no-node", "", "", installed, off), of("gets-an-image", "m", "", off), of("imaged", "m", "", imaged, off),
	})
	if diff := cmp.Diff([]string{"off", "imaged"}, got); diff != "" {
		t.Errorf("Offline (-want +got):\n%s", diff)
	}
}
