package contract

// TaintsOf returns the taints with which a node joins the cluster.
func (r Request) TaintsOf(n Node) []string {
	for _, s := range r.Sets {
		if n.Set == s.Name {
			return s.Taints
		}
	}
	for _, s := range r.Slots {
		if n.Set == "" && n.Name == s.Name {
			return s.Taints
		}
	}
	return nil
}
