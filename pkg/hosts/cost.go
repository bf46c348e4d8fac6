package hosts

import (
	"cmp"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// cost of a host: rather one without special hardware, rather a small one, at equal rest rather one that has an operating system already.
type cost struct {
	special int
	size    int64
	bare    int
}

func costOf(h *Host) cost {
	c := cost{special: count(h.SRIOV, h.QAT), size: size(h.CPU, h.Memory)}
	if h.Bare {
		c.bare = 1
	}
	return c
}

// costOfNeeds is that of the cheapest host that could meet the needs.
func costOfNeeds(n *contract.Needs) cost {
	return cost{special: count(n.SRIOV, n.QAT), size: size(n.CPU, n.Memory)}
}

func (c cost) compare(d cost) int {
	return cmp.Or(cmp.Compare(c.special, d.special), cmp.Compare(c.size, d.size), cmp.Compare(c.bare, d.bare))
}

func (c cost) plus(d cost) cost {
	return cost{c.special + d.special, c.size + d.size, c.bare + d.bare}
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
