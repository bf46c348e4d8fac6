package contract

import "slices"

// OfRecord reports whether the run works on the nodes of the installed cluster, which are in Members.
// Otherwise it works on the nodes in the ConfigMap InventoryName: it claims hosts for them itself, or it
// is a reset, for which the controller lists them. A request of an older build has no members.
func (r Request) OfRecord() bool {
	return len(r.Members) > 0 && r.Operation != OperationReset && !OperationOf(r.Operation).Has(TaskSelectHosts)
}

// NodesOf returns the nodes of the run, without standby nodes. listed are the nodes in the ConfigMap
// InventoryName. If the run works on the record, an earlier run may have written that list: only the
// addresses of members count, because they are the newest, and nodes that leave but never were members.
// Lost members are not nodes of such a run, unless they leave.
func (r Request) NodesOf(listed []Node) []Node {
	listed = slices.DeleteFunc(slices.Clone(listed), func(n Node) bool { return n.Standby })
	if !r.OfRecord() {
		return listed
	}
	nodes := slices.DeleteFunc(slices.Clone(r.Members), func(n Node) bool {
		return !r.Removes(n) && (slices.Contains(r.Kept, n.Name) || slices.Contains(r.Lost, n.Name))
	})
	for _, n := range listed {
		i := slices.IndexFunc(nodes, func(m Node) bool { return m.HostUID == n.HostUID && n.HostUID != "" })
		switch {
		case i >= 0 && n.Address != "":
			nodes[i].Address, nodes[i].Address6, nodes[i].MACs = n.Address, n.Address6, n.MACs
		case i < 0 && r.Removes(n) && !named(r.Members, n.Name):
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Removes reports whether the run removes the node by name. The nodes of a set that becomes smaller are
// not named before the run.
func (r Request) Removes(n Node) bool {
	return r.Remove != nil && slices.Contains(r.Remove.Nodes, n.Name)
}

func named(nodes []Node, name string) bool {
	return slices.ContainsFunc(nodes, func(n Node) bool { return n.Name == name })
}
