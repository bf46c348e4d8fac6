package assign

import (
	"math"
	"strconv"
	"strings"
)

// number returns the number in the name of a node of a set, such as 3 for node workers-3 of set
// workers. It returns 0 if the name is not a name of this set's nodes.
func number(set, node string) int {
	rest, found := strings.CutPrefix(node, set+"-")
	n, err := strconv.Atoi(rest)
	if !found || err != nil || n < 1 || strconv.Itoa(n) != rest {
		return 0
	}
	return n
}

// numberOf returns the number of a held host in its set. For a host without a number, it returns a
// number above all others, so that the host is sorted last.
func (w *work) numberOf(h int) int {
	if n := number(w.hosts[h].Set, w.hosts[h].Node); n > 0 {
		return n
	}
	return math.MaxInt
}

// namer gives names to the new nodes of sets. It never uses the node name of a held host again,
// even if the host is lost, because the cluster may still have a node with this name.
type namer struct {
	taken map[string]bool
	last  map[string]int // per set: the number in the name that was given last
}

func (w *work) namer() namer {
	n := namer{map[string]bool{}, map[string]int{}}
	for _, slot := range w.request.Slots {
		n.taken[slot.Name] = true
	}
	for _, node := range w.request.Lost {
		n.taken[node] = true
	}
	for _, node := range w.request.Members { // a lost node may have no host and no slot
		n.taken[node.Name] = true
	}
	for _, host := range w.hosts {
		if w.me.Holds(*host) {
			n.taken[host.Node] = true
		}
	}
	return n
}

// next returns the name with the lowest free number in a set.
func (n namer) next(set string) string {
	for i := n.last[set] + 1; ; i++ {
		if name := set + "-" + strconv.Itoa(i); !n.taken[name] {
			n.taken[name], n.last[set] = true, i
			return name
		}
	}
}
