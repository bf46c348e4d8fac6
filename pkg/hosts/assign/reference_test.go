package assign

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// reference finds the best assignment by brute force: it tries to put every host into every place
// that it fits. Tests compare it with Assign, which uses a matching. It takes three things from
// work: the fixed hosts, the hosts that leave a set which became smaller, and the places that may
// stay empty. It finds in its own way which hosts fit, and which hosts the pinned slots do not
// need.
type reference struct {
	*work
	strict   bool   // soft spreads must be met, too
	left     []bool // per host: whether the pinned slots do not need it
	places   []int
	in       []int // per host: class or none
	occupied []int // per class
	best     *score
	kept     int
	off      int // fewest hosts in trouble among the assignments that keep as many hosts as best
}

func newReference(w *work, places []int, strict bool) *reference {
	unpinned := *w
	unpinned.pinned = newSet(len(w.hosts))
	t := &reference{work: &unpinned, places: places, strict: strict, in: slices.Repeat([]int{none}, len(w.hosts)), occupied: make([]int, len(w.classes))}
	t.left = t.leftByPins()
	t.put(0, sum(places))
	return t
}

func (t *reference) put(h, left int) {
	if left > len(t.hosts)-h {
		return
	}
	if h == len(t.hosts) {
		t.check()
		return
	}
	for b := range t.classes {
		if t.occupied[b] == t.places[b] || !t.mayTake(b, h) {
			continue
		}
		t.in[h] = b
		t.occupied[b]++
		t.put(h+1, left-1)
		t.occupied[b]--
		t.in[h] = none
	}
	t.put(h+1, left)
}

func (t *reference) check() {
	for b, class := range t.classes {
		if s := class.spread(); s != nil && t.places[b] > 0 && (!s.Soft || t.strict) && !t.spreadWell(b, s) {
			return
		}
	}
	s, kept, off := score{}, 0, 0
	for h, b := range t.in {
		switch {
		case b == none:
		case t.me.Holds(*t.hosts[h]) && (t.hosts[h].Trouble == "" || t.hosts[h].Installed):
			kept++
		default:
			s.cost = s.cost.plus(t.costOf(h))
			off += count(t.hosts[h].Trouble != "")
		}
	}
	if t.best == nil || kept > t.kept || kept == t.kept && off < t.off {
		t.off = off
	}
	if t.best == nil || kept > t.kept || kept == t.kept && s.cost.compare(t.best.cost) < 0 {
		t.best, t.kept = &s, kept
	}
}

// spreadWell reports whether the hosts are spread as required: a domain with a new host may have at
// most skew hosts more than the emptiest domain.
func (t *reference) spreadWell(b int, s *contract.Spread) bool {
	total, unheldHosts := map[string]int{}, map[string]int{}
	for h, host := range t.hosts {
		domain, labelled := host.Labels[s.TopologyKey]
		switch {
		case t.in[h] == b && !labelled:
			return false
		case !labelled:
		case t.in[h] == b:
			total[domain]++
			unheldHosts[domain]++
		case t.fixedIn[h] == b:
			total[domain]++
		case t.mayTake(b, h):
			total[domain] += 0
		}
	}
	emptiest := len(t.hosts)
	for _, n := range total {
		emptiest = min(emptiest, n)
	}
	for domain, n := range unheldHosts {
		if n > 0 && total[domain]-emptiest > max(1, s.MaxSkew) {
			return false
		}
	}
	return true
}

// placesOf returns the number of places per class. If spare is false, places that may stay empty do
// not count.
func placesOf(w *work, spare bool) []int {
	var places []int
	for _, c := range w.classes {
		n := c.places
		if !spare {
			n -= c.spare
		}
		places = append(places, n)
	}
	return places
}

// TestAssignAgreesWithReference checks four properties. Assign finds an assignment if and only if
// one exists. The assignment keeps as many held hosts as possible. It has the lowest cost of those
// that do. The order of the hosts makes no difference.
func TestAssignAgreesWithReference(t *testing.T) {
	found, short, uneven, n := 0, 0, 0, randomSites(60000)
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 5))
		request, all := randomSite(r)
		w := newWork(request, slices.Clone(all))
		full, loose := newReference(w, placesOf(w, true), true), newReference(w, placesOf(w, true), false)
		must := loose
		if loose.best == nil {
			must = newReference(w, placesOf(w, false), false)
		}
		got, err := Assign(request, all)
		var nofit *NoFit
		if err != nil && !errors.As(err, &nofit) || (err == nil) != (must.best != nil) {
			t.Fatalf("seed %d: Assign = %v, %v, but an assignment exists: %t", seed, got, err, must.best != nil)
		}
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		again, errAgain := Assign(request, all)
		if diff := cmp.Diff(got, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("seed %d: the order of the hosts changes the answer (-first +again):\n%s%v\n%v", seed, diff, err, errAgain)
		}
		if err != nil {
			if nofit.GaveUp || len(err.Error()) > mostText {
				t.Fatalf("seed %d: %d bytes: %v", seed, len(err.Error()), err)
			}
			continue
		}
		found++
		kept, sum := checkPlaced(t, seed, w, got)
		missing := len(got.MissingStandby(request))
		switch {
		case loose.best == nil && missing > 0:
			short++
		case loose.best == nil || missing > 0:
			t.Fatalf("seed %d: it lacks standby hosts of %d sets: %v", seed, missing, got)
		case full.best == nil || full.kept < loose.kept:
			if uneven++; kept != loose.kept {
				t.Fatalf("seed %d: keeps %d hosts; the reference keeps %d\n%v", seed, kept, loose.kept, got)
			}
		case kept != full.kept || sum.compare(full.best.cost) != 0:
			t.Fatalf("seed %d: keeps %d hosts and costs %v; the reference keeps %d and costs %v\n%v", seed, kept, sum, full.kept, full.best.cost, got)
		case inTrouble(w, got) != full.off:
			t.Fatalf("seed %d: chooses %d hosts in trouble; %d are enough\n%v", seed, inTrouble(w, got), full.off, got)
		}
	}
	if found < int(n)/10 || found > int(n)*9/10 || short < 100 || uneven < 100 {
		t.Errorf("%d of %d sites have an assignment, %d of them without all standby hosts, %d uneven: the random sites cover too little", found, n, short, uneven)
	}
}

// inTrouble returns the number of assigned hosts that are in trouble and not installed.
func inTrouble(w *work, got Assignment) int {
	n := 0
	for _, p := range got {
		h := slices.IndexFunc(w.hosts, func(h *hosts.Host) bool { return h.Name == p.Host })
		n += count(w.hosts[h].Trouble != "" && !w.hosts[h].Installed)
	}
	return n
}

// checkPlaced checks the properties of every assignment. It returns the number of preferred held
// hosts that are kept, and the cost of the other hosts.
func checkPlaced(t *testing.T, seed uint64, w *work, got Assignment) (kept int, sum cost) {
	t.Helper()
	byName, nodes := map[string]bool{}, map[string]bool{}
	for _, p := range got {
		h := slices.IndexFunc(w.hosts, func(h *hosts.Host) bool { return h.Name == p.Host })
		host := w.hosts[h]
		if byName[p.Host] || nodes[p.Node] {
			t.Fatalf("seed %d: a host or a node is there twice: %v", seed, got)
		}
		byName[p.Host], nodes[p.Node] = true, true
		b := slices.IndexFunc(w.classes, func(c *class) bool {
			return c.set != nil && c.set.Name == p.Set || c.set == nil && p.Set == "" && slices.ContainsFunc(c.slots, func(s int) bool { return w.request.Slots[s].Name == p.Node })
		})
		stays := w.me.Holds(*host) && host.Set == p.Set && p.Set != ""
		switch {
		case w.fixedIn[h] == b && host.Node == p.Node && !p.Standby:
			continue
		case w.fixedIn[h] != none || w.obstacle(w.classes[b], h) != noObstacle:
			t.Fatalf("seed %d: %s is given %s, which is not for it: %v", seed, p.Node, p.Host, got)
		case host.UsedBy.UID == "another" && !host.Bare:
			t.Fatalf("seed %d: %s is given %s, which another cluster uses: %v", seed, p.Node, p.Host, got)
		case stays && host.Node != p.Node:
			t.Fatalf("seed %d: %s was %s and is %s", seed, p.Host, host.Node, p.Node)
		case stays && !host.Standby && p.Standby:
			t.Fatalf("seed %d: %s was active and is a standby: %v", seed, p.Host, got)
		}
		if w.me.Holds(*host) && (host.Trouble == "" || host.Installed) {
			kept++
		} else {
			sum = sum.plus(w.costOf(h))
		}
	}
	checkRoles(t, seed, w, got)
	for h, class := range w.fixedIn {
		if class != none && !byName[w.hosts[h].Name] {
			t.Fatalf("seed %d: installed host %s lost its place", seed, w.hosts[h].Name)
		}
	}
	return kept, sum
}

// checkRoles checks that every set has its active nodes. It also checks that no new host is active
// while a held host without trouble is a standby of the same set.
func checkRoles(t *testing.T, seed uint64, w *work, got Assignment) {
	t.Helper()
	for _, s := range w.request.Sets {
		actives, fresh, waiting := 0, false, false
		for _, p := range got {
			host := w.hosts[slices.IndexFunc(w.hosts, func(h *hosts.Host) bool { return h.Name == p.Host })]
			ours := w.me.Holds(*host) && host.Set == s.Name
			switch {
			case p.Set != s.Name:
			case !p.Standby:
				actives++
				fresh = fresh || !ours
			case ours && host.Trouble == "":
				waiting = true
			}
		}
		if actives != s.Active || fresh && waiting {
			t.Fatalf("seed %d: set %s has %d active nodes, a new one: %t, while a held host is a standby: %t: %v", seed, s.Name, actives, fresh, waiting, got)
		}
	}
}

// TestUnmetIsMinimal checks that the nodes in Unmet cannot all have a host, and that they could if
// any one of them were not wanted.
func TestUnmetIsMinimal(t *testing.T) {
	plain, spread := 0, 0
	for seed := range randomSites(20000) {
		request, all := randomSite(rand.New(rand.NewPCG(seed, 7)))
		_, err := Assign(request, all)
		var nofit *NoFit
		if !errors.As(err, &nofit) {
			continue
		}
		w := newWork(request, all)
		places := make([]int, len(w.classes))
		for _, u := range nofit.Unmet {
			places[slices.IndexFunc(w.classes, func(c *class) bool {
				return u.set && c.set != nil && c.set.Name == u.Slot || !u.set && slices.ContainsFunc(c.slots, func(s int) bool { return request.Slots[s].Name == u.Slot })
			})] += u.Nodes
		}
		if len(nofit.Spread) == 0 {
			plain++
		} else {
			spread++
		}
		for _, c := range w.classes {
			if c.set != nil && !slices.ContainsFunc(nofit.Spread, func(u Uneven) bool { return u.Set == c.set.Name }) {
				c.set.Spread = nil
			}
		}
		if newReference(w, places, false).best != nil {
			t.Fatalf("seed %d: %v\nbut there is an assignment for %v", seed, err, places)
		}
		for b := range places {
			if places[b] == 0 {
				continue
			}
			places[b]--
			if newReference(w, places, false).best == nil {
				t.Fatalf("seed %d: %v\nwith one node less of class %d there is still no assignment", seed, err, b)
			}
			places[b]++
		}
		if len(nofit.Spread) == 0 && len(nofit.Fitting) >= sum(places) {
			t.Fatalf("seed %d: %v\n%d hosts fit %d nodes", seed, err, len(nofit.Fitting), sum(places))
		}
	}
	if plain < 1000 || spread < 50 {
		t.Errorf("%d sites have too few hosts and %d too narrow a spread: the random sites cover too little", plain, spread)
	}
}

// TestAssignIsStable checks that the same request gives the same assignment again after the
// assignment was carried out. It skips cases in which active or installed nodes leave, because
// their hosts are free afterwards and could be chosen.
func TestAssignIsStable(t *testing.T) {
	looked := 0
	for seed := range randomSites(10000) {
		request, all := randomSite(rand.New(rand.NewPCG(seed, 6)))
		first, err := Assign(request, all)
		if err != nil || nodesLeave(newWork(request, all), first) {
			continue
		}
		looked++
		carryOut(all, first)
		second, err := Assign(request, all)
		if diff := cmp.Diff(first, second); err != nil || diff != "" {
			t.Fatalf("seed %d: %v, assignment (-first +second):\n%s", seed, err, diff)
		}
	}
	if looked < 1000 {
		t.Errorf("%d sites have an assignment: the random sites cover too little", looked)
	}
}

func nodesLeave(w *work, first Assignment) bool {
	for h, host := range w.hosts {
		stays := slices.ContainsFunc(first, func(p Placed) bool { return p.Host == host.Name })
		if w.retiredFrom[h] != nil || host.Installed && !stays {
			return true
		}
	}
	return false
}

// carryOut claims the assigned hosts, and releases the other held hosts.
func carryOut(all []hosts.Host, assigned Assignment) {
	for i := range all {
		h := &all[i]
		p := slices.IndexFunc(assigned, func(p Placed) bool { return p.Host == h.Name })
		switch {
		case p >= 0:
			heldBy(me.Name, assigned[p].Node)(h)
			h.Set, h.Standby = assigned[p].Set, assigned[p].Standby
		case me.Holds(*h) && !h.Lost:
			h.Holder, h.Node, h.Set, h.Standby, h.Installed = nil, "", "", false, false
		}
	}
}
