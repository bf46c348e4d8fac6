package nodemeta

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/nodemeta"
)

// node is a Node that is not in step.
type node struct {
	name string
	want nodemeta.Metadata
}

// joined are the states of nodes that the looks at a cluster have seen in it.
var joined = []v1alpha1.NodeState{v1alpha1.NodeReady, v1alpha1.NodeNotReady, v1alpha1.NodeLost}

// differing returns the nodes that do not have what the Provisioning requests, as far as its status shows it. While the
// cluster is being restored there are none: what is written to it can be lost.
func differing(p *v1alpha1.Provisioning) (nodes []node) {
	if p.Status.InstalledDigest == "" || p.Status.IsRestoring() {
		return nil
	}
	for _, n := range p.Status.Nodes {
		if want := wanted(&p.Spec, n); slices.Contains(joined, n.State) && want.Digest() != n.AppliedMetadata {
			nodes = append(nodes, node{n.Name, want})
		}
	}
	return nodes
}

// wanted returns what a Node is to have: what its host gives it, and over it what the spec requests.
func wanted(spec *v1alpha1.ProvisioningSpec, n v1alpha1.NodeStatus) nodemeta.Metadata {
	m := spec.MetadataOf(n.Name, n.NodeSet)
	asked := nodemeta.Metadata{Labels: m.Labels, Annotations: m.Annotations}
	for _, t := range m.Taints {
		asked.Taints = append(asked.Taints, nodemeta.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	return nodemeta.Merge(nodemeta.Metadata{Labels: n.HostLabels}, asked)
}
