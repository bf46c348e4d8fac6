package assign

import (
	"github.com/akraino-icn/bpa/pkg/hosts"
	"slices"
)

// obstacle is the first thing that keeps a host from a place.
type obstacle int

const (
	nothing obstacle = iota
	held
	lost
	unfit // Host.Unusable says why
	bare
	settled
	retired
	pinnedElsewhere // another node is pinned to it
	lacking         // shortfall says of what
	noIP            // Host.unreachable says why
)

// barred is what keeps a host from any place, however little is asked. Trouble of a host that we hold and that is not installed yet makes
// room for another; installed hosts are settled before anybody asks here.
func (w *world) barred(h int) obstacle {
	switch host := w.hosts[h]; {
	case host.Holder != nil && !w.me.Holds(*host):
		return held
	case host.Unusable != "":
		return unfit
	case host.Lost:
		return lost
	case host.Bare && w.request.OSImage == nil:
		return bare
	case w.settledIn[h] != none:
		return settled
	}
	return nothing
}

// obstacle is what keeps a host from the places of a bin, apart from a pin.
func (w *world) obstacle(b *bin, h int) obstacle {
	if o := w.barred(h); o != nothing {
		return o
	}
	switch host := w.hosts[h]; {
	case w.pinned.has(h) && !slices.Contains(b.pins, h):
		return pinnedElsewhere
	case b.set != nil && w.retiredFrom[h] == b.set:
		return retired
	case !meets(b.needs, host):
		return lacking
	case host.Unreachable(b.mac, &w.request) != "":
		return noIP
	}
	return nothing
}

// words write an obstacle so that it completes "host-1 is ..." and "3 hosts: 2 ..."; empty if there is none.
func (w *world) words(o obstacle, b *bin, host *hosts.Host) string {
	switch o {
	case held:
		return "held by others"
	case lost:
		return "lost"
	case unfit:
		return host.Unusable
	case bare:
		return "without an operating system (the request brings no OS image)"
	case settled:
		return "installed already"
	case retired:
		return "about to leave the set"
	case pinnedElsewhere:
		return "pinned to other nodes"
	case lacking:
		return shortfall(b.needs, host)
	case noIP:
		return host.Unreachable(b.mac, &w.request)
	}
	return ""
}
