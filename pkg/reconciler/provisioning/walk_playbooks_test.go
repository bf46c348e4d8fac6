package provisioning

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// upgrade upgrades the nodes of the run, one after the other.
func (p *simPlaybooks) upgrade(ctx context.Context) error {
	u, err := p.records.Upgrade(ctx, p.request)
	if err != nil {
		return err
	}
	for _, n := range p.nodes {
		if m := p.a.nodes[n.Name]; !p.a.ready(n.Name) && m != nil {
			return &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: n.Name, Err: fmt.Errorf("node %s is not Ready", n.Name)}
		}
	}
	batch := slices.DeleteFunc(slices.Clone(p.nodes), func(n contract.Node) bool {
		return !slices.Contains(p.request.Upgrade.Nodes, n.Name) || !u.Left(n.Name)
	})
	err = p.records.Change(ctx, func(next *contract.Installed) {
		next.Draining = slices.DeleteFunc(next.Draining, func(name string) bool { return !calledNode(batch, name) })
		for _, n := range batch {
			if !slices.Contains(next.Draining, n.Name) {
				next.Draining = append(next.Draining, n.Name)
			}
		}
	})
	if err != nil {
		return err
	}
	for _, n := range batch {
		if controlPlaneNode(n) && len(batch) > 1 {
			return p.w.bad("control plane %s is upgraded together with others", n.Name)
		}
		if p.ends(ctx, n) {
			break
		}
		if err := u.Begin(ctx, n); err != nil {
			return err
		}
		if err := p.pause(); err != nil {
			return err
		}
		if err := u.Mark(ctx, n.Name); err != nil {
			return err
		}
	}
	err = p.records.Change(ctx, func(next *contract.Installed) {
		next.Draining = slices.DeleteFunc(next.Draining, func(name string) bool { return calledNode(batch, name) })
	})
	if err != nil {
		return err
	}
	return u.Complete(ctx)
}

// configure applies variables to the whole cluster.
func (p *simPlaybooks) configure(ctx context.Context) error {
	u, err := p.records.Upgrade(ctx, p.request)
	if err != nil {
		return err
	}
	if err := u.BeginAll(ctx); err != nil {
		return err
	}
	if err := p.pause(); err != nil {
		return err
	}
	return u.CompleteAll(ctx)
}

// reset empties all machines of the run.
func (p *simPlaybooks) reset(ctx context.Context) error {
	silent := 0
	for _, n := range p.nodes {
		if _, err := p.reach(n); err != nil {
			silent++
			p.w.notReset[n.HostUID] = true
		} else if err := p.empty(ctx, n); err != nil {
			return err
		}
	}
	if silent > 1 && silent == len(p.nodes) {
		return task.Because(contract.ReasonHostUnreachable, errors.New("no host answers"))
	}
	return nil
}

// restore installs all control planes anew, with the content of a backup.
func (p *simPlaybooks) restore(ctx context.Context) error {
	store := simStore{p.j.c, contract.InstalledName(p.request.Provisioning)}
	nodes, _ := inventory.Members(p.request, p.nodes)
	planes := slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool { return !controlPlaneNode(n) })
	if p.a.answers() && !p.request.Restore.Force {
		if now, _ := p.records.Installed(); now.Restoring == "" {
			return p.w.bad("a restore replaces a content of etcd that is not lost")
		}
	}
	for _, n := range planes {
		if _, err := p.reach(n); err != nil {
			return err
		}
	}
	if !p.request.Restore.Fenced {
		if err := store.Set(ctx, contract.KeyProved, p.request.Restore.Asked); err != nil {
			return err
		}
		return task.Because(contract.ReasonHostsNotFenced, errors.New("lost control planes may run"))
	}
	err := p.records.Change(ctx, func(next *contract.Installed) { next.Restoring = p.request.Restore.Asked })
	if err != nil {
		return err
	}
	if err := p.records.SetHosts(ctx, contract.HostUsed, planes...); err != nil {
		return err
	}
	if err := p.pause(); err != nil {
		return err
	}
	for name := range p.a.etcd {
		delete(p.a.nodes, name)
	}
	clear(p.a.etcd)
	for _, n := range planes {
		if err := p.join(n); err != nil {
			return err
		}
	}
	if err := p.records.Join(ctx, nodes); err != nil {
		return err
	}
	if err := p.records.Complete(ctx, p.request, nodes); err != nil {
		return err
	}
	return store.Set(ctx, contract.KeyProved, "")
}
