package assign

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/hosts"
)

// obstacle is the first thing that keeps a host from a place.
type obstacle int

const (
	noObstacle obstacle = iota
	held
	lost
	unfit // Host.Unusable says why
	bare
	fixed
	retired
	pinnedElsewhere // another node is pinned to it
	lacking         // shortfall says of what
	noIP            // Host.unreachable says why
)

// barred is what keeps a host from any place, however little is asked. Trouble of a host that we hold and that is not installed yet makes
// capacity for another; installed hosts are settled before anybody asks here.
func (w *work) hostObstacle(h int) obstacle {
	switch host := w.hosts[h]; {
	case host.Holder != nil && !w.me.Holds(*host):
		return held
	case host.Unusable != "":
		return unfit
	case host.Lost:
		return lost
	case host.Bare && w.request.OSImage == nil:
		return bare
	case w.fixedIn[h] != none:
		return fixed
	}
	return noObstacle
}

// obstacle is what keeps a host from the places of a bin, apart from a pin.
func (w *work) obstacle(c *class, h int) obstacle {
	if o := w.hostObstacle(h); o != noObstacle {
		return o
	}
	switch host := w.hosts[h]; {
	case w.pinned.has(h) && !slices.Contains(c.pins, h):
		return pinnedElsewhere
	case c.set != nil && w.retiredFrom[h] == c.set:
		return retired
	case !meets(c.needs, host):
		return lacking
	case host.Unreachable(c.mac, &w.request) != "":
		return noIP
	}
	return noObstacle
}

// words write an obstacle so that it completes "host-1 is ..." and "3 hosts: 2 ..."; empty if there is none.
func (w *work) words(o obstacle, c *class, host *hosts.Host) string {
	switch o {
	case held:
		return "held by others"
	case lost:
		return "lost"
	case unfit:
		return host.Unusable
	case bare:
		return "without an operating system (the request brings no OS image)"
	case fixed:
		return "installed already"
	case retired:
		return "about to leave the set"
	case pinnedElsewhere:
		return "pinned to other nodes"
	case lacking:
		return shortfall(c.needs, host)
	case noIP:
		return host.Unreachable(c.mac, &w.request)
	}
	return ""
}
