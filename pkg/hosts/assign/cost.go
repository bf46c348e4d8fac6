package assign

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// cost of one host or of several, the weightiest part first.
type cost [6]int64

// The parts of a cost.
const (
	costTrouble = iota // hosts that are powered off or being serviced
	costForeign        // of these, hosts that we do not hold
	costOtherOS        // hosts with another operating system than the one that the request names
	costSpecial        // SR-IOV and QAT, which are left to nodes that need them
	costSize           // see size
	costBare           // hosts that have no operating system yet
)

func (w *work) costOf(h int) cost {
	host := w.hosts[h]
	c := cost{costSpecial: int64(count(host.SRIOV, host.QAT)), costSize: size(host.CPU, host.Memory), costBare: int64(count(host.Bare))}
	if host.Trouble != "" {
		c[costTrouble], c[costForeign] = 1, int64(count(!w.me.Holds(*host)))
	}
	if image := w.request.OSImage; image != nil {
		c[costOtherOS] = int64(count(!host.Bare && host.Image != image.URL))
	}
	return c
}

// costOfNeeds is that of the cheapest host that could meet the needs.
func costOfNeeds(n *contract.Needs) cost {
	return cost{costSpecial: int64(count(n.SRIOV, n.QAT)), costSize: size(n.CPU, n.Memory)}
}

func (c cost) compare(d cost) int { return slices.Compare(c[:], d[:]) }

func (c cost) plus(d cost) cost {
	for i := range c {
		c[i] += d[i]
	}
	return c
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
