//go:build e2e

package e2e

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/site"
)

// installLimit is the time limit of one installation. The lab machines share two cores with all
// other programs.
const installLimit = 30 * time.Minute

// TestInstall tests the scenario of the README: one node is pinned by MAC, and two are selected by
// their requirements. The machines have a firewall, a bridge and other things of a site, can reach only
// the depot and each other, and install an operating system package from the depot. The checksums of
// files are those of the depot. During the playbook, BPA is replaced by another build. The cluster runs
// a pod, and has plugins. No text of a Secret is anywhere else. A deletion resets and releases all hosts: nothing of the cluster is left, and
// all that the machines had before is still there.
func TestInstall(t *testing.T) {
	s := site.NewTenant(t, "e2e-install", 3, 2)
	hosts, before := []string{"host-1", "host-2", "host-3"}, map[string][]string{}
	for _, host := range hosts {
		s.On(host, "dpkg --remove "+someDeb+" && "+furnishScript)
		isolate(t, s, host)
		addOtherSource(s, host)
		before[host] = stateOf(s, host)
	}
	secrets, withSecrets := plantCanaries(t, s)
	p := s.Apply(s.Provisioning("edge-1", withSystem(osimage.NodeSystem), trustDepotChecksums, withSecrets, withPluginsOf("multus", "nfd", "metrics-server", "qat"),
		site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(strings.ToUpper(s.MAC("host-2")))}),
		site.Worker("worker-1", v1alpha1.Worker{HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"}}),
		site.Worker("worker-2", v1alpha1.Worker{HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"}})))
	updateInTheMiddle(t, s)

	ready := site.Await(s, &v1alpha1.ProvisioningList{}, "edge-1 to be Ready", installLimit, site.Ready)
	if len(ready.Status.Nodes) != 3 || ready.Status.Nodes[0].Host != "host-2" {
		t.Errorf("nodes %+v: want three, master-1 on the pinned host-2", ready.Status.Nodes)
	}
	if !strings.HasPrefix(ready.Status.Engine, "kubespray v") {
		t.Errorf("status.engine is %q, want kubespray with its release", ready.Status.Engine)
	}
	for _, n := range ready.Status.Nodes {
		if strings.HasPrefix(n.Host, "misfit") {
			t.Errorf("%s runs on %s, which does not fit", n.Name, n.Host)
		}
	}
	checkEachTaskRanOnce(t, s, "edge-1")
	checkCluster(t, s, ready, 3)
	checkPlugins(t, ready, map[string]string{
		"multus": "Installed passed", "nfd": "Installed passed", "metrics-server": "Installed passed", "qat": "Skipped",
	})
	for _, host := range hosts {
		checkIsolated(t, s, host)
		checkPackage(t, s, host, someDeb)
	}
	checkPinned(t, s, "edge-1")
	checkNoSecretShown(t, s, "edge-1")
	secrets.check(ready, "bmc", "registry")
	secrets.checkBundle()
	for _, host := range hosts {
		if resetAccepted.Differences(before[host], stateOf(s, host)) == "" {
			t.Fatalf("the installation has not changed %s: the comparison after the reset shows nothing", host)
		}
	}

	// Kubernetes deletes the objects of the Provisioning at once, as with Argo CD, and the reset must
	// do without them.
	deleteAndReset(t, s, p, client.PropagationPolicy(metav1.DeletePropagationForeground))
	for _, host := range hosts {
		checkIsolated(t, s, host) // the reset leaves the site's own packet filter rules alone
		if diff := resetAccepted.Differences(before[host], stateOf(s, host)); diff != "" {
			t.Errorf("%s before the installation and after the reset (-before +after):\n%s", host, diff)
		}
	}
}

func onlyRun(t *testing.T, s *site.Site) tekton.PipelineRun {
	t.Helper()
	runs := s.Runs()
	if len(runs) != 1 {
		t.Fatalf("%d runs, want one", len(runs))
	}
	return runs[0]
}

// kubeconfigOf writes the new cluster's kubeconfig to a file and returns its path. An administrator gives it to the tenant:
// bpa-edit contains no right to Secrets.
func kubeconfigOf(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) string {
	t.Helper()
	return writeKubeconfig(t, s.Admin().Secret(p.Status.Kubeconfig.SecretName, "value"))
}

func writeKubeconfig(t *testing.T, value []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, value, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkCluster checks the new cluster with the kubeconfig in the Secret. The given number of nodes
// must be Ready, and a pod must run.
func checkCluster(t *testing.T, s *site.Site, p *v1alpha1.Provisioning, nodes int) {
	t.Helper()
	kubeconfig := kubeconfigOf(t, s, p)
	out, err := site.Kubectl(kubeconfig, "", "get", "nodes", "--no-headers")
	if err != nil || strings.Count(out, " Ready ") != nodes {
		t.Errorf("kubectl get nodes: %v, want %d Ready\n%s", err, nodes, out)
	}
	for _, args := range [][]string{
		{"delete", "pod", "hello", "--ignore-not-found", "--grace-period=0", "--force"}, // the pod of an earlier check, which may be on a lost node
		{"run", "hello", "--image=registry.k8s.io/pause:3.10.1", "--restart=Never"},
		{"wait", "pod/hello", "--for=condition=Ready", "--timeout=90s"},
	} {
		if out, err := site.Kubectl(kubeconfig, "", args...); err != nil {
			t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	checkPodAddresses(t, kubeconfig, p)
	checkEtcdClients(t, s, p)
}

// checkEtcdClients checks that workers have no etcd client certificate.
func checkEtcdClients(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) {
	t.Helper()
	for _, n := range p.Status.Nodes {
		if slices.Contains(n.Roles, contract.RoleControlPlane) || n.State != v1alpha1.NodeReady {
			continue
		}
		if keys := s.On(n.Host, "ls /etc/ssl/etcd/ssl/*key* 2>/dev/null; true"); keys != "" {
			t.Errorf("worker %s has etcd client certificates:\n%s", n.Name, keys)
		}
	}
}

// checkPodAddresses checks that the pods of the cluster have addresses of spec.PodSubnet.
func checkPodAddresses(t *testing.T, kubeconfig string, p *v1alpha1.Provisioning) {
	t.Helper()
	first, _ := contract.Families(p.Spec.PodSubnet)
	subnet, err := netip.ParsePrefix(first)
	if err != nil {
		t.Fatalf("spec.PodSubnet: %v", err)
	}
	const format = `{range .items[?(@.status.phase=="Running")]}{.metadata.name} {.spec.hostNetwork} {.status.podIP}{"\n"}{end}`
	out, err := site.Kubectl(kubeconfig, "", "get", "pods", "--all-namespaces", "--output", "jsonpath="+format)
	if err != nil {
		t.Errorf("kubectl get pods: %v\n%s", err, out)
		return
	}
	inside := 0
	for line := range strings.Lines(out) {
		fields := strings.Fields(line) // a pod with an address of its own has no second field
		if len(fields) != 2 {
			continue
		}
		if address, err := netip.ParseAddr(fields[1]); err != nil || !subnet.Contains(address) {
			t.Errorf("pod %s has the address %s, which is not in spec.PodSubnet %s", fields[0], fields[1], subnet)
		}
		inside++
	}
	if inside == 0 {
		t.Errorf("no running pod has an address of its own:\n%s", out)
	}
}

// checkNoSecretShown checks that the objects and logs that the role "view" permits to read contain
// no private keys and no kubeadm tokens.
func checkNoSecretShown(t *testing.T, s *site.Site, name string) {
	t.Helper()
	shown := s.Admin().Kubectl("get", "provisionings,pipelineruns,taskruns,configmaps,events", "-o", "yaml")
	// The controller may delete an old run, and its pods, meanwhile.
	logs := s.Kubectl("logs", "--selector", "bpa.akraino.org/cluster="+name, "--all-containers", "--tail=-1", "--prefix", "--ignore-errors")
	for where, text := range map[string]string{"objects": shown, "logs": logs} {
		if len(text) < 1000 {
			t.Errorf("only %d bytes of %s to check, want at least 1000", len(text), where)
		}
		for _, m := range append(secretPattern.FindAllString(text, 3), privateKey(text)...) {
			t.Errorf("the %s contain a secret: %.60q", where, m)
		}
	}
}
