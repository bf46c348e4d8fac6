package assign

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/shrink"
)

// Packages assign and shrink both choose which nodes leave a set. If no node has pods, they choose
// the same ones.
func TestShrinkAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 300 {
		n := 1 + random.IntN(7)
		removal := contract.SetRemoval{Name: "w", Count: random.IntN(n)}
		var all []hosts.Host
		for i := 1; i <= n; i++ {
			domain, trouble := string(rune('a'+random.IntN(3))), random.IntN(4) == 0
			h := host(i, 1, 1, running("w", i), in(domain))
			if trouble {
				h.Trouble = "powered off"
			}
			all = append(all, h)
			removal.Candidates = append(removal.Candidates, contract.Candidate{Node: h.Node, Domain: domain, Trouble: trouble})
		}
		assignment, err := Assign(askSets(nodeSet("w", n-removal.Count, 0, over(rack, 1), softly)), all)
		if err != nil {
			t.Fatal(err)
		}
		want := shrink.Choose(removal, nil)
		slices.Sort(want)
		var got []string
		for _, h := range all {
			if !slices.ContainsFunc(assignment, func(p Placed) bool { return p.Node == h.Node }) {
				got = append(got, h.Node)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%+v (-shrink +assign):\n%s", removal, diff)
		}
	}
}
