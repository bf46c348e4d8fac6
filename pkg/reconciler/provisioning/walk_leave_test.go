package provisioning

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/shrink"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// remove lets nodes leave. See the function of this name in package kubespray.
func (p *simPlaybooks) remove(ctx context.Context) error {
	if err := p.records.Rebuild(ctx, p.request); err != nil {
		return err
	}
	now, _ := p.records.Installed()
	all := p.records.Nodes(p.nodes, p.request.Remove.Nodes)
	p.request.Members, p.request.EtcdNext = now.Nodes, now.EtcdNext
	pods := map[string]int{}
	for _, n := range all {
		pods[n.Name] = p.w.random.IntN(3)
	}
	leaving := shrink.Leaving(*p.request.Remove, now, pods)
	leave := slices.DeleteFunc(slices.Clone(all), func(n contract.Node) bool { return !slices.Contains(leaving, n.Name) })
	stay := slices.DeleteFunc(slices.Clone(now.Nodes), func(n contract.Node) bool {
		return calledNode(leave, n.Name) || slices.Contains(p.request.Kept, n.Name)
	})
	p.request.Remove = &contract.Removal{Nodes: nodeNamesOf(leave), Alive: p.request.Remove.Alive, DrainSeconds: p.request.Remove.DrainSeconds}
	err := p.records.Change(ctx, func(next *contract.Installed) {
		next.Draining = slices.DeleteFunc(next.Draining, func(name string) bool { return !calledNode(leave, name) })
	})
	if err != nil {
		return err
	}
	if len(leave) > 0 {
		wait, err := p.leave(ctx, leave)
		if err != nil {
			return err
		}
		stay = append(stay, wait...)
	}
	now, _ = p.records.Installed()
	p.request.Members, p.request.EtcdNext = now.Nodes, now.EtcdNext
	p.a.uncordon(now)
	ordered, _ := inventory.Members(p.request, stay)
	return p.records.Complete(ctx, p.request, ordered)
}

func (a *simCluster) uncordon(record contract.Installed) {
	for name := range a.cordoned {
		if !slices.Contains(record.Draining, name) && !slices.Contains(record.Leaving, name) {
			delete(a.cordoned, name)
		}
	}
}

func nodeNamesOf(nodes []contract.Node) (all []string) {
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	return all
}

// leave lets nodes leave, and returns those that stay until the next run, because this one is asked to end.
func (p *simPlaybooks) leave(ctx context.Context, leave []contract.Node) (wait []contract.Node, err error) {
	now, _ := p.records.Installed()
	for _, n := range leave {
		m := p.w.machineOf(n)
		silent, ready := m == nil || !m.answers(), p.a.ready(n.Name)
		if silent && (ready && calledNode(now.Nodes, n.Name) || !ready && slices.Contains(p.request.Remove.Alive, n.Name)) {
			return nil, &task.Error{Reason: contract.ReasonHostUnreachable, Host: n.Name, Err: fmt.Errorf("node %s is Ready: %t, and %s does not answer", n.Name, ready, n.Host)}
		}
		if controlPlaneNode(n) && p.a.etcd[n.Name] != nil && !p.a.survives(n.Name) {
			return nil, &task.Error{Reason: contract.ReasonQuorumAtRisk, Host: n.Name, Err: errors.New("etcd would lose its majority")}
		}
	}
	err = p.records.Change(ctx, func(next *contract.Installed) {
		for _, n := range leave {
			if !slices.Contains(next.Draining, n.Name) && !slices.Contains(next.Leaving, n.Name) {
				next.Draining = append(next.Draining, n.Name)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	for _, n := range leave {
		if err := p.pause(); err != nil {
			return nil, err
		}
		p.a.cordoned[n.Name] = true
	}
	leave, wait = p.drained(ctx, leave, now.Leaving)
	if len(wait) > 0 {
		if err := p.records.Change(ctx, func(next *contract.Installed) {
			next.Draining = slices.DeleteFunc(next.Draining, func(name string) bool { return calledNode(wait, name) })
		}); err != nil {
			return nil, err
		}
	}
	if len(leave) == 0 {
		return wait, nil
	}
	if p.w.drainFails > 0 {
		p.w.drainFails--
		if err := p.records.Change(ctx, func(next *contract.Installed) {
			next.Draining = slices.DeleteFunc(next.Draining, func(name string) bool { return calledNode(leave, name) })
		}); err != nil {
			return nil, err
		}
		for _, n := range leave { // as the task does after a drain that fails
			delete(p.a.cordoned, n.Name)
		}
		return nil, &task.Error{Reason: contract.ReasonDrainBlocked, Host: leave[0].Name, Err: errors.New("a PodDisruptionBudget")}
	}
	err = p.records.Change(ctx, func(next *contract.Installed) {
		for _, n := range leave {
			if calledNode(next.Nodes, n.Name) && !slices.Contains(next.Leaving, n.Name) {
				next.Leaving = append(next.Leaving, n.Name)
			}
		}
		next.Draining = slices.DeleteFunc(next.Draining, func(name string) bool { return calledNode(leave, name) })
	})
	if err != nil {
		return nil, err
	}
	if err := p.leaveEtcd(ctx, leave); err != nil {
		return nil, err
	}
	errs := make([]error, len(leave))
	for i, n := range leave {
		if m := p.w.machineOf(n); m == nil || !m.answers() { // it is left out
			p.w.notReset[n.HostUID] = true
			continue
		}
		if errs[i] = p.empty(ctx, n); errors.Is(errs[i], errDead) {
			return nil, errDead
		}
	}
	for _, n := range leave {
		if err := p.pause(); err != nil {
			return nil, err
		}
		delete(p.a.nodes, n.Name)
		delete(p.a.cordoned, n.Name)
	}
	if err := p.records.Leave(ctx, leave, errs); err != nil {
		return nil, err
	}
	return wait, errors.Join(errs...)
}

// drained returns the nodes that leave, and those that are not drained, because the run is asked to end.
func (p *simPlaybooks) drained(ctx context.Context, leave []contract.Node, before []string) (drained, wait []contract.Node) {
	for _, n := range leave {
		if !slices.Contains(before, n.Name) && (len(wait) > 0 || p.ends(ctx, n)) {
			wait = append(wait, n)
			delete(p.a.cordoned, n.Name)
			continue
		}
		drained = append(drained, n)
	}
	return drained, wait
}

// survives reports whether etcd has a majority without this member.
func (a *simCluster) survives(name string) bool {
	alive := a.alive()
	if m := a.etcd[name]; m.answers() && m.node == name {
		alive--
	}
	return alive > (len(a.etcd)-1)/2
}

func (p *simPlaybooks) leaveEtcd(ctx context.Context, leave []contract.Node) error {
	for _, n := range leave {
		if !controlPlaneNode(n) || p.a.etcd[n.Name] == nil {
			continue
		}
		if err := p.pause(); err != nil {
			return err
		}
		if !p.a.survives(n.Name) { // a machine can have become silent since leave has asked
			return &task.Error{Reason: contract.ReasonQuorumAtRisk, Host: n.Name, Err: errors.New("etcd would lose its majority")}
		}
		if delete(p.a.etcd, n.Name); !p.a.answers() {
			return p.w.bad("etcd has lost its majority by the removal of %s", n.Name)
		}
	}
	return p.records.Change(ctx, func(next *contract.Installed) {
		for i, n := range next.Nodes {
			if calledNode(leave, n.Name) {
				next.Nodes[i].Etcd = ""
			}
		}
	})
}
