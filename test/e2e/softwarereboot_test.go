//go:build e2e

package e2e

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/site"
)

// TestSoftwareReboot installs a package that needs a drain, and then a driver that needs a reboot, on the workers of
// a cluster while a workload in it answers requests. Each worker is drained for both. It boots again only for the
// driver, and accepts pods afterwards. The control plane stays as it is.
func TestSoftwareReboot(t *testing.T) {
	const namespace, name = "e2e-software-reboot", "edge-44"
	depot := newUploads(t, namespace)
	depot.putTool("1")
	depot.putDriver(name, "1")
	s := site.NewTenant(t, namespace, 3, 0, "--reboots")
	w := &softwareStory{life: life{t: t, s: s, limit: installLimit}, depot: depot, name: "workers"}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(s.Admin().Kubectl("get", "softwares,configmaps", "--output", "yaml"))
		}
	})
	s.Apply(s.Provisioning(name, masters(1), pool(2), withSystem(osimage.NodeSystem)))
	w.await("1 control plane and 2 workers", "master-1", "pool-1", "pool-2")
	plane, workers := hostOf(w.p, "master-1"), []string{hostOf(w.p, "pool-1"), hostOf(w.p, "pool-2")}
	before := prints(s, []string{plane})
	load := startWorkload(t, s, w.p)
	boots, pods := bootsOf(s, workers), w.podsOfWorkload()

	w.apply(name, tool+"!Drain")
	w.awaitChanged("the package with a drain", map[string]string{"pool-1 " + tool: "Installed 1", "pool-2 " + tool: "Installed 1"})
	if now := bootsOf(s, workers); !maps.Equal(boots, now) {
		t.Errorf("boots %v, and %v after a package that needs only a drain", boots, now)
	}
	drained := w.podsOfWorkload()
	for _, pod := range pods {
		if slices.Contains(drained, pod) {
			t.Errorf("pod %s is still there after both workers were to be drained", pod)
		}
	}
	w.checkSchedulable()

	w.request(tool+"!Drain", driver+"!Reboot")
	w.awaitChanged("the driver with a reboot", map[string]string{"pool-1 " + driver: "Installed 1", "pool-2 " + driver: "Installed 1"})
	now := bootsOf(s, workers)
	for _, node := range []string{"pool-1", "pool-2"} {
		host := hostOf(w.p, node)
		kubelet := w.ofNode(node, "{.status.nodeInfo.bootID}")
		if now[host] == boots[host] || kubelet != now[host] {
			t.Errorf("%s has the boot ID %s, and had %s; its kubelet reports %q", node, now[host], boots[host], kubelet)
		}
		w.expectOn(node, "cat "+driverMarker, "1 after nothing")
	}
	w.checkSchedulable()
	load.stop()
	if load.gap > mostWithoutAnswer {
		t.Errorf("the workload was without an answer for %s, want at most %s", load.gap, mostWithoutAnswer)
	}
	if diff := cmp.Diff(before, prints(s, []string{plane})); diff != "" {
		t.Errorf("packages of the workers changed the control plane (-before +after):\n%s", diff)
	}
	w.checkPlane()
}

// rebootLimit is the time limit of a run that drains or reboots two workers, one after the other. A reboot of a
// lab machine and its kubelet can take two minutes.
const rebootLimit = 15 * time.Minute

// awaitChanged waits until the packages are installed, and the run for them has ended with all nodes Ready.
func (w *softwareStory) awaitChanged(what string, rows map[string]string) {
	w.t.Helper()
	w.awaitSoftware(what, rebootLimit, func(s *v1alpha1.Software) bool {
		for key, want := range rows {
			node, name, _ := strings.Cut(key, " ")
			if row := rowOf(s, node, name); row.State+" "+row.Installed != want {
				return false
			}
		}
		return true
	})
	site.Await(w.s, &v1alpha1.ProvisioningList{}, "the end of the run for "+what, rebootLimit, func(p *v1alpha1.Provisioning) bool {
		return p.Name == w.p.Name && p.Status.Software != nil && p.Status.Software.Next == "" && p.Status.Run != nil && p.Status.Run.CompletionTime != nil
	})
	w.await("Ready nodes after "+what, "master-1", "pool-1", "pool-2")
	if p := w.p.Status.Software; p != nil && p.Failure != nil {
		w.t.Fatalf("%s: run %s failed: %+v", what, p.Run, p.Failure)
	}
}

// checkSchedulable checks that all nodes accept pods.
func (w *softwareStory) checkSchedulable() {
	w.t.Helper()
	for _, node := range []string{"master-1", "pool-1", "pool-2"} {
		if cordoned := w.ofNode(node, "{.spec.unschedulable}"); cordoned != "" {
			w.t.Errorf("node %s is still cordoned: %s", node, cordoned)
		}
	}
}

// ofNode returns a field of a node of the cluster.
func (w *softwareStory) ofNode(node, path string) string {
	w.t.Helper()
	return w.inCluster("get", "node", node, "--output", "jsonpath="+path)
}

// podsOfWorkload returns the names of the pods of the workload.
func (w *softwareStory) podsOfWorkload() []string {
	w.t.Helper()
	return strings.Fields(w.inCluster("get", "pods", "--selector", "app=web", "--output", "jsonpath={.items[*].metadata.name}"))
}

// inCluster runs kubectl in the cluster and returns its output.
func (w *softwareStory) inCluster(args ...string) string {
	w.t.Helper()
	out, err := site.Kubectl(kubeconfigOf(w.t, w.s, w.p), "", args...)
	if err != nil {
		w.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}
