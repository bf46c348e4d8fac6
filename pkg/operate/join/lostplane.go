package join

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// forget removes a lost control plane from etcd and from the cluster. If the control plane stays in the
// record, to be replaced later, only its member of etcd is removed: while a member is dead, etcd
// refuses another one.
func (a *addition) forget(ctx context.Context, found *cluster.View, lost contract.Node) error {
	if !session.KubernetesName.MatchString(lost.Name) {
		return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("%q is not the name of a node", lost.Name))
	}
	address, err := addressOf(ctx, found.Client, lost.Name)
	if err != nil {
		return cluster.Unanswered("find the address of node "+lost.Name, err)
	}
	itself := address == "" || address == lost.Address
	if itself && found.Ready[lost.Name] { // the new machine can have the name and the address of the old one
		if taken, err := a.takenOver(ctx, found, lost.Name); err != nil || taken {
			return err
		}
	}
	if itself && found.Ready[lost.Name] && !found.Client.AwaitUnready(ctx, lost.Name) {
		return &task.Error{Reason: contract.ReasonResetIncomplete, Host: lost.Name, Step: "remove the lost control plane",
			Err: fmt.Errorf("node %s is Ready in the cluster, so its host %s is not lost. %sSwitch the machine off; the next attempt continues", lost.Name, lost.Host, a.unchanged())}
	}
	if itself && found.Ready[lost.Name] {
		found.Ready[lost.Name] = false
	}
	if err := found.RemoveMember(ctx, a.planes.Stay, lost); err != nil {
		return &task.Error{Reason: contract.ReasonQuorumAtRisk, Host: lost.Name, Step: "remove the lost control plane from etcd",
			Err: fmt.Errorf("the lost control plane %s cannot be removed from etcd: %w. %s", lost.Name, err, controlplane.QuorumAdvice)}
	}
	a.removed = true
	if _, registered := found.Ready[lost.Name]; !registered || !itself || slices.Contains(a.in.Request.Kept, lost.Name) {
		return nil
	}
	fmt.Fprintf(a.ports.Log, "Lost control plane %s is removed from the cluster\n", lost.Name)
	if _, err := found.Client.Ask(ctx, "delete node "+lost.Name+" --ignore-not-found --wait=false", 64<<10); err != nil {
		return cluster.Unanswered("delete node "+lost.Name, err)
	}
	return nil
}

// takenOver reports whether the Node of a lost control plane is that of its new machine, which has joined or
// which an unfinished attempt has begun to join.
func (a *addition) takenOver(ctx context.Context, found *cluster.View, name string) (bool, error) {
	i := slices.IndexFunc(a.in.Nodes, func(n contract.Node) bool { return n.Name == name })
	switch {
	case i < 0:
		return false, nil
	case !slices.Contains(a.in.Fresh, name):
		return true, nil
	}
	return hasNode(ctx, a.c, a.in, found.Client, a.in.Nodes[i], a.key, a.ports)
}

// addressOf returns the internal address of a node; empty: there is none.
func addressOf(ctx context.Context, w *cluster.Client, name string) (string, error) {
	text, err := w.Ask(ctx, "get node "+name+` --ignore-not-found --output jsonpath='{.status.addresses[?(@.type=="InternalIP")].address}'`, 64<<10)
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	return first, err
}

// checkMembers removes what an unfinished attempt has left in etcd, and checks that the members that
// stay are healthy: while a member joins, etcd can spare none.
func (a *addition) checkMembers(ctx context.Context, found *cluster.View) error {
	err := found.OnEtcd(ctx, a.planes.Stay, func(e etcd.Client) error {
		members, healthy, err := e.Look()
		if err != nil {
			return err
		}
		for _, m := range a.strays(found, members) {
			if _, _, err := etcd.Removal(members, healthy, controlplane.PeerHosts(m)); err != nil {
				return err
			}
			fmt.Fprintf(a.ports.Log, "  member %x of etcd is left from an unfinished attempt: it is removed\n", m.ID)
			if err := e.Remove(m); err != nil {
				return err
			}
			a.removed = true
			members = slices.DeleteFunc(slices.Clone(members), func(o etcd.Member) bool { return o.ID == m.ID })
		}
		if len(a.joins()) == 0 {
			members = controlplane.WithoutKept(a.in, members)
		}
		if bad := controlplane.UnhealthyMembers(members, healthy); bad != "" {
			return errors.New(bad)
		}
		return nil
	})
	if err != nil {
		return a.noQuorum(err)
	}
	return nil
}

// strays returns the members that are of no use: those on a new machine whose node is not Ready, and
// those that never started on a machine that the cluster does not have.
func (a *addition) strays(found *cluster.View, members []etcd.Member) (all []etcd.Member) {
	for _, m := range members {
		i := slices.IndexFunc(a.in.Nodes, func(n contract.Node) bool { return m.At(n.Address, n.Address6) })
		switch {
		case i < 0 && (len(m.ClientURLs) == 0 || m.IsLearner):
			all = append(all, m)
		case i >= 0 && slices.Contains(a.in.Fresh, a.in.Nodes[i].Name) && !found.Ready[a.in.Nodes[i].Name]:
			all = append(all, m)
		}
	}
	return all
}
