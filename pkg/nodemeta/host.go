package nodemeta

// FromHost returns the labels that a Node gets from the labels of its host. rules maps names of labels of hosts to names
// of labels of Nodes. A label that the host does not have gives none. nil: there are none.
func FromHost(host, rules map[string]string) map[string]string {
	var labels map[string]string
	for from, to := range rules {
		if value, there := host[from]; there {
			if labels == nil {
				labels = map[string]string{}
			}
			labels[to] = value
		}
	}
	return labels
}
