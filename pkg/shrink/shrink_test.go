package shrink_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/shrink"
)

// workers returns a removal of count nodes from a set of n nodes, worker-1 to worker-n.
func workers(n, count int) contract.SetRemoval {
	set := contract.SetRemoval{Name: "worker", Count: count}
	for i := range n {
		set.Candidates = append(set.Candidates, contract.Candidate{Node: fmt.Sprintf("worker-%d", i+1)})
	}
	return set
}

// in puts the candidates of a set into domains, in their order.
func in(set contract.SetRemoval, domains ...string) contract.SetRemoval {
	for i, domain := range domains {
		set.Candidates[i].Domain = domain
	}
	return set
}

func trouble(set contract.SetRemoval, nodes ...string) contract.SetRemoval {
	for i, c := range set.Candidates {
		set.Candidates[i].Trouble = slices.Contains(nodes, c.Node)
	}
	return set
}

func TestChoose(t *testing.T) {
	for name, tc := range map[string]struct {
		set  contract.SetRemoval
		pods map[string]int
		want []string
	}{
		"nothing":                       {set: workers(3, 0)},
		"the highest number":            {set: workers(11, 2), want: []string{"worker-11", "worker-10"}},
		"the emptiest":                  {set: workers(3, 2), pods: map[string]int{"worker-1": 1, "worker-2": 7, "worker-3": 2}, want: []string{"worker-1", "worker-3"}},
		"trouble before pods":           {set: trouble(workers(3, 2), "worker-2"), pods: map[string]int{"worker-2": 9, "worker-3": 3}, want: []string{"worker-2", "worker-1"}},
		"trouble before the domain":     {set: trouble(in(workers(3, 1), "a", "a", "b"), "worker-3"), want: []string{"worker-3"}},
		"the fullest domain":            {set: in(workers(3, 1), "a", "a", "b"), pods: map[string]int{"worker-1": 3, "worker-2": 4}, want: []string{"worker-1"}},
		"the domains are counted again": {set: in(workers(5, 3), "a", "a", "a", "b", "b"), want: []string{"worker-3", "worker-5", "worker-2"}},
		"trouble makes a domain emptier": {set: trouble(in(workers(4, 2), "a", "a", "b", "b"), "worker-1"), pods: map[string]int{"worker-3": 5, "worker-4": 5},
			want: []string{"worker-1", "worker-4"}},
		"more than there are": {set: workers(2, 5), want: []string{"worker-2", "worker-1"}},
		"a node without a number": {set: contract.SetRemoval{Name: "worker", Count: 1, Candidates: []contract.Candidate{{Node: "worker-9"}, {Node: "worker-x"}}},
			want: []string{"worker-x"}},
		"a number with zeros": {set: contract.SetRemoval{Name: "worker", Count: 1, Candidates: []contract.Candidate{{Node: "worker-9"}, {Node: "worker-01"}}},
			want: []string{"worker-01"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, shrink.Choose(tc.set, tc.pods)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLeaving(t *testing.T) {
	cluster := func(names ...string) (i contract.Installed) {
		for _, name := range names {
			i.Nodes = append(i.Nodes, contract.Node{Name: name})
		}
		return i
	}
	three := cluster("master-1", "worker-1", "worker-2", "worker-3", "db")
	begun := cluster("master-1", "worker-1", "worker-2", "worker-3", "db")
	begun.Leaving = []string{"worker-1"}
	for name, tc := range map[string]struct {
		removal   contract.Removal
		installed contract.Installed
		want      []string
	}{
		"by name":                           {contract.Removal{Nodes: []string{"worker-2", "worker-1"}}, three, []string{"worker-2", "worker-1"}},
		"not in the cluster, but by name":   {contract.Removal{Nodes: []string{"worker-9"}}, three, []string{"worker-9"}},
		"by name, then of a set":            {contract.Removal{Nodes: []string{"db"}, Sets: []contract.SetRemoval{workers(3, 1)}}, three, []string{"db", "worker-3"}},
		"the removal of a node was begun":   {contract.Removal{Sets: []contract.SetRemoval{workers(3, 1)}}, begun, []string{"worker-1"}},
		"begun, and one more":               {contract.Removal{Sets: []contract.SetRemoval{workers(3, 2)}}, begun, []string{"worker-1", "worker-3"}},
		"begun, and nothing is to leave":    {contract.Removal{}, begun, []string{"worker-1"}},
		"begun, and named":                  {contract.Removal{Nodes: []string{"db", "worker-1"}}, begun, []string{"worker-1", "db"}},
		"an earlier attempt removed a node": {contract.Removal{Sets: []contract.SetRemoval{workers(4, 2)}}, three, []string{"worker-3"}},
		"an earlier attempt removed all":    {contract.Removal{Sets: []contract.SetRemoval{workers(5, 2)}}, three, nil},
		"a candidate is named":              {contract.Removal{Nodes: []string{"worker-1"}, Sets: []contract.SetRemoval{workers(3, 1)}}, three, []string{"worker-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, shrink.Leaving(tc.removal, tc.installed, nil)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestRandomSets checks the properties of Choose and Leaving on random sets.
func TestRandomSets(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		set, pods := workers(1+random.IntN(9), 0), map[string]int{}
		for i := range set.Candidates {
			c := &set.Candidates[i]
			c.Domain, c.Trouble, pods[c.Node] = string(rune('a'+random.IntN(3))), random.IntN(4) == 0, random.IntN(4)
		}
		set.Count = random.IntN(len(set.Candidates) + 1)
		leaving := shrink.Choose(set, pods)
		if len(leaving) != set.Count {
			t.Fatalf("%d of %d nodes leave %+v", len(leaving), set.Count, set)
		}
		checkOrder(t, set, pods, leaving)
		shuffled := set
		shuffled.Candidates = slices.Clone(set.Candidates)
		random.Shuffle(len(shuffled.Candidates), func(i, j int) {
			shuffled.Candidates[i], shuffled.Candidates[j] = shuffled.Candidates[j], shuffled.Candidates[i]
		})
		if again := shrink.Choose(shuffled, pods); !slices.Equal(leaving, again) {
			t.Fatalf("%v, but in another order of the candidates %v", leaving, again)
		}
		checkAttempts(t, random, set, pods)
	}
}

// checkOrder checks each choice alone: no node that stays would have been a better one.
func checkOrder(t *testing.T, set contract.SetRemoval, pods map[string]int, leaving []string) {
	t.Helper()
	stay := slices.Clone(set.Candidates)
	for _, name := range leaving {
		size := map[string]int{}
		for _, c := range stay {
			size[c.Domain]++
		}
		i := slices.IndexFunc(stay, func(c contract.Candidate) bool { return c.Node == name })
		if i < 0 {
			t.Fatalf("%s leaves twice or is no candidate", name)
		}
		left := stay[i]
		stay = slices.Delete(stay, i, i+1)
		for _, c := range stay {
			better := c.Trouble && !left.Trouble
			if c.Trouble == left.Trouble {
				better = size[c.Domain] > size[left.Domain] || size[c.Domain] == size[left.Domain] && pods[c.Node] < pods[name]
			}
			if better {
				t.Fatalf("%s leaves before %s: domains %v, pods %v, %+v", name, c.Node, size, pods, set)
			}
		}
	}
}

// checkAttempts repeats a removal after each of its nodes has left, or has begun to leave, while
// the numbers of pods change. In the end, exactly the requested number of nodes has left.
func checkAttempts(t *testing.T, random *rand.Rand, set contract.SetRemoval, pods map[string]int) {
	t.Helper()
	var cluster contract.Installed
	for _, c := range set.Candidates {
		cluster.Nodes = append(cluster.Nodes, contract.Node{Name: c.Node})
	}
	removal := contract.Removal{Sets: []contract.SetRemoval{set}}
	for attempt := 0; ; attempt++ {
		leaving := shrink.Leaving(removal, cluster, pods)
		if gone := len(set.Candidates) - len(cluster.Nodes); gone+len(leaving) != set.Count {
			t.Fatalf("attempt %d: %d of %d nodes have left, and %v are to leave", attempt, gone, set.Count, leaving)
		}
		if len(leaving) == 0 {
			return
		}
		cluster.Leaving = nil
		if attempt%2 == 0 {
			cluster.Leaving = leaving
		} else {
			cluster.Nodes = slices.DeleteFunc(cluster.Nodes, func(n contract.Node) bool { return n.Name == leaving[0] })
		}
		for name := range pods {
			pods[name] = random.IntN(4)
		}
	}
}
