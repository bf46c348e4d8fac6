package cluster

import (
	"context"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// RemoveMember removes a control plane from etcd, before its machine is reset. It asks the Ready
// control planes in their order, because kubespray leaves a control plane out of etcd if their
// number is even. If etcd does not have the member, nothing is left to do.
func (c *View) RemoveMember(ctx context.Context, all []contract.Node, n contract.Node) error {
	return c.leaveEtcd(ctx, all, n, true)
}

// CheckQuorum returns an error if etcd would not have a healthy majority without the control plane.
func (c *View) CheckQuorum(ctx context.Context, all []contract.Node, n contract.Node) error {
	return c.leaveEtcd(ctx, all, n, false)
}

// leaveEtcd finds the member of a control plane, checks that etcd can lose it, and removes it if
// remove is true.
func (c *View) leaveEtcd(ctx context.Context, all []contract.Node, n contract.Node, remove bool) error {
	others := slices.DeleteFunc(slices.Clone(all), func(via contract.Node) bool { return via.HostUID == n.HostUID })
	return c.OnEtcd(ctx, others, func(e etcd.Client) error {
		members, healthy, err := e.Look()
		if err != nil {
			return err
		}
		m, found, err := etcd.Removal(members, healthy, []string{n.Address, n.Address6})
		if err != nil || !found || !remove {
			return err
		}
		return e.Remove(m)
	})
}

// OnEtcd calls do with a client of etcd on the first of the Ready control planes that has a member.
func (c *View) OnEtcd(ctx context.Context, all []contract.Node, do func(etcd.Client) error) error {
	planes := slices.DeleteFunc(node.ControlPlanes(all), func(n contract.Node) bool { return !c.Ready[n.Name] || !session.KubernetesName.MatchString(n.Name) })
	return etcd.Reach{Access: c.Client.Access, Kubectl: c.Client.Input.KubectlOn, Limit: c.Client.Input.ProbeLimit}.On(ctx, planes, do)
}
