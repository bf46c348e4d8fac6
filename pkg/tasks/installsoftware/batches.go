package installsoftware

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/appcluster"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

const (
	// keyCordoned is a key of the record. Its value is a JSON list of the nodes that a run is about to
	// cordon, so that the next run knows that it must look after them. Only the task reads it.
	keyCordoned = "cordoned.json"
	// undoLimit bounds the time to uncordon nodes after the task was cancelled.
	undoLimit = 15 * time.Second
)

// batches returns the nodes in the order in which they are drained: control plane nodes first and one by
// one, because etcd needs the majority of them, and then the workers, size at a time.
func batches(nodes []contract.Node, size int) (all [][]contract.Node) {
	var workers []contract.Node
	for _, n := range nodes {
		if slices.Contains(n.Roles, contract.RoleControlPlane) {
			all = append(all, []contract.Node{n})
		} else {
			workers = append(workers, n)
		}
	}
	return append(all, slices.Collect(slices.Chunk(workers, max(size, 1)))...)
}

// drainAll changes nodes that must be drained. It also uncordons nodes that an earlier run has left.
func (r *run) drainAll(ctx context.Context, nodes []contract.Node) error {
	left, err := r.cordoned(ctx)
	if err != nil {
		return err
	}
	if len(nodes) == 0 && len(left) == 0 {
		return nil
	}
	cluster, leave, err := r.ports.Enter(ctx, r.in, r.ports.Log)
	if err != nil {
		return err
	}
	r.cluster, r.leave = cluster, leave
	if len(left) > 0 {
		fmt.Fprintf(r.ports.Log, "An earlier run has left cordoned nodes: %s\n", strings.Join(left, ", "))
		if err := r.uncordon(ctx, left); err != nil {
			return err
		}
	}
	if r.before, err = cluster.States(ctx); err != nil {
		return unanswered(err)
	}
	all := batches(nodes, r.in.Request.Software.Batch)
	for i, batch := range all {
		ends, err := r.ports.Record.Get(ctx, contract.KeyEnds)
		if err != nil {
			return stored(err)
		}
		if ends == r.in.Run {
			r.left = slices.Concat(all[i:]...)
			fmt.Fprintf(r.ports.Log, "\nAnother change of the cluster comes first. These nodes wait for the next run: %s\n", names(r.left))
			return nil
		}
		if err := r.batch(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// cordoned returns the nodes that an earlier run may have left cordoned.
func (r *run) cordoned(ctx context.Context) (left []string, err error) {
	text, err := r.ports.Record.Get(ctx, keyCordoned)
	if err != nil || text == "" {
		return nil, stored(err)
	}
	if err := json.Unmarshal([]byte(text), &left); err != nil {
		return nil, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("read %s: %w", keyCordoned, err))
	}
	return left, nil
}

func (r *run) remember(ctx context.Context, names []string) error {
	text, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return stored(r.ports.Record.Set(ctx, keyCordoned, string(text)))
}

// batch drains, changes and reboots some nodes, and waits until all nodes of the cluster are as before.
func (r *run) batch(ctx context.Context, batch []contract.Node) (err error) {
	if err := r.gate(ctx, nil); err != nil {
		return err
	}
	if batch, err = r.refuse(ctx, batch); err != nil || len(batch) == 0 {
		return err
	}
	if err := r.quorum(ctx, batch); err != nil {
		return err
	}
	r.step("Drain", batch)
	var all []string
	for _, n := range batch {
		all = append(all, n.Name)
	}
	if err := r.remember(ctx, all); err != nil {
		return err
	}
	defer func() {
		undo, cancel := ctx, context.CancelFunc(func() {})
		if ctx.Err() != nil {
			undo, cancel = context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
		}
		defer cancel()
		if failed := r.uncordon(undo, all); failed != nil {
			fmt.Fprintf(r.ports.Log, "  %v; the next run does this\n", failed)
			if err == nil {
				err = failed
			}
		}
	}()
	empty, err := r.drain(ctx, batch)
	if err != nil || len(empty) == 0 {
		return err
	}
	return r.changeDrained(ctx, empty)
}

// refuse refuses the changes of nodes that cannot be drained, and returns the others. A node that the cluster
// does not have counts as not Ready.
func (r *run) refuse(ctx context.Context, batch []contract.Node) (ready []contract.Node, err error) {
	for _, n := range batch {
		if r.before[n.Name].Ready {
			ready = append(ready, n)
		} else if err := r.work.Refuse(ctx, n, "the node is not Ready, so it cannot be drained. Repair it", true); err != nil {
			return nil, stored(err)
		}
	}
	return ready, nil
}

// drain cordons all nodes, so that no pod moves to another one of them, and then drains one after the other.
// It returns those that are drained. The changes of the others are refused.
func (r *run) drain(ctx context.Context, batch []contract.Node) (empty []contract.Node, err error) {
	r.drained = true
	for _, n := range batch {
		if err := r.cluster.Cordon(ctx, n.Name); err != nil {
			return nil, unanswered(err)
		}
	}
	for _, n := range batch {
		err := error(nil)
		if limit := time.Duration(r.in.Request.Software.DrainSeconds) * time.Second; limit > 0 {
			err = r.cluster.Drain(ctx, n.Name, limit)
		}
		if ctx.Err() != nil {
			return nil, err
		}
		if err == nil {
			empty = append(empty, n)
		} else if err := r.work.Refuse(ctx, n, err.Error(), false); err != nil {
			return nil, stored(err)
		}
	}
	return empty, nil
}

func (r *run) changeDrained(ctx context.Context, nodes []contract.Node) error {
	fmt.Fprintf(r.ports.Log, "\nChange the packages of %s\n", names(nodes))
	reboot, err := r.work.Apply(ctx, nodes)
	if err != nil {
		return stored(err)
	}
	booting := slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool { return !slices.Contains(reboot, n.Name) })
	if len(booting) > 0 {
		if err := r.rebootable(ctx, booting); err != nil {
			return err
		}
		fmt.Fprintf(r.ports.Log, "\nReboot %s\n", names(booting))
		failed, err := r.work.Reboot(ctx, booting)
		if err != nil {
			return err
		}
		for _, n := range booting {
			if message, bad := failed[n.Name]; bad {
				return &task.Error{Reason: contract.ReasonTaskTimedOut, Host: n.Name, Step: "reboot", Err: fmt.Errorf(
					"the packages of node %s are changed, but the machine has not booted again: %s. Look at its console", n.Name, message)}
			}
		}
	}
	if err := r.gate(ctx, reboot); err != nil {
		return err
	}
	return r.startPods(ctx, reboot)
}

// gate waits until all nodes are Ready that were Ready before the first drain. The kubelets of the nodes
// that have booted again must have reported since: the cluster learns late that a node went away.
func (r *run) gate(ctx context.Context, booted []string) error {
	limited, cancel := context.WithTimeout(ctx, r.in.ReadyLimit)
	defer cancel()
	var waiting []string
	for last := error(nil); ; {
		states, err := r.cluster.States(limited)
		if err == nil {
			waiting, last = waiting[:0], nil
			for name, s := range r.before {
				now, there := states[name]
				if there && s.Ready && (!now.Ready || slices.Contains(booted, name) && now.Boot == s.Boot) {
					waiting = append(waiting, name)
				}
			}
			if len(waiting) == 0 {
				return nil
			}
		} else if limited.Err() == nil {
			last = err
		}
		if r.ports.Pause(limited) {
			continue
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the wait for the nodes was interrupted: %w", errors.Join(ctx.Err(), context.Cause(ctx)))
		}
		if last != nil {
			return unanswered(last)
		}
		slices.Sort(waiting)
		step, drained := "wait for Ready nodes", "No other node"
		if !r.drained {
			step, drained = contract.StepBeforeDrain, "No node"
		}
		return &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: waiting[0], Step: step, Others: waiting[1:], Err: fmt.Errorf(
			"not Ready within %s: %s. %s was drained. Repair it; the next run continues", r.in.ReadyLimit, strings.Join(waiting, ", "), drained)}
	}
}

// uncordon lets nodes accept pods again that a run has cordoned, and forgets them.
func (r *run) uncordon(ctx context.Context, names []string) error {
	var failed error
	for _, name := range names {
		failed = errors.Join(failed, r.cluster.Uncordon(ctx, name))
	}
	if failed != nil {
		return unanswered(failed)
	}
	return r.remember(ctx, nil)
}

// unanswered adds the failure reason to an error of the cluster's API server.
func unanswered(err error) error { return task.Because(appcluster.Reason(err), err) }
