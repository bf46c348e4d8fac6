package main

import (
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// state is the desired network configuration of this node.
type state struct {
	podCIDR string            // pod range of this node; "" until the controller manager assigns one
	routes  map[string]string // address of each other node by its pod range
}

func (s state) equal(o state) bool { return s.podCIDR == o.podCIDR && maps.Equal(s.routes, o.routes) }

// desired returns the network configuration of node self.
func desired(self string, nodes []*corev1.Node) state {
	s := state{routes: map[string]string{}}
	for _, n := range nodes {
		switch address := internalIP(n); {
		case n.Name == self:
			s.podCIDR = n.Spec.PodCIDR
		case n.Spec.PodCIDR != "" && address != "":
			s.routes[n.Spec.PodCIDR] = address
		}
	}
	return s
}

func internalIP(n *corev1.Node) string {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	return ""
}

// conflist returns the CNI configuration for a node with this pod range.
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
