package assign

import (
	"cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// cost is the cost of one or more hosts. Costs are compared component by component; the first
// component in which they differ decides.
type cost [6]int64

// Components of a cost. Each is a number of hosts, or the sum of a property of the hosts.
const (
	costTrouble = iota // hosts that are powered off or being serviced
	costForeign        // hosts that count in costTrouble and that the Provisioning does not hold
	costOtherOS        // hosts with another operating system than the one that the request names
	costSpecial        // number of features SR-IOV and QAT; hosts with them are kept for nodes that need them
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

// costOfNeeds returns the cost of a host that has exactly what the needs require.
func costOfNeeds(n *contract.Needs) cost {
	return cost{costSpecial: int64(count(n.SRIOV, n.QAT)), costSize: size(n.CPU, n.Memory)}
}

func (c cost) compare(d cost) int {
	for i := range c {
		if c[i] != d[i] {
			return cmp.Compare(c[i], d[i])
		}
	}
	return 0
}

func (c cost) plus(d cost) cost {
	for i := range c {
		c[i] += d[i]
	}
	return c
}

// count returns how many of the values are true.
func count(all ...bool) int {
	n := 0
	for _, is := range all {
		if is {
			n++
		}
	}
	return n
}

// size combines threads and bytes of memory into one number. One thread counts as much as 4Gi,
// which is the usual ratio in servers.
func size(cpu int, memory int64) int64 {
	return int64(cpu)<<32 + memory
}
