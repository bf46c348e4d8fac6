package inventory

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// defaultName is the name that kubespray gives to a member of etcd by default: etcd1, etcd2 and so
// on, by the position of the node. BPA gives the same names, but a node keeps its name when its
// position changes.
var defaultName = regexp.MustCompile(`^etcd([1-9][0-9]{0,8})$`)

// Members returns the nodes of a cluster during a run, without standby nodes, and the number of the
// next member of etcd.
//
// The control planes are first. Those of request.Members come in that order, because kubespray does
// all work on the cluster through the first control plane. Of these, the nodes that leave come after
// the others, because kubespray cannot remove the first one. New control planes follow in the order
// of nodes, and then the workers in the order of nodes.
//
// Etcd is set for the members of etcd. A control plane that is a member stays one, even if this
// makes their number even, because only its removal from the cluster makes it no member. Other
// control planes become members, with new names, as long as the result is an odd number of members.
// Nothing becomes a member if the playbook of the run does not do this.
//
// A restore makes a new etcd on all control planes. So all of them count as new, also those on the hosts of
// former ones: they come in the order of nodes, and their members get new names.
//
// The nodes of request.Members keep their Version, Settings, Patched and Target, because a run that is no upgrade does
// not change them. New nodes have none: they get what the request says.
func Members(request contract.Request, nodes []contract.Node) (ordered []contract.Node, etcdNext int) {
	former := formerMasters(request.Members)
	etcdNext = max(request.EtcdNext, highest(former)+1)
	if request.Restore != nil {
		former, request.Members = nil, slices.DeleteFunc(slices.Clone(request.Members), isMaster)
	}
	for _, n := range nodes {
		if n.Standby {
			continue
		}
		if n.Etcd = ""; isMaster(n) {
			if i := indexOf(former, n); i < len(former) {
				n.Etcd = former[i].Etcd
			}
		}
		n.Version, n.Settings, n.Patched = levelOf(request, n)
		ordered = append(ordered, n)
	}
	contract.CopyTargets(ordered, request.Members, request.Renewed())
	slices.SortStableFunc(ordered, func(a, b contract.Node) int {
		return cmp.Compare(position(request, former, a), position(request, former, b))
	})
	if len(former) == 0 || !slices.Contains(keepEtcd, contract.OperationOf(request.Operation).Playbook) && request.Upgrade == nil {
		etcdNext = join(ordered, etcdNext)
	}
	return ordered, etcdNext
}

// levelOf returns Version, Settings and Patched of a node that was in the cluster before the run. They are empty
// for a node that the run installs, even if it gets the name or the host of a lost one.
func levelOf(request contract.Request, n contract.Node) (version, settings, patched string) {
	i := indexOf(request.Members, n)
	if i == len(request.Members) || slices.Contains(request.Gone(), request.Members[i].Name) {
		return "", "", ""
	}
	return request.Members[i].Version, request.Members[i].Settings, request.Members[i].Patched
}

// keepEtcd are the playbooks that add no member to etcd. A run without a playbook adds none either.
var keepEtcd = []string{"", contract.PlaybookScale, contract.PlaybookRemove, contract.PlaybookUpgrade}

// join makes control planes members of etcd, as long as this gives an odd number of members.
func join(ordered []contract.Node, etcdNext int) int {
	masters := withRole(ordered, contract.RoleControlPlane)
	missing := len(odd(masters)) - len(etcdMembers(ordered))
	for i := range masters { // they are first
		if missing > 0 && ordered[i].Etcd == "" {
			ordered[i].Etcd = fmt.Sprintf("etcd%d", etcdNext)
			etcdNext++
			missing--
		}
	}
	return etcdNext
}

// formerMasters returns the control planes of these members, with the names of their members of
// etcd. If no name is known, as in a record that was rebuilt without the request of the last run, they have kubespray's
// default names.
func formerMasters(members []contract.Node) []contract.Node {
	var masters []contract.Node
	for _, n := range members {
		if isMaster(n) {
			masters = append(masters, n)
		}
	}
	if len(etcdMembers(masters)) == 0 {
		for i := range odd(masters) {
			masters[i].Etcd = fmt.Sprintf("etcd%d", i+1)
		}
	}
	return masters
}

// highest returns the highest number in the default names of these members, or 0.
func highest(members []contract.Node) int {
	highest := 0
	for _, n := range members {
		if m := defaultName.FindStringSubmatch(n.Etcd); m != nil {
			number, _ := strconv.Atoi(m[1]) // at most nine digits
			highest = max(highest, number)
		}
	}
	return highest
}

// position returns a number by which nodes are sorted.
func position(request contract.Request, former []contract.Node, n contract.Node) int {
	i := indexOf(former, n)
	switch {
	case !isMaster(n):
		return 2*len(former) + 1
	case i == len(former):
		return 2 * len(former)
	case leaves(request, n):
		return len(former) + i
	}
	return i
}

// indexOf returns the index of the node with the same host, or len(former).
func indexOf(former []contract.Node, n contract.Node) int {
	i := slices.IndexFunc(former, func(f contract.Node) bool { return f.HostUID == n.HostUID && n.HostUID != "" })
	if i < 0 {
		return len(former)
	}
	return i
}

// leaves reports whether the run removes this node.
func leaves(request contract.Request, n contract.Node) bool {
	return request.Remove != nil && slices.Contains(request.Remove.Nodes, n.Name)
}

// mayLeave is like leaves, and also reports nodes of a set that becomes smaller.
func mayLeave(request contract.Request, n contract.Node) bool {
	return leaves(request, n) || request.Remove != nil && n.Set != "" &&
		slices.ContainsFunc(request.Remove.Sets, func(s contract.SetRemoval) bool { return s.Name == n.Set })
}

func isMaster(n contract.Node) bool { return slices.Contains(n.Roles, contract.RoleControlPlane) }

func etcdMembers(nodes []contract.Node) []contract.Node {
	var members []contract.Node
	for _, n := range nodes {
		if n.Etcd != "" {
			members = append(members, n)
		}
	}
	return members
}

// etcdGroup returns the nodes of kubespray's group etcd, and remarks for the user. Kubespray refuses
// a group with an even number of nodes. If a removal has left an even number of members, the last
// one is not in the group, but it is still a member. It is in the group if it may leave, because
// kubespray removes only nodes of the group from etcd.
func etcdGroup(request contract.Request, ordered []contract.Node) (group, notes []string) {
	members := etcdMembers(ordered)
	for _, n := range members {
		group = append(group, n.Name)
	}
	if len(group)%2 == 0 {
		notes = append(notes, fmt.Sprintf("etcd has %d members, and an even number tolerates no more failures than one member less: "+
			"add or remove a control plane node", len(group)))
		if !slices.ContainsFunc(members, func(n contract.Node) bool { return mayLeave(request, n) }) {
			group = odd(group)
		}
	}
	for _, n := range ordered {
		if isMaster(n) && n.Etcd == "" {
			notes = append(notes, fmt.Sprintf("etcd needs an odd number of members: %s is left out of it", n.Name))
		}
	}
	return group, notes
}
