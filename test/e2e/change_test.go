//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

// life is a cluster that changes.
type life struct {
	t     *testing.T
	s     *site.Site
	p     *v1alpha1.Provisioning // as it was when it was Ready last
	limit time.Duration          // of one change
}

// TestChange takes one cluster through its life by edits of its Provisioning and by losses of machines,
// while a workload in it answers requests and the controller is killed at random moments: one control
// plane and one worker become three and two, a worker's machine is exchanged under the same name, the
// first control plane dies, and the cluster shrinks to what it was. Then a plugin is added. The health
// and the kubeconfig of the small cluster are checked first.
func TestChange(t *testing.T) {
	s := site.NewTenant(t, "e2e-change", 7, 0)
	s.Apply(s.Provisioning("edge-20", masters(1), workers(1), func(p *v1alpha1.Provisioning) { p.Spec.ReplacePolicy = v1alpha1.ReplaceAny }))
	l := &life{t: t, s: s, limit: 12 * time.Minute}
	l.await("1 control plane and 1 worker", "master-1", "worker-1")
	checkRotation(t, s, l.p)
	l.checkHealth("master-1", "worker-1")
	load := startWorkload(t, s, l.p)
	killer := killControllers(t, s)

	stays := []string{hostOf(l.p, "worker-1")}
	before := prints(s, stays)
	l.edit(masters(3), workers(2))
	l.await("3 control planes and 2 workers", "master-1", "master-2", "master-3", "worker-1", "worker-2")
	if diff := cmp.Diff(before, prints(s, stays)); diff != "" {
		t.Errorf("the new nodes changed a worker that stays (-before +after):\n%s", diff)
	}
	load.spread()

	// The cluster still calls the old node Ready when the new machine joins.
	l.lose("worker-2")
	s.Lab("add", "host-8", "--cpu", "8", "--memory", "16")
	l.await("another machine for worker-2", "master-1", "master-2", "master-3", "worker-1", "worker-2")
	l.checkPodOn("worker-2")

	l.lose("master-1")
	l.await("another machine for master-1", "master-1", "master-2", "master-3", "worker-1", "worker-2")

	leaving := hostsOf(s, l.p)
	l.edit(masters(1), workers(1))
	l.shrunk(leaving, "worker-1")
	if diff := cmp.Diff(before, prints(s, stays)); diff != "" {
		t.Errorf("a worker that stays was changed (-before +after):\n%s", diff)
	}

	l.edit(withPluginsOf("nfd"))
	l.await("a plugin after removals", "master-1", "worker-1")
	checkPlugins(t, l.p, map[string]string{"nfd": "Installed passed"})
	killer.stop()
	load.stop()
}

// workers requests n workers by name.
func workers(n int) site.Option {
	return func(p *v1alpha1.Provisioning) {
		p.Spec.Workers = nil
		for i := range n {
			p.Spec.Workers = append(p.Spec.Workers, map[string]v1alpha1.Worker{
				fmt.Sprintf("worker-%d", i+1): {HostRequirements: v1alpha1.HostRequirements{CPU: 8}},
			})
		}
	}
}

// checkPodOn checks that a new pod starts on a node.
func (l *life) checkPodOn(node string) {
	l.t.Helper()
	kubeconfig := kubeconfigOf(l.t, l.s, l.p)
	for _, args := range [][]string{
		{"run", "on-" + node, "--image=registry.k8s.io/pause:3.10.1", "--restart=Never", `--overrides={"spec":{"nodeName":"` + node + `"}}`},
		{"wait", "pod/on-" + node, "--for=condition=Ready", "--timeout=60s"},
		{"delete", "pod", "on-" + node, "--grace-period=0", "--force"},
	} {
		if out, err := site.Kubectl(kubeconfig, "", args...); err != nil {
			l.t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// masters requests n control planes, and pool n workers.
func masters(n int) site.Option {
	return func(p *v1alpha1.Provisioning) {
		p.Spec.Masters = nil
		for i := range n {
			p.Spec.Masters = append(p.Spec.Masters, map[string]v1alpha1.Master{
				fmt.Sprintf("master-%d", i+1): {HostRequirements: v1alpha1.HostRequirements{CPU: 8}},
			})
		}
	}
}

func pool(n int32) site.Option {
	return func(p *v1alpha1.Provisioning) {
		p.Spec.NodeSets = []v1alpha1.NodeSet{{Name: "pool", Role: v1alpha1.RoleWorker, Count: v1alpha1.NodeCount{Active: n}}}
	}
}

func (l *life) edit(options ...site.Option) {
	l.t.Helper()
	l.s.Change(l.p, func(p *v1alpha1.Provisioning) {
		for _, o := range options {
			o(p)
		}
	})
}

// lose removes the machine of a node without notice, together with its BareMetalHost.
func (l *life) lose(node string) {
	l.t.Helper()
	l.t.Logf("%s is lost with %s", hostOf(l.p, node), node)
	l.s.Lab("remove", hostOf(l.p, node))
}

// await waits until the Provisioning is Ready with exactly these nodes, on machines that are not
// lost, and checks that the cluster has the same nodes.
func (l *life) await(what string, nodes ...string) {
	l.t.Helper()
	l.awaitThat(what, func(p *v1alpha1.Provisioning) bool {
		return slices.Equal(nodes, slices.Sorted(maps.Keys(states(p))))
	})
}

func (l *life) awaitThat(what string, done func(*v1alpha1.Provisioning) bool) {
	l.t.Helper()
	begin := time.Now()
	known := map[string]bool{}
	for _, h := range l.s.Hosts() {
		known[h] = true
	}
	l.p = site.Await(l.s, &v1alpha1.ProvisioningList{}, what, l.limit, func(p *v1alpha1.Provisioning) bool {
		for _, n := range p.Status.Nodes {
			if n.State != v1alpha1.NodeReady || !known[n.Host] {
				return false
			}
		}
		return site.Ready(p) && p.Status.ObservedGeneration == p.Generation && done(p)
	})
	l.t.Logf("%s: Ready after %s, the last run was %s", what, time.Since(begin).Round(time.Second), l.p.Status.Run.Name)
	checkNodes(l.t, l.s, l.p)
	checkCluster(l.t, l.s, l.p, len(l.p.Status.Nodes))
}

// shrunk waits until one control plane and one worker are left, and checks that the machines of the
// other nodes are empty and free.
func (l *life) shrunk(hosts []string, worker string) {
	l.t.Helper()
	l.awaitThat("back to 1 control plane and 1 worker", func(p *v1alpha1.Provisioning) bool {
		return len(p.Status.Nodes) == 2 && states(p)["master-1"] == v1alpha1.NodeReady && states(p)[worker] == v1alpha1.NodeReady && len(l.s.Holders()) == 2
	})
	stay := hostsOf(l.s, l.p)
	for _, h := range hosts {
		if !slices.Contains(stay, h) {
			checkEmpty(l.t, l.s, h)
		}
	}
	if at := addressOf(l.p, "master-1"); !strings.Contains(l.p.Status.APIEndpoint, at) {
		l.t.Errorf("the endpoint is %s, want that of the control plane that is left, %s", l.p.Status.APIEndpoint, at)
	}
	for _, run := range l.s.Runs() {
		if len(run.Labels[contract.LabelOperation]) == 0 || !run.IsDone() {
			l.t.Errorf("run %s: operation %q, done %t", run.Name, run.Labels[contract.LabelOperation], run.IsDone())
		}
	}
}

func addressOf(p *v1alpha1.Provisioning, node string) string {
	for _, n := range p.Status.Nodes {
		if n.Name == node {
			return n.Address
		}
	}
	return ""
}
