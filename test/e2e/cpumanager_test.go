//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/cpuset"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

// drainLimit is the time limit of a run for a plugin that drains one node after the other.
const drainLimit = 8 * time.Minute

// TestCPUManager follows a plugin that changes the nodes, beside one that only has objects. cpu-manager is
// installed with the cluster, removed by an edit and added again by another one. While it is installed, a
// Guaranteed pod with whole CPUs has them alone. Its removal leaves nothing on the nodes. metrics-server
// serves the use of all nodes all the time.
func TestCPUManager(t *testing.T) {
	s := site.NewTenant(t, "e2e-cpu-manager", 2, 0)
	p := s.Apply(s.Provisioning("edge-44", masters(1), pool(1), withPluginsOf("metrics-server", "cpu-manager")))
	n := &managed{t: t, s: s}

	n.await("metrics-server and cpu-manager to be installed", installLimit, map[string]string{"metrics-server": "Installed passed", "cpu-manager": "Installed passed"})
	n.kubeconfig = kubeconfigOf(t, s, n.p)
	n.checkTop()
	for _, node := range n.p.Status.Nodes {
		n.checkKubelet(node, "static")
		if !n.hasDropIn(node) {
			t.Errorf("the kubelet of %s has no drop-in %s: its removal would show nothing", node.Name, stateDropIn)
		}
	}
	n.checkExclusive("pool-1")

	s.Change(p, withPluginsOf("metrics-server"))
	n.await("cpu-manager to be removed", drainLimit, map[string]string{"metrics-server": "Installed passed"})
	if run := n.p.Status.Run.Operation; run != contract.OperationPlugins {
		t.Errorf("the last run did %s, want %s", run, contract.OperationPlugins)
	}
	for _, node := range n.p.Status.Nodes {
		n.checkKubelet(node, "none")
		n.checkClean(node)
	}
	n.checkShared("pool-1")
	n.checkTop()
	checkCluster(t, s, n.p, 2) // nodes that are still cordoned are not counted

	s.Change(p, withPluginsOf("metrics-server", "cpu-manager"))
	n.await("cpu-manager to be added again", drainLimit, map[string]string{"metrics-server": "Installed passed", "cpu-manager": "Installed passed"})
	for _, node := range n.p.Status.Nodes {
		n.checkKubelet(node, "static")
	}
	n.checkExclusive("pool-1")
	checkCluster(t, s, n.p, 2)
}

// managed is a cluster with plugins that change its nodes.
type managed struct {
	t          *testing.T
	s          *site.Site
	p          *v1alpha1.Provisioning // as it was when it was Ready last
	kubeconfig string
}

func (n *managed) await(what string, limit time.Duration, plugins map[string]string) {
	n.t.Helper()
	n.p = site.Await(n.s, &v1alpha1.ProvisioningList{}, what, limit, site.Ready)
	checkPlugins(n.t, n.p, plugins)
	n.t.Logf("%s: the run took %s", what, n.p.Status.Run.CompletionTime.Sub(n.p.Status.Run.StartTime.Time))
}

// kubectl runs kubectl with the kubeconfig of the Secret.
func (n *managed) kubectl(stdin string, args ...string) string {
	n.t.Helper()
	out, err := site.Kubectl(n.kubeconfig, stdin, args...)
	if err != nil {
		n.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(out)
}

// checkTop checks that kubectl top nodes shows the use of each node. metrics-server needs two looks at a node,
// and nothing reports that it has them, so a node repeats the command.
func (n *managed) checkTop() {
	n.t.Helper()
	n.s.AwaitOn(hostOf(n.p, "master-1"), `[ "$(KUBECONFIG=/etc/kubernetes/admin.conf /usr/local/bin/kubectl top nodes --no-headers | grep -cE "([0-9]+%.*){2}")" = 2 ]`, 2*time.Minute)
	out := n.kubectl("", "top", "nodes", "--no-headers")
	for _, node := range n.p.Status.Nodes {
		if !strings.Contains(out, node.Name+" ") {
			n.t.Errorf("kubectl top nodes does not show %s", node.Name)
		}
	}
	n.t.Logf("kubectl top nodes:\n%s", out)
}

// Files that BPA writes to nodes for cpu-manager.
const (
	stateDropIn = "/etc/systemd/system/kubelet.service.d/10-bpa-manager-state.conf"
	cpuState    = "/var/lib/kubelet/cpu_manager_state"
	pluginMarks = "/var/lib/kubelet/bpa-cpu-manager-*"
)

// hasDropIn reports whether the kubelet starts with the drop-in.
func (n *managed) hasDropIn(node v1alpha1.NodeStatus) bool {
	n.t.Helper()
	return strings.Contains(n.s.On(node.Host, "systemctl show --property DropInPaths --value kubelet"), stateDropIn)
}

// checkKubelet checks the policy of the CPU manager in the configuration of the running kubelet, and in its
// state.
func (n *managed) checkKubelet(node v1alpha1.NodeStatus, policy string) {
	n.t.Helper()
	var now struct {
		KubeletConfig struct{ CPUManagerPolicy, TopologyManagerPolicy string }
	}
	if err := json.Unmarshal([]byte(n.kubectl("", "get", "--raw", "/api/v1/nodes/"+node.Name+"/proxy/configz")), &now); err != nil {
		n.t.Fatal(err)
	}
	topology := map[string]string{"static": "best-effort", "none": "none"}[policy]
	if diff := cmp.Diff([]string{policy, topology}, []string{now.KubeletConfig.CPUManagerPolicy, now.KubeletConfig.TopologyManagerPolicy}); diff != "" {
		n.t.Errorf("policies of the CPU manager and of the topology manager on %s (-want +got):\n%s", node.Name, diff)
	}
	var state struct{ PolicyName string }
	if err := json.Unmarshal([]byte(n.s.On(node.Host, "cat "+cpuState)), &state); err != nil || state.PolicyName != policy {
		n.t.Errorf("%s on %s is of policy %q, %v, want %q", cpuState, node.Name, state.PolicyName, err, policy)
	}
}

// checkClean checks that the removed plugin has left neither files nor settings on the node.
func (n *managed) checkClean(node v1alpha1.NodeStatus) {
	n.t.Helper()
	if out := n.s.On(node.Host, "ls -d "+stateDropIn+" "+pluginMarks+" 2>/dev/null || true"); out != "" {
		n.t.Errorf("cpu-manager has left on %s:\n%s", node.Name, out)
	}
	if n.hasDropIn(node) {
		n.t.Errorf("the kubelet of %s still has the drop-in %s", node.Name, stateDropIn)
	}
}

// Pods of the checks: one that asks for a whole CPU and one that asks for none.
const (
	wholeCPUPod = `
apiVersion: v1
kind: Pod
metadata: {name: exclusive}
spec:
  nodeSelector: {kubernetes.io/hostname: NODE}
  terminationGracePeriodSeconds: 0
  containers:
  - name: a
    image: docker.io/library/busybox:1.35
    command: [busybox, sleep, "3600"]
    resources: {requests: {cpu: 1, memory: 16Mi}, limits: {cpu: 1, memory: 16Mi}}
`
	anyCPUPod = `
apiVersion: v1
kind: Pod
metadata: {name: shared}
spec:
  nodeSelector: {kubernetes.io/hostname: NODE}
  terminationGracePeriodSeconds: 0
  containers:
  - {name: a, image: 'docker.io/library/busybox:1.35', command: [busybox, sleep, "3600"]}
`
)

// checkExclusive checks that a Guaranteed pod gets a CPU alone: a pod in the shared pool had it until then,
// and loses it. The pods are gone afterwards.
func (n *managed) checkExclusive(node string) {
	n.t.Helper()
	all := n.cpusOf(node)
	n.run(anyCPUPod, "shared", node)
	n.awaitCPUs("shared", `[ "$cpus" = `+all.String()+` ]`) // the kubelet takes back those of the plugin's test within seconds
	n.run(wholeCPUPod, "exclusive", node)
	shared := n.awaitCPUs("shared", `[ "$cpus" != `+all.String()+` ]`)
	exclusive := n.awaitCPUs("exclusive", "true")
	if exclusive.Size() != 1 || !shared.Union(exclusive).Equals(all) || !shared.Intersection(exclusive).IsEmpty() {
		n.t.Errorf("of CPUs %s, a Guaranteed pod with 1 CPU has %s and another pod %s", all, exclusive, shared)
	}
	n.t.Logf("%s has CPUs %s: the Guaranteed pod %s, the other pod %s", node, all, exclusive, shared)
	n.kubectl("", "delete", "pod", "shared", "exclusive")
}

// checkShared checks that a Guaranteed pod runs on all CPUs, as without the plugin.
func (n *managed) checkShared(node string) {
	n.t.Helper()
	n.run(wholeCPUPod, "exclusive", node)
	if all, cpus := n.cpusOf(node), n.awaitCPUs("exclusive", "true"); !cpus.Equals(all) {
		n.t.Errorf("without cpu-manager, a Guaranteed pod has CPUs %s of %s", cpus, all)
	}
	n.kubectl("", "delete", "pod", "exclusive")
}

func (n *managed) run(manifest, pod, node string) {
	n.t.Helper()
	n.kubectl(strings.ReplaceAll(manifest, "NODE", node), "apply", "-f", "-")
	n.kubectl("", "wait", "pod/"+pod, "--for=condition=Ready", "--timeout=100s")
}

// allowedCPUs prints the CPUs on which a process may run, after its PID.
const allowedCPUs = `sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" /proc/`

// cpusOf returns the CPUs of a machine.
func (n *managed) cpusOf(node string) cpuset.CPUSet {
	n.t.Helper()
	return n.parse(n.s.On(hostOf(n.p, node), allowedCPUs+"1/status"))
}

// awaitCPUs waits until a shell test of the CPUs of a pod, $cpus, succeeds, and returns them. The pod repeats
// it, because the kubelet moves containers to other CPUs after they have started, and nothing reports it.
func (n *managed) awaitCPUs(pod, test string) cpuset.CPUSet {
	n.t.Helper()
	script := `until cpus=$(busybox ` + allowedCPUs + `self/status); ` + test + `; do busybox sleep 1; done; echo "$cpus"`
	return n.parse(n.kubectl("", "exec", pod, "--", "busybox", "timeout", "60", "busybox", "sh", "-c", script))
}

func (n *managed) parse(list string) cpuset.CPUSet {
	n.t.Helper()
	cpus, err := cpuset.Parse(strings.TrimSpace(list))
	if err != nil || cpus.IsEmpty() {
		n.t.Fatalf("CPUs %q: %v", list, err)
	}
	return cpus
}
