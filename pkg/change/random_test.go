package change

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
)

// world is an installed cluster with its hosts and its user. It applies steps as the tasks do, and
// lets them fail in the middle.
type world struct {
	*rand.Rand
	State
	hosts int             // number of hosts so far
	runs  map[string]runs // what the nodes really run, by the UIDs of their hosts
	// systems has the patch levels that the operating systems really have, and half those to which a failed
	// patch has begun to bring them, by the UIDs of the hosts.
	systems, half map[string]string
	// dirty has the variables that a failed run has begun to apply without a drain, and drained the UIDs of
	// the hosts whose nodes an upgrade has begun to change.
	dirty, drained map[string]bool
	ended          map[string]int // steps by operation and outcome
}

// runs is the version of a node, what its variables are (contract.Request.SettingsOf), and the version to which a
// playbook has begun to change it.
type runs struct{ version, settings, begun string }

// runsOf returns what a node runs after a run with this request.
func runsOf(r contract.Request, n contract.Node) runs {
	return runs{version: r.KubernetesVersion, settings: r.SettingsOf(n)}
}

// says returns what the record says that a node runs.
func (w *world) says(n contract.Node) runs {
	r := runs{}
	if r.version, r.settings = w.Installed.Level(n); n.Target != nil {
		r.begun = n.Target.Version
	}
	return r
}

func newWorld(r *rand.Rand, ended map[string]int) *world {
	w := &world{Rand: r, ended: ended, runs: map[string]runs{}, systems: map[string]string{}, half: map[string]string{}}
	w.dirty, w.drained = map[string]bool{}, map[string]bool{}
	w.State = State{Lost: map[string]bool{}, DrainSeconds: 60}
	w.Wanted.KubernetesVersion = "1.33.5"
	for i := range 1 + r.IntN(3) {
		w.Wanted.Slots = append(w.Wanted.Slots, contract.Slot{Name: fmt.Sprintf("m%d", i), Roles: rolesOf("m")})
	}
	for range r.IntN(3) {
		w.edit()
	}
	request := w.Wanted
	var nodes []contract.Node
	for _, slot := range request.Slots {
		nodes = append(nodes, w.claim(contract.Node{Name: slot.Name, Roles: slot.Roles}, slot.MAC))
	}
	for _, set := range request.Sets {
		for i := range set.Active {
			nodes = append(nodes, w.claim(contract.Node{Name: fmt.Sprintf("%s-%d", set.Name, i+1), Set: set.Name, Roles: set.Roles}, ""))
		}
	}
	w.record(request, nodes)
	w.join(nodes)
	return w
}

// claim gives the node a free host. Some hosts report no MAC addresses.
func (w *world) claim(n contract.Node, pin string) contract.Node {
	w.hosts++
	n.Host, n.HostUID = fmt.Sprintf("h%d", w.hosts), fmt.Sprintf("u%d", w.hosts)
	if w.IntN(4) > 0 {
		n.MACs = []string{"mac-of-" + n.Host}
	}
	if pin != "" {
		n.MACs = []string{pin}
	}
	return n
}

// record writes the record as the task kubespray does. Lost nodes that stay take no part in an
// addition. Etcd accepts no new member while another one is down, so they are no members any more if
// one joins.
func (w *world) record(request contract.Request, nodes []contract.Node) {
	stays := func(n contract.Node) bool { return request.Remove == nil && slices.Contains(request.Kept, n.Name) }
	stamped := w.Installed.Stamped(request)
	ordered, etcdNext := inventory.Members(request, slices.DeleteFunc(slices.Clone(nodes), stays))
	joins := slices.ContainsFunc(ordered, func(n contract.Node) bool { return n.Etcd != "" && !w.isMember(n) })
	for _, n := range nodes {
		if stays(n) {
			if i := slices.IndexFunc(stamped, func(o contract.Node) bool { return o.Name == n.Name }); i >= 0 {
				n = stamped[i]
			}
			if joins {
				n.Etcd = ""
			}
			ordered = append(ordered, n)
		}
	}
	contract.CopyTargets(ordered, stamped, request.Renewed())
	if len(w.Installed.Nodes) == 0 {
		w.Installed.Patched = request.Patched
	}
	slices.SortStableFunc(ordered, func(a, b contract.Node) int { return oneIf(controlPlane(b.Roles)) - oneIf(controlPlane(a.Roles)) })
	w.Installed.Request, w.Installed.Nodes, w.Installed.EtcdNext = request.Spec, ordered, max(etcdNext, w.Installed.EtcdNext)
	w.Installed.SettlePatched()
	gone := func(name string) bool { return !isNamed(ordered, name) }
	w.Installed.Draining, w.Installed.Leaving = slices.DeleteFunc(w.Installed.Draining, gone), slices.DeleteFunc(w.Installed.Leaving, gone)
	for name := range w.Lost {
		if gone(name) {
			delete(w.Lost, name)
		}
	}
}

func (w *world) isMember(n contract.Node) bool {
	return slices.ContainsFunc(etcdMembers(w.Installed.Nodes), func(m contract.Node) bool { return m.HostUID == n.HostUID })
}

// edit changes the spec. It always requests a control plane.
func (w *world) edit() {
	r := &w.Wanted
	r.Slots, r.Sets = slices.Clone(r.Slots), slices.Clone(r.Sets)
	switch w.IntN(12) {
	case 11:
		w.editOwnVars()
	case 8, 9, 10:
		r.Patched = []string{"", "t1", "t2"}[w.IntN(3)]
	case 6:
		r.KubernetesVersion = []string{"1.33.5", "1.34.3", "1.34.7", "1.35.0", "1.35.4"}[w.IntN(5)]
		w.Rollout = Rollout{MaxUnavailable: w.IntN(4), PauseAfterControlPlane: w.IntN(4) == 0, DrainSeconds: 30}
	case 7:
		w.editVariables()
	case 0, 1: // a new node
		name := fmt.Sprintf("%c%d", "mww"[w.IntN(3)], w.IntN(6))
		if !slices.ContainsFunc(r.Slots, func(s contract.Slot) bool { return s.Name == name }) {
			r.Slots = append(r.Slots, contract.Slot{Name: name, Roles: rolesOf(name)})
		}
	case 2: // one node less
		i := w.IntN(len(r.Slots))
		r.Slots = slices.Delete(r.Slots, i, i+1)
	case 3: // another host
		r.Slots[w.IntN(len(r.Slots))].MAC = []string{"", fmt.Sprintf("pin%d", w.IntN(1000))}[w.IntN(2)]
	default:
		name := []string{"a", "b2", "mm"}[w.IntN(3)]
		r.Sets = slices.DeleteFunc(r.Sets, func(s contract.Set) bool { return s.Name == name })
		if n := w.IntN(5); n > 0 {
			r.Sets = append(r.Sets, contract.Set{Name: name, Roles: rolesOf(strings.ReplaceAll(name, "b", "w")), Active: n - 1, Standby: w.IntN(2)})
		}
	}
	if !slices.ContainsFunc(r.Slots, func(s contract.Slot) bool { return controlPlane(s.Roles) }) {
		r.Slots = append(r.Slots, contract.Slot{Name: "m0", Roles: rolesOf("m")})
	}
}

// lose takes the host of a node, unless etcd would have no majority. Unplugged machines may come back.
func (w *world) lose() {
	n := w.Installed.Nodes[w.IntN(len(w.Installed.Nodes))]
	if _, lost := w.Lost[n.Name]; lost && w.IntN(2) == 0 {
		delete(w.Lost, n.Name)
		return
	}
	was, had := w.Lost[n.Name]
	w.Lost[n.Name] = w.IntN(2) == 0
	if w.Alive = slices.DeleteFunc(slices.Clone(w.Alive), func(name string) bool { return name == n.Name }); w.IntN(2) == 0 {
		w.Alive = append(w.Alive, n.Name) // it is in quarantine
	}
	left := slices.ContainsFunc(w.Installed.Nodes, func(n contract.Node) bool { return controlPlane(n.Roles) && !w.lost(n) })
	if !w.quorum() || !left {
		delete(w.Lost, n.Name)
		if had {
			w.Lost[n.Name] = was
		}
	}
}

// check returns what is wrong with a step.
func (w *world) check(step Step) string {
	r := step.Request
	adds := contract.OperationOf(step.Operation).Has(contract.TaskSelectHosts)
	switch {
	case !contract.OperationOf(step.Operation).ChangesCluster() || r.Operation != step.Operation:
		return "the operation does not change a cluster"
	case r.Upgrade != nil && r.Upgrade.Narrow != nil:
		return w.checkConfigure(step)
	case len(step.Upgrade) > 0:
		return w.checkUpgrade(step)
	case step.Operation == contract.OperationRestore:
		return w.checkRestore(step)
	case w.Restore != nil:
		return "the restore does not come first"
	case adds != (r.Remove == nil):
		return "the operation and the removal contradict each other"
	case adds && len(step.Remove) > 0 || !adds && len(step.Add)+len(step.Replace) > 0:
		return "a step adds and removes"
	case !slices.EqualFunc(r.Members, w.Installed.Nodes, func(a, b contract.Node) bool { return a.Name == b.Name }):
		return "the members are not those of the record"
	}
	for _, n := range w.Installed.Nodes {
		if why := w.touched(n, step); why != "" && !w.concerned(n) {
			return fmt.Sprintf("node %s, which no edit concerns, %s", n.Name, why)
		}
	}
	for _, n := range w.Installed.Nodes {
		if w.lost(n) && adds && !slices.Contains(step.Replace, n.Name) && slices.ContainsFunc(r.Slots, func(s contract.Slot) bool { return n.Set == "" && s.Name == n.Name }) {
			return "a lost node gets a host, but is not replaced"
		}
	}
	var lost, kept []string
	for _, n := range w.Installed.Nodes {
		if w.lost(n) {
			lost = append(lost, n.Name)
			if !slices.Contains(step.Replace, n.Name) && (r.Remove == nil || !slices.Contains(r.Remove.Nodes, n.Name)) {
				kept = append(kept, n.Name)
			}
		}
	}
	if !slices.Equal(r.Lost, lost) || !slices.Equal(r.Kept, kept) {
		return fmt.Sprintf("lost are %v, and %v stay, but the request says %v and %v", lost, kept, r.Lost, r.Kept)
	}
	for _, name := range step.Replace {
		if !w.Lost[name] {
			return "a node is replaced that may not be replaced: " + name
		}
		worker := func(n contract.Node) bool { return n.Name == name && !controlPlane(n.Roles) }
		if slices.Contains(w.Alive, name) && r.Restore == nil && slices.ContainsFunc(w.Installed.Nodes, worker) {
			return "a worker that works is replaced before it was drained: " + name
		}
	}
	return ""
}

// concerned reports whether an edit, a loss or an interrupted removal concerns the node.
func (w *world) concerned(n contract.Node) bool {
	if slices.Contains(w.Installed.Leaving, n.Name) || !w.requested(n) || w.lost(n) {
		return true
	}
	if n.Set != "" {
		i := slices.IndexFunc(w.Wanted.Sets, func(s contract.Set) bool { return s.Name == n.Set })
		return w.active(n.Set) > w.Wanted.Sets[i].Active
	}
	i := slices.IndexFunc(w.Wanted.Slots, func(s contract.Slot) bool { return s.Name == n.Name })
	return w.moved(w.Wanted.Slots[i], n)
}

// touched returns what the step does with an installed node.
func (w *world) touched(n contract.Node, step Step) string {
	r := step.Request
	if slices.Contains(slices.Concat(step.Add, step.Remove, step.Replace, r.Gone()), n.Name) {
		return "is in the step's lists"
	}
	if r.Remove != nil {
		if slices.Contains(r.Remove.Nodes, n.Name) {
			return "is removed"
		}
		for _, set := range r.Remove.Sets {
			if slices.ContainsFunc(set.Candidates, func(c contract.Candidate) bool { return c.Node == n.Name }) {
				return "is a candidate"
			}
		}
	}
	if n.Set != "" {
		return ""
	}
	i := slices.IndexFunc(r.Slots, func(s contract.Slot) bool { return s.Name == n.Name })
	if i < 0 {
		return "has no slot"
	}
	if !slices.Equal(r.Slots[i].Roles, n.Roles) || r.Slots[i].MAC != "" && len(n.MACs) > 0 && !slices.Contains(n.MACs, r.Slots[i].MAC) {
		return "has another slot"
	}
	return ""
}

// apply does what the tasks do. With chaos, they may fail in the middle.
func (w *world) apply(step Step, chaos bool) string {
	outcome := "succeeds"
	if chaos {
		outcome = []string{"succeeds", "fails", "fails in the middle"}[w.IntN(3)]
	}
	w.ended[step.Operation+" "+outcome]++
	if outcome == "fails" {
		return ""
	}
	if u := step.Request.Upgrade; u != nil && u.Narrow != nil {
		return w.configureAll(step, outcome == "succeeds")
	} else if u != nil {
		return w.upgradeSome(step, outcome == "succeeds")
	}
	if step.Request.Remove != nil {
		return w.remove(step, outcome == "succeeds")
	}
	return w.add(step, outcome == "succeeds")
}

// add claims hosts. A run that fails in the middle has changed them. Lost nodes that the request does
// not have stay in the record.
func (w *world) add(step Step, succeeds bool) string {
	r := step.Request
	leave := step.Replace
	if step.Operation == contract.OperationRestore {
		leave = slices.Concat(step.Replace, step.Remove)
	}
	nodes := slices.DeleteFunc(slices.Clone(w.Installed.Nodes), func(n contract.Node) bool { return slices.Contains(leave, n.Name) })
	var fresh []contract.Node
	reuse := func(fits func(contract.Node) bool) bool {
		i := slices.IndexFunc(w.Unfinished, fits)
		if i >= 0 {
			fresh = append(fresh, w.Unfinished[i])
			w.Unfinished = slices.Delete(slices.Clone(w.Unfinished), i, i+1)
		}
		return i >= 0
	}
	for _, slot := range r.Slots {
		if slices.ContainsFunc(nodes, func(n contract.Node) bool { return n.Set == "" && n.Name == slot.Name }) {
			continue
		}
		if !reuse(func(n contract.Node) bool { return n.Name == slot.Name && fitsPin(slot, n) }) {
			fresh = append(fresh, w.claim(contract.Node{Name: slot.Name, Roles: slot.Roles}, slot.MAC))
		}
	}
	for _, set := range r.Sets {
		have := 0
		for _, n := range nodes {
			have += oneIf(n.Set == set.Name && !w.lost(n))
		}
		for ; have < set.Active; have++ {
			if !reuse(func(n contract.Node) bool { return n.Set == set.Name }) {
				name := ""
				for i := 1; name == "" || isNamed(slices.Concat(nodes, fresh, w.Unfinished, w.Installed.Nodes), name); i++ {
					name = fmt.Sprintf("%s-%d", set.Name, i)
				}
				fresh = append(fresh, w.claim(contract.Node{Name: name, Set: set.Name, Roles: set.Roles}, ""))
			}
		}
	}
	planes := 0
	for _, n := range fresh {
		planes += oneIf(controlPlane(n.Roles))
		if isNamed(w.Unfinished, n.Name) {
			return "two machines have the name " + n.Name
		}
	}
	switch {
	case step.Operation == contract.OperationAddNodes && planes > 0, step.Operation == contract.OperationAddControlPlane && (planes != 1 || len(fresh) != 1):
		return fmt.Sprintf("%s adds %d control planes and %d nodes", step.Operation, planes, len(fresh))
	case step.Operation == contract.OperationRestore && planes != len(fresh):
		return "a restore adds workers"
	case len(fresh) == 0 && !step.Standby && step.Operation != contract.OperationRestore:
		return "a run adds nothing"
	case succeeds:
		for _, name := range leave {
			delete(w.Lost, name)
		}
		w.record(r, append(nodes, fresh...))
		if step.Operation == contract.OperationRestore {
			return w.restored(step)
		}
		w.join(fresh)
		return w.describes(r)
	}
	for _, n := range fresh {
		if !isNamed(w.Installed.Nodes, n.Name) { // a lost node's name: its new host is known by its own name
			w.Unfinished = append(w.Unfinished, n)
			continue
		}
		n.Name = n.Host
		w.Unfinished = append(w.Unfinished, n)
	}
	return ""
}

// remove chooses nodes of sets at random. A run that fails in the middle leaves some nodes cordoned, or
// drained and half removed.
func (w *world) remove(step Step, succeeds bool) string {
	removal := step.Request.Remove
	leave := slices.Clone(removal.Nodes)
	for _, set := range removal.Sets {
		if len(set.Candidates) < set.Count || set.Count < 1 {
			return "there are too few candidates"
		}
		for _, i := range w.Perm(len(set.Candidates))[:set.Count] {
			leave = append(leave, set.Candidates[i].Node)
		}
	}
	inRecord := slices.DeleteFunc(slices.Clone(leave), func(name string) bool { return !isNamed(w.Installed.Nodes, name) })
	if !succeeds && w.IntN(2) == 0 {
		w.Installed.Draining = inRecord
		return ""
	}
	if !succeeds && len(leave) > 1 {
		w.Installed.Leaving, w.Installed.Draining = slices.Clone(inRecord), nil
		leave = leave[:w.IntN(len(leave))]
	} else if !succeeds {
		w.Installed.Leaving, leave = slices.Clone(inRecord), nil
	}
	planes := 0
	for _, n := range w.Installed.Nodes {
		planes += oneIf(controlPlane(n.Roles) && slices.Contains(leave, n.Name))
	}
	if planes > 1 || planes > 0 != (step.Operation == contract.OperationRemoveControlPlane) && planes > 0 {
		return fmt.Sprintf("%s removes %d control planes", step.Operation, planes)
	}
	if why := w.breaks(leave); why != "" {
		return why
	}
	left := func(n contract.Node) bool { return slices.Contains(leave, n.Name) }
	if w.IntN(4) > 0 || succeeds {
		w.Unfinished = slices.DeleteFunc(slices.Clone(w.Unfinished), left)
	}
	request := contract.Request{Spec: w.Installed.Request, Order: contract.Order{Operation: step.Operation}, Record: contract.Record{Members: w.Installed.Nodes}}
	if succeeds {
		request = step.Request
		w.Installed.Draining = nil
	}
	w.record(request, slices.DeleteFunc(slices.Clone(w.Installed.Nodes), left))
	if succeeds {
		return w.describes(request)
	}
	return ""
}

// breaks returns what is wrong if these nodes leave: etcd and the cluster must go on.
func (w *world) breaks(leave []string) string {
	members, living, planes := 0, 0, 0
	for _, n := range w.Installed.Nodes {
		if slices.Contains(leave, n.Name) {
			continue
		}
		planes += oneIf(controlPlane(n.Roles) && !w.lost(n))
		members += oneIf(n.Etcd != "")
		living += oneIf(n.Etcd != "" && !w.lost(n))
	}
	if planes < 1 || 2*living <= members {
		return fmt.Sprintf("without %v, %d control planes and %d of %d members of etcd are left", leave, planes, living, members)
	}
	return ""
}

// describes returns how the request of the last run differs from the record. Only lost nodes that were
// not replaced may be missing in the request.
func (w *world) describes(r contract.Request) string {
	var want, have []string
	for _, n := range w.Installed.Nodes {
		if !w.lost(n) || r.Remove != nil {
			want = append(want, n.Set+"/"+strings.TrimPrefix(n.Name, n.Set+"-"))
		}
	}
	for _, slot := range r.Slots {
		have = append(have, "/"+slot.Name)
	}
	for _, set := range r.Sets {
		n := 0
		for _, node := range w.Installed.Nodes {
			if node.Set == set.Name && (!w.lost(node) || r.Remove != nil) {
				n++
				have = append(have, set.Name+"/"+strings.TrimPrefix(node.Name, set.Name+"-"))
			}
		}
		if n != set.Active {
			return fmt.Sprintf("set %s has %d nodes, its request %d", set.Name, n, set.Active)
		}
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(want, have) {
		return fmt.Sprintf("the record has %v, its request %v", want, have)
	}
	return ""
}

// missing returns how the cluster differs from the spec at the end. A control plane may stay if the
// cluster could not go on without it.
func (w *world) missing() string {
	if len(w.Unfinished)+len(w.Installed.Leaving)+len(w.Installed.Draining)+len(w.Lost) > 0 {
		return fmt.Sprintf("unfinished %v, leaving %v, draining %v, lost %v", w.Unfinished, w.Installed.Leaving, w.Installed.Draining, w.Lost)
	}
	refused := Refused(w.State)
	stays := func(n contract.Node) bool {
		return controlPlane(n.Roles) && w.breaks([]string{n.Name}) != "" && len(refused) > 0
	}
	count := map[string]int{}
	for _, n := range w.Installed.Nodes {
		i := slices.IndexFunc(w.Wanted.Slots, func(s contract.Slot) bool { return s.Name == n.Name })
		switch {
		case stays(n) && (n.Set != "" || i >= 0):
			count[n.Name+n.Set]++
		case stays(n):
		case n.Set != "":
			count[n.Set]++
		case i < 0 || w.moved(w.Wanted.Slots[i], n):
			return "node " + n.Name + " stays"
		default:
			count[n.Name]++
		}
	}
	for _, n := range w.Installed.Nodes {
		if len(w.refusedUpgrade()) == 0 && (w.level(n) != level{version: w.Wanted.KubernetesVersion, settings: requested} || w.requested(n) && w.runs[n.HostUID] != runsOf(w.Wanted, n)) {
			return fmt.Sprintf("node %s has %v", n.Name, w.level(n))
		}
	}
	for _, slot := range w.Wanted.Slots {
		if count[slot.Name] != 1 {
			return "node " + slot.Name + " is missing"
		}
	}
	for _, set := range w.Wanted.Sets {
		if have := w.active(set.Name); have != set.Active && !(have == 1 && set.Active == 0 && len(refused) > 0) {
			return fmt.Sprintf("set %s has %d nodes", set.Name, have)
		}
	}
	return ""
}

// outside returns what is wrong if a control plane is no member of etcd, although etcd would have an
// odd number of members with it.
func (w *world) outside() string {
	planes, members := 0, 0
	for _, n := range w.Installed.Nodes {
		planes += oneIf(controlPlane(n.Roles))
		members += oneIf(n.Etcd != "")
	}
	if members < planes-(1-planes%2) {
		return fmt.Sprintf("etcd has %d members on %d control planes", members, planes)
	}
	return ""
}

func brief(r contract.Request) string {
	var words []string
	for _, slot := range r.Slots {
		words = append(words, strings.TrimSuffix(slot.Name+"@"+slot.MAC, "@"))
	}
	for _, set := range r.Sets {
		words = append(words, fmt.Sprintf("%s=%d/%d", set.Name, set.Active, set.Standby))
	}
	return strings.Join(words, " ")
}

// TestRandomWorlds: while the user edits and runs fail, no step harms the cluster. When the user and
// the failures stop, the cluster becomes the requested one in a limited number of steps.
func TestRandomWorlds(t *testing.T) {
	ended := map[string]int{}
	for seed := range uint64(2_000) {
		w := newWorld(rand.New(rand.NewPCG(seed, 7)), ended)
		var log []string
		do := func(step Step, chaos bool) {
			t.Helper()
			log = append(log, fmt.Sprintf("%s: %s; request %s; unfinished %v", step.Operation, step, brief(step.Request), w.Unfinished))
			bad := w.check(step)
			if bad == "" {
				bad = w.apply(step, chaos)
			}
			if bad == "" {
				bad = w.skew()
			}
			if bad != "" {
				t.Fatalf("seed %d: %s\n%s\nwanted %s\nrecord %+v\nlost %v, unfinished %+v", seed, bad, strings.Join(log, "\n"),
					brief(w.Wanted), w.Installed.Nodes, w.Lost, w.Unfinished)
			}
		}
		for range 12 {
			switch w.IntN(4) {
			case 0:
				w.edit()
			case 1:
				w.lose()
			case 2:
				w.ruin()
			}
			w.RemoveFirst = w.IntN(3) == 0
			if step, ok := Next(w.State); ok {
				do(step, true)
			}
		}
		for name := range w.Lost {
			w.Lost[name] = true
		}
		w.Rollout.PauseAfterControlPlane = false
		steps, most := 0, 5*(len(w.Installed.Nodes)+len(w.Unfinished)+len(w.Wanted.Slots)+count(w.Wanted.Sets))+4
		added := false // if control planes are only removed, nothing makes another one a member
		for step, ok := Next(w.State); ok; step, ok = Next(w.State) {
			do(step, false)
			added = added || step.Operation == contract.OperationAddControlPlane && len(step.Add) > 0
			if steps++; steps > most {
				t.Fatalf("seed %d: no end after %d steps:\n%s", seed, steps, strings.Join(log, "\n"))
			}
		}
		bad := w.missing()
		if added && bad == "" {
			bad = w.outside()
		}
		if bad != "" {
			t.Fatalf("seed %d: %s\n%s\nwanted %s\nrecord %+v", seed, bad, strings.Join(log, "\n"), brief(w.Wanted), w.Installed.Nodes)
		}
	}
	if ended["half changed"] < 150 {
		t.Errorf("nodes are half changed only %d times", ended["half changed"])
	}
	if ended["half patched"] < 150 {
		t.Errorf("nodes are half patched only %d times", ended["half patched"])
	}
	for _, o := range contract.Operations {
		for _, outcome := range []string{"succeeds", "fails", "fails in the middle"} {
			if o.ChangesCluster() && ended[o.Name+" "+outcome] < 20 {
				t.Errorf("%s %s only %d times: the worlds are too tame", o.Name, outcome, ended[o.Name+" "+outcome])
			}
		}
	}
}
