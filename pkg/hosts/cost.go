package hosts

import (
	"cmp"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// cost of a host, the weightiest part first: rather a host that is well; of those in trouble rather our own; rather one that has, or gets, the
// operating system that the request names; rather one without special hardware, rather a small one, at equal rest rather one that has its operating
// system already.
type cost struct {
	troubled int
	foreign  int // of the troubled: those that we do not hold
	otherOS  int // an operating system that the request does not name, though it names one
	special  int
	size     int64
	bare     int
}

func (w *world) costOf(h int) cost {
	host := w.hosts[h]
	c := cost{special: count(host.SRIOV, host.QAT), size: size(host.CPU, host.Memory), bare: count(host.Bare)}
	if image := w.request.OSImage; image != nil {
		c.otherOS = count(!host.Bare && host.Image != image.URL)
	}
	if host.Trouble != "" {
		c.troubled, c.foreign = 1, count(!w.me.Holds(*host))
	}
	return c
}

// costOfNeeds is that of the cheapest host that could meet the needs.
func costOfNeeds(n *contract.Needs) cost {
	return cost{special: count(n.SRIOV, n.QAT), size: size(n.CPU, n.Memory)}
}

func (c cost) compare(d cost) int {
	return cmp.Or(cmp.Compare(c.troubled, d.troubled), cmp.Compare(c.foreign, d.foreign), cmp.Compare(c.otherOS, d.otherOS),
		cmp.Compare(c.special, d.special), cmp.Compare(c.size, d.size), cmp.Compare(c.bare, d.bare))
}

func (c cost) plus(d cost) cost {
	return cost{
		troubled: c.troubled + d.troubled, foreign: c.foreign + d.foreign, otherOS: c.otherOS + d.otherOS,
		special: c.special + d.special, size: c.size + d.size, bare: c.bare + d.bare,
	}
}

func count(all ...bool) int {
	n := 0
	for _, is := range all {
		if is {
			n++
		}
	}
	return n
}

// size makes one number of threads and bytes; a thread weighs 4Gi, as they usually come.
func size(cpu int, memory int64) int64 {
	return int64(cpu)<<32 + memory
}
