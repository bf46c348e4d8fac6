package session

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// KubectlOn returns the beginning of a command that runs kubectl on a control plane, at its own API server if
// the cluster has or had other control planes.
func (in Input) KubectlOn(n contract.Node) string {
	return node.Kubectl(n, slices.Concat(in.Nodes, in.others, in.Request.Members), in.GroupVars)
}

// ServerOf returns the URL of the API server that is asked on a control plane: its own one, if the cluster has or had other
// control planes; empty: the one in its admin.conf.
func (in Input) ServerOf(n contract.Node) string {
	return node.OwnServer(n, slices.Concat(in.Nodes, in.others, in.Request.Members), in.GroupVars)
}
