package shrink

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Leaving returns the names of all nodes that a removal takes out of the cluster, in the order in
// which they leave: first the nodes that an earlier run has begun to remove, then those that the
// removal names, then those that are chosen from its sets. pods has the number of pods on each node
// that would have to move to another node; without an entry, a node has none.
//
// An earlier attempt of the same removal may have removed some nodes already. Such a node, and one
// that leaves for another reason, counts as one of the nodes by which its set becomes smaller.
func Leaving(removal contract.Removal, installed contract.Installed, pods map[string]int) []string {
	var leaving []string
	add := func(names ...string) {
		for _, name := range names {
			if !slices.Contains(leaving, name) {
				leaving = append(leaving, name)
			}
		}
	}
	add(installed.Leaving...)
	add(removal.Nodes...)
	for _, set := range removal.Sets {
		left := slices.DeleteFunc(slices.Clone(set.Candidates), func(c contract.Candidate) bool {
			return slices.Contains(leaving, c.Node) || !isMember(installed, c.Node)
		})
		set.Count -= len(set.Candidates) - len(left)
		set.Candidates = left
		add(Choose(set, pods)...)
	}
	return leaving
}

func isMember(installed contract.Installed, name string) bool {
	return slices.ContainsFunc(installed.Nodes, func(n contract.Node) bool { return n.Name == name })
}

// Choose returns the names of the nodes that leave one set, in the order in which they leave. pods
// is as in Leaving. If the count is larger than the number of candidates, all of them leave.
func Choose(set contract.SetRemoval, pods map[string]int) []string {
	var leaving []string
	stay := slices.Clone(set.Candidates)
	for len(leaving) < set.Count && len(stay) > 0 {
		sizes := map[string]int{} // of the domains, without the nodes that have left
		for _, c := range stay {
			sizes[c.Domain]++
		}
		next := slices.IndexFunc(stay, func(c contract.Candidate) bool {
			return !slices.ContainsFunc(stay, func(other contract.Candidate) bool { return order(set.Name, other, c, sizes, pods) < 0 })
		})
		leaving = append(leaving, stay[next].Node)
		stay = slices.Delete(stay, next, next+1)
	}
	return leaving
}

// order returns a negative number if a leaves its set before b.
func order(set string, a, b contract.Candidate, sizes, pods map[string]int) int {
	trouble := func(c contract.Candidate) int {
		if c.Trouble {
			return 1
		}
		return 0
	}
	return cmp.Or(
		-cmp.Compare(trouble(a), trouble(b)),
		-cmp.Compare(sizes[a.Domain], sizes[b.Domain]),
		cmp.Compare(pods[a.Node], pods[b.Node]),
		-cmp.Compare(number(set, a.Node), number(set, b.Node)),
		-cmp.Compare(a.Node, b.Node),
	)
}

// number returns the number at the end of a node's name. A node without a number leaves before
// those with one, as in package assign.
func number(set, node string) int {
	digits, found := strings.CutPrefix(node, set+"-")
	n, err := strconv.Atoi(digits)
	if !found || err != nil || n < 1 || strconv.Itoa(n) != digits {
		return math.MaxInt
	}
	return n
}
