package assign

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

const (
	rack       = "rack"
	namedImage = "http://site/debian.qcow2"
)

func randomHost(r *rand.Rand, n int) hosts.Host {
	h := host(n+1, 1+r.IntN(4), int64(1+r.IntN(4)))
	h.SRIOV, h.QAT, h.Bare = r.IntN(4) == 0, r.IntN(4) == 0, r.IntN(8) == 0
	if r.IntN(5) > 0 {
		h.Labels = map[string]string{rack: "r" + strconv.Itoa(r.IntN(3))}
	}
	switch r.IntN(8) {
	case 0:
		heldBy("edge-2", "a")(&h)
	case 1:
		heldBy("edge-1", string(rune('a'+r.IntN(4))))(&h)
	case 2, 3:
		name := string(rune('s' + r.IntN(2)))
		heldBy("edge-1", fmt.Sprintf("%s-%d", name, n+1))(&h)
		h.Set, h.Standby = name, r.IntN(3) == 0
	}
	if me.Holds(h) && !h.Standby {
		h.Installed = r.IntN(3) == 0
	}
	if r.IntN(8) == 0 {
		h.Unusable = "paused"
	}
	h.Lost = r.IntN(16) == 0
	if !h.Bare && r.IntN(3) > 0 {
		h.Image = namedImage
	}
	if r.IntN(5) == 0 {
		h.Trouble = "powered off"
	}
	switch r.IntN(16) {
	case 0:
		h.UsedBy = contract.User{Namespace: "site", Name: "edge-1", UID: "another"}
	case 1:
		h.UsedBy = contract.User{Namespace: "site", Name: "edge-1", UID: "edge-1-uid"}
	}
	return h
}

func randomNeeds(r *rand.Rand) contract.Needs {
	n := contract.Needs{CPU: r.IntN(3), Memory: int64(r.IntN(4)) * Gi, SRIOV: r.IntN(9) == 0, QAT: r.IntN(9) == 0}
	if r.IntN(6) == 0 {
		n.Labels = []contract.LabelTerm{{Key: rack, Operator: "NotIn", Values: []string{"r1"}}}
	}
	return n
}

func randomSite(r *rand.Rand) (contract.Request, []hosts.Host) {
	var all []hosts.Host
	for n := range 2 + r.IntN(6) {
		all = append(all, randomHost(r, n))
	}
	request := ask()
	request.UID = "edge-1-uid"
	if r.IntN(2) == 0 {
		request.OSImage = &contract.OSImage{URL: namedImage}
	}
	for n := range r.IntN(3) {
		s := slot(string(rune('a'+n)), 0, 0)
		s.Needs = randomNeeds(r)
		if n > 0 && r.IntN(3) == 0 {
			s.Needs = request.Slots[0].Needs
		}
		if r.IntN(4) == 0 {
			s.MAC = pinned("", 1+r.IntN(7)).MAC
		}
		request.Slots = append(request.Slots, s)
	}
	for n := range r.IntN(3) {
		s := contract.Set{Name: string(rune('s' + n)), Active: r.IntN(4), Standby: r.IntN(2), Needs: randomNeeds(r)}
		if r.IntN(2) == 0 {
			s.Spread = &contract.Spread{TopologyKey: rack, MaxSkew: 1 + r.IntN(2), Soft: r.IntN(4) == 0}
		}
		request.Sets = append(request.Sets, s)
	}
	return request, all
}

// randomSites returns the number of random sites that a test checks: n, multiplied by the
// environment variable BPA_WORLDS if it is set.
func randomSites(n uint64) uint64 {
	if more, err := strconv.ParseUint(os.Getenv("BPA_WORLDS"), 10, 64); err == nil {
		return n * more
	}
	return n
}
