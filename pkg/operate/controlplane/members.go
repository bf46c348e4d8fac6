package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// PeerHosts returns the hosts of a member's peer URLs, which are addresses.
func PeerHosts(m etcd.Member) (all []string) {
	for _, peer := range m.PeerURLs {
		if u, err := url.Parse(peer); err == nil {
			all = append(all, u.Hostname())
		}
	}
	return all
}

// UnhealthyMembers returns what is wrong with the members of etcd; empty: nothing. healthy are the
// client URLs of those that answer.
func UnhealthyMembers(members []etcd.Member, healthy []string) string {
	for _, m := range members {
		switch {
		case len(m.ClientURLs) == 0:
			return fmt.Sprintf("member %x of etcd at %s has not started", m.ID, session.Printable(fmt.Sprint(PeerHosts(m))))
		case m.IsLearner:
			return fmt.Sprintf("member %s of etcd is a learner", session.Printable(m.Name))
		case !m.HealthyIn(healthy):
			return fmt.Sprintf("member %s of etcd is not healthy", session.Printable(m.Name))
		}
	}
	return ""
}

// AwaitMembers waits until etcd has a healthy member on each node that should have one, and no other
// member that is not healthy, except those on lost nodes that stay.
func AwaitMembers(ctx context.Context, in session.Input, access node.Access, ports session.Ports) error {
	all := node.ControlPlanes(in.Nodes)
	p := Group{Input: in, Access: access, Ports: ports, Stay: all}
	w := &cluster.Client{Input: in, Access: access}
	defer w.Close()
	return p.Await(ctx, all[0], "wait for the members of etcd", func(ctx context.Context) error {
		c := &cluster.View{Client: w, Ready: map[string]bool{}}
		for _, n := range all {
			c.Ready[n.Name] = true // the next question finds out which of them answer
		}
		return c.OnEtcd(ctx, all, func(e etcd.Client) error {
			members, healthy, err := e.Look()
			if err != nil {
				return err
			}
			if bad := UnhealthyMembers(WithoutKept(in, members), healthy); bad != "" {
				return errors.New(bad)
			}
			return missingMember(all, members)
		})
	})
}

// WithoutKept returns the members of etcd that are not on lost nodes that stay in the cluster (Request.Kept).
func WithoutKept(in session.Input, members []etcd.Member) []etcd.Member {
	return slices.DeleteFunc(slices.Clone(members), func(m etcd.Member) bool {
		at := func(n contract.Node) bool { return m.At(n.Address, n.Address6) }
		kept := func(n contract.Node) bool { return slices.Contains(in.Request.Kept, n.Name) && at(n) }
		return slices.ContainsFunc(in.Request.Members, kept) && !slices.ContainsFunc(in.Nodes, at) // a new machine can have the old address
	})
}

func missingMember(all []contract.Node, members []etcd.Member) error {
	for _, n := range all {
		there := n.Etcd == ""
		for _, m := range members {
			there = there || m.At(n.Address, n.Address6)
		}
		if !there {
			return fmt.Errorf("etcd has no member on %s", n.Name)
		}
	}
	return nil
}
