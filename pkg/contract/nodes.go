package contract

import "slices"

// OfRecord reports whether the run works on the nodes of the installed cluster, which are in Members.
// Otherwise it claims hosts for its nodes itself, or they are in Nodes.
func (r Request) OfRecord() bool {
	return len(r.Members) > 0 && r.Operation != OperationReset && !r.ClaimsHosts()
}

// ClaimsHosts reports whether the task select-hosts chooses the nodes of the run.
func (r Request) ClaimsHosts() bool { return OperationOf(r.Operation).Has(TaskSelectHosts) }

// NodesOf returns the nodes of the run, without standby nodes. claimed are those that select-hosts has stored for the
// run; they do not count if the run claims no host. Lost members are not nodes of a run that works on the record, unless
// they leave. Nor are nodes that never were members, unless they leave.
func (r Request) NodesOf(claimed []Node) []Node {
	switch {
	case r.ClaimsHosts():
		return active(claimed)
	case !r.OfRecord():
		return active(r.Nodes)
	}
	nodes := slices.DeleteFunc(slices.Clone(r.Members), func(n Node) bool {
		return !r.Removes(n) && (slices.Contains(r.Kept, n.Name) || slices.Contains(r.Lost, n.Name))
	})
	for _, n := range active(r.Nodes) {
		same := func(m Node) bool { return m.HostUID == n.HostUID && n.HostUID != "" }
		if r.Removes(n) && !named(r.Members, n.Name) && !slices.ContainsFunc(nodes, same) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Readdress gives the members the addresses at which select-hosts has seen their hosts at last. Those of the record are
// of the run that changed it.
func (r *Request) Readdress(claimed []Node) {
	r.Members = slices.Clone(r.Members)
	for i, m := range r.Members {
		at := slices.IndexFunc(claimed, func(n Node) bool { return n.HostUID == m.HostUID && n.HostUID != "" && n.Address != "" })
		if at >= 0 {
			r.Members[i].Address, r.Members[i].Address6, r.Members[i].MACs = claimed[at].Address, claimed[at].Address6, claimed[at].MACs
		}
	}
}

// Removes reports whether the run removes the node by name. The nodes of a set that becomes smaller are
// not named before the run.
func (r Request) Removes(n Node) bool {
	return r.Remove != nil && slices.Contains(r.Remove.Nodes, n.Name)
}

// active returns the nodes that are not standby nodes.
func active(nodes []Node) []Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool { return n.Standby })
}

func named(nodes []Node, name string) bool {
	return slices.ContainsFunc(nodes, func(n Node) bool { return n.Name == name })
}
