package assign

import (
	"math"
	"strconv"
	"strings"
)

// number is the number of a set's node by its name: workers-3 is 3 of set workers. It is 0 if the name is none of the set.
func number(set, node string) int {
	rest, found := strings.CutPrefix(node, set+"-")
	n, err := strconv.Atoi(rest)
	if !found || err != nil || n < 1 || strconv.Itoa(n) != rest {
		return 0
	}
	return n
}

// numberOf is the number of a held host in its set; those without one come last.
func (w *work) numberOf(h int) int {
	if n := number(w.hosts[h].Set, w.hosts[h].Node); n > 0 {
		return n
	}
	return math.MaxInt
}

// namer gives the nodes of sets their names. The name of a held host is not given to another, even if the host is lost: its node may still be
// known to the cluster.
type namer struct {
	taken map[string]bool
}

func (w *work) namer() namer {
	n := namer{map[string]bool{}}
	for _, slot := range w.request.Slots {
		n.taken[slot.Name] = true
	}
	for _, node := range w.request.Lost {
		n.taken[node] = true
	}
	for _, host := range w.hosts {
		if w.me.Holds(*host) {
			n.taken[host.Node] = true
		}
	}
	return n
}

// next is the name of a set with the lowest number that is free.
func (n namer) next(set string) string {
	for i := 1; ; i++ {
		if name := set + "-" + strconv.Itoa(i); !n.taken[name] {
			n.taken[name] = true
			return name
		}
	}
}
