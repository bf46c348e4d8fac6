package kubespray

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

const (
	// drainRound is the longest time of one call of kubectl drain. Between two calls, the task shows
	// how many pods are left, and checks that the node is alive.
	drainRound = 10 * time.Second
	// deadAfter is how long a node must not be Ready until its drain ends without success. Then its
	// pods cannot end, but a kubelet that only restarts is Ready again earlier.
	deadAfter = time.Minute
	// undoLimit bounds the time to uncordon nodes after the task was told to end.
	undoLimit = 15 * time.Second
	// drainFlags: pods of DaemonSets stay, because they would be recreated on the same node. Data in
	// emptyDir volumes is lost with the node in any case. Pods without a controller are deleted too
	// (--force): without this, kubectl refuses to evict any pod. PodDisruptionBudgets are respected.
	drainFlags = " --ignore-daemonsets --delete-emptydir-data --force"
)

// drain moves the pods of some nodes to other nodes. First it cordons all of the nodes, so that no pod
// moves to another one of them. Then it drains them one after the other, so that the cluster never
// loses more pods at the same time than one node has. If a node cannot be drained, all of them
// accept pods again.
func (r *remover) drain(ctx context.Context, nodes []contract.Node) error {
	if len(nodes) == 0 {
		return nil
	}
	all := namesOf(nodes)
	if err := r.members.change(ctx, func(next *contract.Installed) { next.Draining = with(next.Draining, all) }); err != nil {
		return err
	}
	err := r.drainAll(ctx, nodes)
	if err == nil {
		return nil
	}
	undo, cancel := ctx, context.CancelFunc(func() {})
	if ctx.Err() != nil { // a cancelled run should leave no cordoned node; if it does, the next run uncordons it
		undo, cancel = context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
	}
	defer cancel()
	if failed := r.uncordon(undo, all); failed != nil {
		fmt.Fprintf(r.ports.Log, "  %v; the next attempt does this\n", failed)
	}
	return err
}

func (r *remover) drainAll(ctx context.Context, nodes []contract.Node) error {
	for _, n := range nodes {
		if _, err := r.w.ask(ctx, "cordon "+n.Name, 64<<10); err != nil {
			return unanswered("cordon node "+n.Name, err)
		}
	}
	for i, n := range nodes {
		report := func(done float64, step string) {
			r.progress.set(drainFrom+int(drainShare*(float64(i)+done)/float64(len(nodes))), step)
		}
		if err := r.drainNode(ctx, n.Name, report); err != nil {
			return err
		}
	}
	return nil
}

// uncordon lets nodes accept pods again, and takes them out of the record's list Draining.
func (r *remover) uncordon(ctx context.Context, names []string) error {
	return uncordon(ctx, r.w, r.members, names, r.ports)
}

func uncordon(ctx context.Context, w *watch, members *installed, names []string, ports Ports) error {
	if len(names) == 0 {
		return nil
	}
	registered, err := w.registered(ctx)
	if err != nil {
		return unanswered("uncordon "+strings.Join(names, ", "), err)
	}
	for _, name := range names {
		if _, there := registered[name]; !there || !kubernetesName.MatchString(name) {
			continue
		}
		if _, err := w.ask(ctx, "uncordon "+name, 64<<10); err != nil {
			return unanswered("uncordon node "+name, err)
		}
		fmt.Fprintf(ports.Log, "Node %s accepts pods again\n", name)
	}
	return members.change(ctx, func(next *contract.Installed) { next.Draining = without(next.Draining, names) })
}

// endDrains uncordons the nodes that an earlier run began to drain, if their removal is not wanted any
// more.
func endDrains(ctx context.Context, in Input, key ssh.Key, pins ssh.Pins, ports Ports, members *installed) error {
	names := without(members.now.Draining, members.now.Leaving)
	if len(names) == 0 {
		return nil
	}
	w, err := newWatch(ctx, in, node.Access{Dial: ports.Dial, Request: in.Request, Key: key, Pins: pins, Limit: in.ConnectLimit})
	if err != nil {
		return err
	}
	defer w.close()
	return uncordon(ctx, w, members, names, ports)
}

// drainNode evicts the pods of one node, and waits until they have ended and their volumes are
// detached. report is as in drainage.
func (r *remover) drainNode(ctx context.Context, name string, report func(done float64, step string)) error {
	limit := time.Duration(r.in.Request.Remove.DrainSeconds) * time.Second
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	d := drainage{w: r.w, name: name, log: r.ports.Log, report: report, alive: time.Now()}
	fmt.Fprintf(r.ports.Log, "\nDraining node %s, at most %s\n", name, limit)
	for {
		done, err := d.round(limited)
		if limited.Err() != nil {
			break
		}
		if err != nil {
			d.said = err.Error()
		}
		if done {
			report(1, "Drain "+name)
			return nil
		}
		pause := time.NewTimer(time.Second) // kubectl drain may end at once
		select {
		case <-pause.C:
		case <-limited.Done():
			pause.Stop()
		}
	}
	if err := stopped(ctx, "the drain of node "+name); err != nil {
		return err
	}
	return d.blocked(ctx, limit)
}

var errNoAPI = errors.New("no API server answers")

// registered returns the nodes of the cluster by name, and whether they are Ready.
func (w *watch) registered(ctx context.Context) (map[string]bool, error) {
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	ready, err := w.nodes(ctx)
	if err == nil && ready == nil {
		err = errNoAPI
	}
	if err != nil {
		w.close()
	}
	return ready, err
}

// drainage is the drain of one node.
type drainage struct {
	w    *watch
	name string
	log  io.Writer
	// report receives the part of the drain that is done, 0 to 1.
	report func(done float64, step string)

	left  []pod     // must still leave
	most  int       // the largest number of them
	alive time.Time // when the node was Ready for the last time, or the start
	empty time.Time // when no pod was left for the first time
	said  string    // the last error of kubectl
}

// round evicts pods for a short time. It reports whether the node is drained, or is dead, so that
// nothing more can be done.
func (d *drainage) round(ctx context.Context) (done bool, err error) {
	ready, err := d.w.registered(ctx)
	switch {
	case err != nil:
		return false, err
	case ready[d.name]:
		d.alive = time.Now()
	case time.Since(d.alive) > d.patience():
		fmt.Fprintf(d.log, "  node %s is not Ready, so its pods cannot end. They are deleted with the node\n", d.name)
		return true, nil
	}
	if err := d.look(ctx); err != nil {
		return false, err
	}
	if len(d.left) > 0 && ready[d.name] {
		if err := d.evict(ctx); err != nil {
			return false, err
		}
		if err := d.look(ctx); err != nil {
			return false, err
		}
	}
	if len(d.left) > 0 {
		return false, nil
	}
	return d.volumesGone(ctx)
}

// look reads which pods are left, and reports their number.
func (d *drainage) look(ctx context.Context) error {
	left, err := d.w.podsOn(ctx, d.name)
	if err != nil {
		return err
	}
	if d.left = left; d.most == 0 && len(left) > 0 {
		d.tell()
	}
	d.most = max(d.most, len(left))
	if len(left) > 0 {
		d.report(1-float64(len(left))/float64(d.most), "Drain "+d.name+": "+some(len(left), "pod")+" left")
	}
	return nil
}

// evict runs kubectl drain for a short time. Pods that are left are no error.
func (d *drainage) evict(ctx context.Context) error {
	_, err := d.w.ask(ctx, fmt.Sprintf("drain %s%s --timeout=%s", d.name, drainFlags, min(drainRound, d.w.in.ProbeLimit/2)), 1<<20)
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		d.said = printable(strings.TrimSpace(exit.Stderr))
		return nil
	}
	return err
}

// patience is how long the node may not be Ready.
func (d *drainage) patience() time.Duration { return min(deadAfter, 2*d.w.in.ProbeLimit) }

// tell logs which pods are lost, because no controller creates them again.
func (d *drainage) tell() {
	fmt.Fprintf(d.log, "  %s must leave\n", some(len(d.left), "pod"))
	alone := slices.DeleteFunc(slices.Clone(d.left), func(p pod) bool { return len(p.Metadata.OwnerReferences) > 0 })
	if len(alone) > 0 {
		fmt.Fprintf(d.log, "  no controller owns %s, so no other node starts them again\n", listPods(alone, 10))
	}
}

// volumesGone reports whether all volumes are detached from the drained node. It waits only as long
// as for a dead node, because the volumes of pods that stay are not detached before the node is
// deleted.
func (d *drainage) volumesGone(ctx context.Context) (bool, error) {
	if d.empty.IsZero() {
		d.empty = time.Now()
	}
	var list struct {
		Items []struct{ Spec struct{ NodeName string } }
	}
	if err := d.w.get(ctx, "volumeattachments", &list); err != nil {
		return false, err
	}
	for _, v := range list.Items {
		if v.Spec.NodeName == d.name {
			return time.Since(d.empty) > d.patience(), nil
		}
	}
	return true, nil
}

// blocked returns the error of a drain whose time is over. It names the pods that are left, why they
// are, and the next command.
func (d *drainage) blocked(ctx context.Context, limit time.Duration) error {
	failed := &task.Error{Reason: contract.ReasonDrainBlocked, Host: d.name, Step: "drain the node"}
	left, err := d.w.podsOn(ctx, d.name)
	if err != nil {
		left = d.left // as seen before the time was over
	}
	if len(left) == 0 {
		failed.Err = fmt.Errorf("node %s was not drained within %s: %s. The next attempt continues", d.name, limit, cmp.Or(d.said, "its volumes are still attached"))
		return failed
	}
	var budgets struct{ Items []budget }
	if err := d.w.get(ctx, "poddisruptionbudgets --all-namespaces", &budgets); err != nil {
		d.said = err.Error()
	}
	var texts []string
	next := "kubectl get pods --all-namespaces --field-selector spec.nodeName=" + d.name
	found := false
	const most = 3
	for i, p := range left {
		why, b := obstacle(p, budgets.Items)
		if i < most {
			texts = append(texts, fmt.Sprintf("%s (%s)", p, why))
		}
		if b != nil && !found {
			found = true
			next = printable(fmt.Sprintf("kubectl describe pdb %s -n %s", b.Metadata.Name, b.Metadata.Namespace))
		}
	}
	if over := len(left) - most; over > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", over))
	}
	detail := ""
	if !found && d.said != "" {
		detail = " kubectl says: " + d.said + "."
	}
	failed.Err = fmt.Errorf("%s did not leave node %s within %s: %s.%s The node accepts pods again, and the next attempt drains it. "+
		"To look at the cause, run on the cluster: %s. To wait longer, raise spec.timeouts.drain",
		some(len(left), "pod"), d.name, limit, strings.Join(texts, ", "), detail, next)
	return failed
}

func listPods(pods []pod, most int) string {
	var names []string
	for _, p := range pods[:min(len(pods), most)] {
		names = append(names, p.String())
	}
	if over := len(pods) - most; over > 0 {
		names = append(names, fmt.Sprintf("and %d more", over))
	}
	return strings.Join(names, ", ")
}

// unanswered is the error of a command for the cluster's API server.
func unanswered(what string, err error) error {
	return task.Because(contract.ReasonAPIUnavailable, fmt.Errorf("%s: %w", what, err))
}
