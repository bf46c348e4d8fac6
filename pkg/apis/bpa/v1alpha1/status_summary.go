package v1alpha1

import (
	"fmt"
	"slices"
	"strings"
)

// Summarize sets the fields that kubectl get shows of the nodes. It is called after Nodes has been set.
func (s *ProvisioningStatus) Summarize() {
	ready, all, versions := 0, 0, []string(nil)
	for _, n := range s.Nodes {
		if n.State == NodeStandby {
			continue
		}
		if all++; n.State == NodeReady {
			ready++
		}
		if n.Version != "" {
			versions = append(versions, n.Version)
		}
	}
	slices.Sort(versions)
	s.NodesReady, s.KubernetesVersion = "", strings.Join(slices.Compact(versions), ",")
	if all > 0 {
		s.NodesReady = fmt.Sprintf("%d/%d", ready, all)
	}
}
