package hosts

import "github.com/akraino-icn/bpa/pkg/tasks/contract"

// obstacle is the first thing that keeps a host from filling a slot, apart from the slot's pin.
type obstacle int

const (
	nothing obstacle = iota
	held
	unfit   // Host.Unusable says why
	lacking // shortfall says of what
	noIP
)

// fits reports whether a slot may get a host, were the host free.
func (w *world) fits(s, h int) bool {
	if w.slots[s].MAC != "" && (len(w.pins[s]) != 1 || w.pins[s][0] != h) {
		return false
	}
	return w.obstacle(s, h) == nothing
}

func (w *world) obstacle(s, h int) obstacle {
	slot, host := &w.slots[s], &w.hosts[h]
	switch {
	case host.Holder != nil && !w.me.Holds(*host):
		return held
	case host.Unusable != "":
		return unfit
	case shortfall(&slot.Needs, host) != "":
		return lacking
	case !host.Address(slot.MAC, w.access).IsValid():
		return noIP
	}
	return nothing
}

// of writes an obstacle so that it completes "host-1 is ..." and "3 hosts: 2 ..."; empty if there is none.
func (o obstacle) of(slot contract.Slot, host Host) string {
	switch o {
	case held:
		return "held by others"
	case unfit:
		return host.Unusable
	case lacking:
		return shortfall(&slot.Needs, &host)
	case noIP:
		return "without an IP address"
	}
	return ""
}
