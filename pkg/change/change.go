package change

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// State is what is installed and what is requested.
type State struct {
	Installed contract.Installed
	Wanted    contract.Request
	// Unfinished are nodes that are not in Installed, but whose hosts may contain a part of the
	// cluster: a run that was to add them failed, or another host has replaced the host and it is
	// back. No node of them has the name of a node in Installed.
	Unfinished []contract.Node
	// NotReset are such nodes that a run has removed, and whose hosts did not answer. No other run removes them before a
	// user requests it.
	NotReset []contract.Node
	// Lost has the names of the nodes in Installed whose hosts are lost. The value is true if the
	// node may be replaced by another host now.
	Lost map[string]bool
	// Alive are the names of lost nodes that work: their hosts are in quarantine, and the cluster says that the
	// nodes are Ready. Such a node is drained and removed before another host takes its place.
	Alive []string
	// Domains has the topology domains of the nodes, by name, and Trouble the names of nodes whose
	// hosts have a problem. Both only affect which nodes leave a set.
	Domains map[string]string
	Trouble []string
	// Released has the number of standby hosts, by set, that the last run has claimed and that are not claimed any more.
	Released map[string]int
	// MACs has the present MAC addresses of the nodes' hosts, by the names of the nodes. Those in
	// Installed are older: network cards may have been exchanged.
	MACs map[string][]string
	// DrainSeconds limits the time in which the pods of a node must have left it.
	DrainSeconds int
	// DrainsSeconds is contract.Removal.DrainsSeconds.
	DrainsSeconds int
	Rollout       Rollout
	// Restore describes the backup that the cluster gets before every other change; nil: none. The
	// Kubernetes version of the backup is RestoreVersion; empty: it is not known.
	Restore        *contract.Restore
	RestoreVersion string
	// RemoveFirst puts removals before additions, because an addition needs a host that a removal
	// frees.
	RemoveFirst bool
}

// Step is one operation on the cluster.
type Step struct {
	Operation string // a name in contract.Operations
	// Request is the request of the run. If the run succeeds, it describes the cluster.
	Request contract.Request
	// Add and Remove are nodes in words, such as "worker-2" or "2 nodes of workers". Replace has the
	// names of the lost nodes that are replaced, and Upgrade those of the nodes that are upgraded.
	Add, Remove, Replace, Upgrade []string
	// Uncordon has the names of nodes that become schedulable again, because their removal is not
	// requested any more.
	Uncordon []string
	// Standby reports that the step also claims standby hosts.
	Standby bool
}

// String describes the step, such as "add worker-2, worker-3".
func (s Step) String() string {
	var parts []string
	if r := s.Request.Restore; r != nil {
		parts = append(parts, "restore Backup "+r.Backup)
	}
	for _, p := range []struct {
		verb  string
		nodes []string
	}{{"replace", s.Replace}, {"add", s.Add}, {"remove", s.Remove}, {"uncordon", s.Uncordon}} {
		if len(p.nodes) > 0 {
			parts = append(parts, p.verb+" "+strings.Join(p.nodes, ", "))
		}
	}
	if s.Standby {
		parts = append(parts, "claim standby hosts")
	}
	if s.Request.Upgrade != nil {
		parts = append(parts, s.upgradeText())
	}
	if len(parts) == 0 {
		return "check the cluster"
	}
	return strings.Join(parts, "; ")
}

// upgradeText describes what the step does with the nodes of its upgrade.
func (s Step) upgradeText() string {
	nodes, u := listNames(s.Upgrade), s.Request.Upgrade
	switch {
	case u.Narrow != nil:
		return describeNarrow(u.Narrow)
	case s.Request.OnlyPatches():
		return "patch the operating system of " + nodes
	}
	text := fmt.Sprintf("upgrade %s to %s", nodes, s.Request.KubernetesVersion)
	if u.From == s.Request.KubernetesVersion {
		text = "give " + nodes + " the requested settings"
	}
	record := contract.Installed{Patched: s.Request.Patched, Nodes: s.Request.Members, Request: s.Request.Spec}
	if slices.ContainsFunc(record.Nodes, func(n contract.Node) bool {
		_, patch := record.Lacks(n, s.Request)
		return patch && slices.Contains(s.Upgrade, n.Name)
	}) {
		text += ", with a patch of the operating system"
	}
	return text
}

// Next returns the next operation; false: the cluster is the requested one, or it cannot be changed now
// (see Waiting, Upgrading and Refused).
func Next(s State) (Step, bool) {
	if s.Restore != nil {
		return s.restore(), true
	}
	if !s.quorum() {
		return Step{}, false
	}
	d := s.compare()
	adds := d
	if len(s.waiting()) > 0 { // lost nodes are replaced all the same
		adds.addSlots, adds.addSets, adds.standby = nil, nil, false
	}
	additions := []operation{
		func(difference) (Step, bool) { return s.addControlPlane(adds) },
		func(difference) (Step, bool) { return s.addNodes(adds) },
	}
	removals := []operation{s.removeNodes, s.removeControlPlane}
	order := slices.Concat(additions, removals)
	if s.RemoveFirst {
		order = slices.Concat(removals, additions)
	}
	first := []operation{s.finishRemoval, s.removeLostControlPlane, s.removeLostNodes, s.removeNamesakes}
	order = slices.Concat(s.upgrades(d), order)
	if evacuations := s.evacuations(d, additions); s.RemoveFirst {
		order = append(order, evacuations...)
	} else {
		order = append(evacuations, order...)
	}
	for _, next := range slices.Concat(first, order, []operation{s.uncordon}) {
		if step, ok := next(d); ok {
			return step, true
		}
	}
	return Step{}, false
}

// operation returns the step of one kind of operations, if the difference requires one.
type operation func(difference) (Step, bool)

// Waiting returns the lost nodes that keep the requested nodes from being added, because the spec
// requests them and they are not replaced now. The hosts that are free are first of all for lost
// nodes. Waiting nodes do not keep other lost nodes from being replaced.
func Waiting(s State) []string {
	d := s.compare()
	if len(d.addSlots)+len(d.addSets) == 0 && !d.standby {
		return nil
	}
	return names(s.waiting())
}

// waiting returns the lost nodes that the spec requests and that are not replaced now.
func (s State) waiting() []contract.Node {
	d := s.compare()
	return slices.DeleteFunc(slices.Clone(s.Installed.Nodes), func(n contract.Node) bool {
		replaced, lost := s.Lost[n.Name]
		return !lost || replaced || isNamed(d.remove, n.Name)
	})
}

// difference is what distinguishes the installed cluster from the requested one.
type difference struct {
	// addSlots are requested nodes that are not installed, and addSets the number of missing nodes
	// by the name of the set.
	addSlots []contract.Slot
	addSets  map[string]int
	// replace are lost nodes that are requested and that may be replaced now. evacuate are those of them that
	// work.
	replace, evacuate []contract.Node
	// remove are installed or unfinished nodes that are not requested, and removeSets the number of
	// surplus nodes by the name of the set.
	remove     []contract.Node
	removeSets map[string]int
	standby    bool // a set requests more standby hosts than the last run was to claim and are not released
}

func (s State) compare() difference {
	d := difference{addSets: map[string]int{}, removeSets: map[string]int{}}
	for _, slot := range s.Wanted.Slots {
		i := s.index(slot.Name)
		switch {
		case i < 0:
			d.addSlots = append(d.addSlots, slot)
		case s.moved(slot, s.Installed.Nodes[i]):
			d.remove = append(d.remove, s.Installed.Nodes[i])
		}
	}
	for _, n := range s.Installed.Nodes {
		switch moved := isNamed(d.remove, n.Name); {
		case !s.requested(n) && !moved:
			d.remove = append(d.remove, n)
		case s.Lost[n.Name] && !moved && CanEvacuate(s, n):
			d.evacuate = append(d.evacuate, n)
		case s.Lost[n.Name] && !moved:
			d.replace = append(d.replace, n)
		}
	}
	for _, set := range s.Wanted.Sets {
		switch surplus := s.active(set.Name) - set.Active; {
		case surplus < 0:
			d.addSets[set.Name] = -surplus
		case surplus > 0:
			s.shrink(&d, set.Name, surplus)
		}
		d.standby = d.standby || set.Standby > s.standby(set.Name)
	}
	for _, n := range s.Unfinished {
		if !s.missing(n, d) {
			d.remove = append(d.remove, n)
		}
	}
	return d
}

// shrink adds the nodes that leave a set to the difference: lost ones first. A lost node that leaves
// is not replaced.
func (s State) shrink(d *difference, set string, surplus int) {
	for _, n := range s.Installed.Nodes {
		if n.Set == set && s.lost(n) && surplus > 0 {
			d.remove = append(d.remove, n)
			same := func(r contract.Node) bool { return r.Name == n.Name }
			d.replace, d.evacuate = slices.DeleteFunc(d.replace, same), slices.DeleteFunc(d.evacuate, same)
			surplus--
		}
	}
	if surplus > 0 {
		d.removeSets[set] = surplus
	}
}

// index returns the index of the installed node that was requested by this name, or -1.
func (s State) index(name string) int {
	return slices.IndexFunc(s.Installed.Nodes, func(n contract.Node) bool { return n.Set == "" && n.Name == name })
}

// moved reports whether the slot is now pinned to another host than that of its installed node.
func (s State) moved(slot contract.Slot, n contract.Node) bool {
	if slices.Contains(s.MACs[n.Name], slot.MAC) {
		return false
	}
	if slot.MAC == "" || len(n.MACs) > 0 {
		return !fitsPin(slot, n)
	}
	was := s.installedSlot(n)
	return was.MAC != "" && was.MAC != slot.MAC
}

// unreset returns the hosts that contain a part of the cluster, and from which it is to be removed. No node is installed
// on them before. While lost nodes are replaced, the unfinished nodes can be those with which a replacement goes on.
func (s State) unreset() []string {
	d, left := s.compare(), s.NotReset
	if len(d.replace) == 0 {
		left = slices.Concat(slices.DeleteFunc(d.remove, s.installed), left)
	}
	return hostsOf(left)
}

func hostsOf(nodes []contract.Node) (hosts []string) {
	for _, n := range nodes {
		hosts = append(hosts, n.Host)
	}
	return hosts
}

// requested reports whether the spec requests the installed node, or its set.
func (s State) requested(n contract.Node) bool {
	if n.Set != "" {
		return slices.ContainsFunc(s.Wanted.Sets, func(set contract.Set) bool { return set.Name == n.Set })
	}
	return slices.ContainsFunc(s.Wanted.Slots, func(slot contract.Slot) bool { return slot.Name == n.Name })
}

// missing reports whether the unfinished node is one that a run is still to add. It is not if the slot
// is pinned to another host now.
func (s State) missing(n contract.Node, d difference) bool {
	if n.Set != "" {
		return d.addSets[n.Set] > 0 || slices.ContainsFunc(d.replace, func(r contract.Node) bool { return r.Set == n.Set })
	}
	return slices.ContainsFunc(d.addSlots, func(slot contract.Slot) bool { return slot.Name == n.Name && fitsPin(slot, n) })
}

// fitsPin reports whether the node is on the host to which the slot is pinned.
func fitsPin(slot contract.Slot, n contract.Node) bool {
	return slot.MAC == "" || len(n.MACs) == 0 || slices.Contains(n.MACs, slot.MAC)
}

func (s State) active(set string) (n int) {
	for _, node := range s.Installed.Nodes {
		if node.Set == set {
			n++
		}
	}
	return n
}

// standby returns how many standby hosts of a set the last run was to claim, without those that were released since. It
// may have found fewer.
func (s State) standby(set string) int {
	i := slices.IndexFunc(s.Installed.Request.Sets, func(was contract.Set) bool { return was.Name == set })
	if i < 0 {
		return 0
	}
	return max(s.Installed.Request.Sets[i].Standby-s.Released[set], 0)
}

func controlPlane(roles []string) bool { return slices.Contains(roles, contract.RoleControlPlane) }

// setRoles returns the roles of the nodes of a set: those of the installed ones, so that all nodes of
// the set have the same roles.
func (s State) setRoles(name string) []string {
	for _, n := range s.Installed.Nodes {
		if n.Set == name {
			return n.Roles
		}
	}
	for _, sets := range [][]contract.Set{s.Wanted.Sets, s.Installed.Request.Sets} {
		for _, set := range sets {
			if set.Name == name {
				return set.Roles
			}
		}
	}
	return nil
}

func isNamed(nodes []contract.Node, name string) bool {
	return slices.ContainsFunc(nodes, func(n contract.Node) bool { return n.Name == name })
}

func numberOf(n int, set string) string {
	if n == 1 {
		return "1 node of " + set
	}
	return fmt.Sprintf("%d nodes of %s", n, set)
}
