package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/controlplane"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/etcd"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// gateBefore waits until all nodes of the record, except lost and dead ones, and all system pods are
// Ready. Then it checks that etcd can spare the control plane node of the batch.
func (u *upgrader) gateBefore(ctx context.Context) error {
	ready, err := u.w.Registered(ctx)
	if err != nil {
		return cluster.Unanswered("check the cluster before the upgrade", err)
	}
	u.dead = u.repairable(ready)
	limit := u.in.HealthLimit
	if slices.ContainsFunc(u.batch, func(n contract.Node) bool { return !ready[n.Name] && !slices.Contains(u.dead, n.Name) }) {
		limit = min(limit, cluster.DeadAfter) // it may only restart, but it is not worth a longer wait
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	// in a small cluster, a system pod may wait for a node that an earlier attempt has cordoned
	cordoned := len(session.Intersect(u.members.Now.Draining, session.Names(u.batch)))+len(u.dead) > 0
	bad, healthy := u.w.AwaitHealthy(limited, u.ports.Log, func(t cluster.Problem) bool { return cordoned && t.Unplaced || slices.Contains(u.dead, t.Node) })
	if healthy {
		return u.checkQuorum(ctx)
	}
	if err := session.Stopped(ctx, "the upgrade"); err != nil {
		return err
	}
	return u.closed(bad)
}

// repairable returns the nodes of the batch that do not work after a failed upgrade to another version or to
// other variables than those of the request. The present ones may repair them, so the gate does not wait
// for them. If the failed upgrade was to the same ones, a user must repair the node first.
func (u *upgrader) repairable(ready map[string]bool) (dead []string) {
	other := func(n contract.Node, t *contract.Target) bool {
		return t != nil && t.Version != "" && len(t.Variables) == 0 && (t.Version != u.in.Request.KubernetesVersion || t.Settings != u.in.Request.SettingsOf(n))
	}
	for _, n := range u.members.Now.Nodes {
		if isReady, there := ready[n.Name]; there && !isReady && session.HasName(u.batch, n.Name) && other(n, n.Target) {
			dead = append(dead, n.Name)
		}
	}
	if len(dead) > 0 {
		fmt.Fprintf(u.ports.Log, "These nodes do not work since an upgrade with other settings failed, and get the requested ones all the same: %s\n", strings.Join(dead, ", "))
	}
	return dead
}

// closed is the error of an upgrade that does not begin.
func (u *upgrader) closed(bad []cluster.Problem) error {
	failed := &task.Error{Reason: contract.ReasonClusterUnhealthy, Step: "check the cluster before the upgrade"}
	if len(bad) == 0 {
		failed.Err = fmt.Errorf("the control plane does not answer, so no node was %s. Nothing was changed", u.verb())
		return failed
	}
	i := slices.IndexFunc(bad, func(t cluster.Problem) bool { return session.HasName(u.batch, t.Node) })
	if i < 0 {
		failed.Host = bad[0].Node
		failed.Err = fmt.Errorf("the cluster is not healthy, so no node was %s: %s. Nothing was changed. The next attempt continues", u.verb(), cluster.Summary(bad))
		return failed
	}
	failed.Host = bad[i].Node
	failed.Err = fmt.Errorf("node %s is to be %s, but it does not work: %s. Nothing was changed in this attempt. Repair the node, for example "+
		"by journalctl -u kubelet on its host, then run: %s", bad[i].Node, u.verb(), bad[i].What, u.retry())
	return failed
}

func (u *upgrader) retry() string {
	return fmt.Sprintf("kubectl bpa retry %s -n %s", u.in.Request.Provisioning, u.in.Request.Namespace)
}

// checkQuorum checks that etcd has a majority while the control plane node of the batch is upgraded.
func (u *upgrader) checkQuorum(ctx context.Context) error {
	for _, n := range node.ControlPlanes(u.batch) {
		if err := u.spares(ctx, n); err != nil {
			return &task.Error{Reason: contract.ReasonQuorumAtRisk, Host: n.Name, Step: "check etcd",
				Err: fmt.Errorf("control plane node %s cannot be %s: %w. Nothing was changed. The next attempt continues", n.Name, u.verb(), err)}
		}
	}
	return nil
}

// spares returns an error if etcd has no majority without the control plane node.
func (u *upgrader) spares(ctx context.Context, n contract.Node) error {
	return u.onEtcd(ctx, func(e etcd.Client) error {
		members, healthy, err := e.Look()
		if err != nil {
			return err
		}
		return etcd.Spare(members, healthy, []string{n.Address, n.Address6})
	})
}

// onEtcd calls do with a client of etcd on a control plane, if possible on one that is not upgraded.
func (u *upgrader) onEtcd(ctx context.Context, do func(etcd.Client) error) error {
	ready, err := u.w.Registered(ctx)
	if err != nil {
		return err
	}
	return (&cluster.View{Client: u.w, Ready: ready}).OnEtcd(ctx, u.w.Input.Nodes, do)
}

// await waits until the nodes of the batch work with the new version.
func (u *upgrader) await(ctx context.Context) error {
	err := u.settle(ctx, u.batch)
	var late *task.Error
	if errors.As(err, &late) && late.Reason == contract.ReasonClusterUnhealthy {
		return u.failed(ctx, err)
	}
	return err
}

// settle waits until these nodes of the batch work with the new version. Each of them is then recorded,
// and accepts pods again. If some do not work in time, it returns ReasonClusterUnhealthy.
func (u *upgrader) settle(ctx context.Context, nodes []contract.Node) error {
	if len(nodes) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, u.in.HealthLimit)
	defer cancel()
	tick := time.NewTicker(u.in.PollInterval())
	defer tick.Stop()
	pending, why := slices.Clone(nodes), map[string]string{}
	var since map[string]string // the heartbeats at the first look: a node is Ready for some time after its kubelet has stopped
	for {
		done, now := u.look(limited, pending, &since)
		done = u.starting(limited, done, now)
		if inTime(limited) {
			why = now
		}
		if err := u.finish(ctx, done); err != nil {
			return err
		}
		if pending = slices.DeleteFunc(pending, func(n contract.Node) bool { return slices.Contains(done, n.Name) }); len(pending) == 0 {
			return nil
		}
		select {
		case <-tick.C:
			continue
		case <-limited.Done():
		}
		if err := session.Stopped(ctx, "the upgrade"); err != nil {
			return err
		}
		return &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: pending[0].Name, Step: "wait for the " + u.verb() + " nodes",
			Err: fmt.Errorf("the %s succeeded, but %s does not work after %s: %s", u.last(), pending[0].Name, u.in.HealthLimit, why[pending[0].Name])}
	}
}

// look returns the names of the pending nodes that work with the new version, and why the others do
// not. Pods that no node runs yet do not count: they may wait for these nodes.
func (u *upgrader) look(ctx context.Context, pending []contract.Node, since *map[string]string) (done []string, why map[string]string) {
	why = map[string]string{}
	all := func(text string) ([]string, map[string]string) {
		for _, n := range pending {
			why[n.Name] = text
		}
		return nil, why
	}
	beats, err := heartbeats(ctx, u.w)
	if err != nil {
		return all(err.Error())
	}
	if *since == nil {
		*since = beats
	}
	kubelets, err := kubelets(ctx, u.w)
	if err != nil {
		return all(err.Error())
	}
	bad := u.w.Probe(ctx)
	for _, n := range pending {
		about := slices.IndexFunc(bad, func(t cluster.Problem) bool { return t.Node == n.Name || t.Node == "" && !t.Unplaced })
		switch want := "v" + u.in.Request.KubernetesVersion; {
		case about >= 0:
			why[n.Name] = bad[about].What
		case beats[n.Name] == (*since)[n.Name]:
			why[n.Name] = "its kubelet has sent no heartbeat since the " + u.last() + " ended"
		case kubelets[n.Name] != want:
			why[n.Name] = fmt.Sprintf("its kubelet has version %s, not %s", session.Printable(kubelets[n.Name]), want)
		default:
			if why[n.Name] = u.serverTrouble(ctx, n); why[n.Name] == "" {
				done = append(done, n.Name)
			}
		}
	}
	return done, why
}

// starting returns those of the nodes that start pods. why gets the reasons of the others.
func (u *upgrader) starting(ctx context.Context, done []string, why map[string]string) []string {
	failed, err := u.w.Podless(ctx, done, u.ports)
	if err != nil {
		for _, name := range done {
			why[name] = "it is not known whether it starts pods: " + err.Error()
		}
		return nil
	}
	for name, text := range failed {
		why[name] = "it is Ready, but starts no pod: " + text
	}
	return slices.DeleteFunc(done, func(name string) bool { return failed[name] != "" })
}

// serverTrouble returns what is wrong with the API server of a control plane node; empty: nothing.
func (u *upgrader) serverTrouble(ctx context.Context, n contract.Node) string {
	if session.RoleRank(n) != 0 {
		return ""
	}
	w := &cluster.Client{Input: u.in.For([]contract.Node{n}), Access: u.w.Access}
	defer w.Close()
	version, err := cluster.Call(ctx, w, func(ctx context.Context, kube kubernetes.Interface) (v version.Info, err error) {
		raw, err := kube.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Raw()
		if err == nil {
			err = json.Unmarshal(raw, &v)
		}
		return v, err
	})
	if err != nil {
		return "its API server does not answer: " + task.Cut(err.Error(), 200)
	}
	if want := "v" + u.in.Request.KubernetesVersion; version.GitVersion != want {
		return fmt.Sprintf("its API server does not have version %q", want)
	}
	return ""
}

// finish records nodes as upgraded, and lets them accept pods again.
func (u *upgrader) finish(ctx context.Context, done []string) error {
	if len(done) == 0 {
		return nil
	}
	fmt.Fprintf(u.ports.Log, "  %s: %s\n", u.done(), strings.Join(done, ", "))
	if err := u.mark(ctx, done); err != nil {
		return err
	}
	return cluster.Uncordon(ctx, u.w, u.members, session.Intersect(u.members.Now.Draining, done), u.ports)
}

// gateAfter waits until the whole cluster is healthy again.
func (u *upgrader) gateAfter(ctx context.Context) error {
	in := u.in.For(u.w.Input.Nodes)
	if len(node.ControlPlanes(in.NodesNamed(in.Request.Upgrade.Nodes))) > 0 {
		if err := controlplane.AwaitMembers(ctx, in, u.access(), u.ports); err != nil {
			return err
		}
	}
	limited, cancel := context.WithTimeout(ctx, u.in.HealthLimit)
	defer cancel()
	bad, healthy := u.w.AwaitHealthy(limited, u.ports.Log, nil)
	if healthy {
		return nil
	}
	if err := session.Stopped(ctx, "the upgrade"); err != nil {
		return err
	}
	failed := &task.Error{Reason: contract.ReasonClusterUnhealthy, Step: "check the cluster after the upgrade"}
	what := "the control plane does not answer"
	if len(bad) > 0 {
		failed.Host, what = bad[0].Node, cluster.Summary(bad)
	}
	failed.Err = fmt.Errorf("%s: the %s is done, but the cluster is not healthy after %s: %s. No other node was changed",
		strings.Join(u.in.Request.Upgrade.Nodes, ", "), u.work(), u.in.HealthLimit, what)
	return failed
}
