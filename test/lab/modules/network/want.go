package main

import (
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// wanted is what this node's network should be.
type wanted struct {
	podCIDR string            // "" until the controller manager has given this node one
	routes  map[string]string // pod range of another node -> that node's address
}

func (w wanted) equal(o wanted) bool { return w.podCIDR == o.podCIDR && maps.Equal(w.routes, o.routes) }

func want(self string, nodes []*corev1.Node) wanted {
	w := wanted{routes: map[string]string{}}
	for _, n := range nodes {
		switch address := internalIP(n); {
		case n.Name == self:
			w.podCIDR = n.Spec.PodCIDR
		case n.Spec.PodCIDR != "" && address != "":
			w.routes[n.Spec.PodCIDR] = address
		}
	}
	return w
}

func internalIP(n *corev1.Node) string {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}

// conflist is the CNI configuration for a node with that pod range.
func conflist(podCIDR string) ([]byte, error) {
	return json.MarshalIndent(map[string]any{
		"cniVersion": "1.0.0",
		"name":       "lab",
		"plugins": []any{
			map[string]any{
				"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
				"ipam": map[string]any{
					"type":   "host-local",
					"ranges": [][]any{{map[string]any{"subnet": podCIDR}}},
					"routes": []any{map[string]any{"dst": "0.0.0.0/0"}},
				},
			},
			map[string]any{"type": "portmap", "capabilities": map[string]bool{"portMappings": true}},
		},
	}, "", "  ")
}
