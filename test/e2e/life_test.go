//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

// resetLimit is the time limit of a deletion. It includes the reset of the hosts.
const resetLimit = 10 * time.Minute

// deleteAndReset deletes a Provisioning with the policy Reset, and waits until it is gone. All of
// its hosts must be free, unmarked and empty then.
func deleteAndReset(t *testing.T, s *site.Site, p *v1alpha1.Provisioning, options ...client.DeleteOption) {
	t.Helper()
	hosts := hostsOf(s, p)
	if len(hosts) == 0 {
		t.Fatalf("%s holds no host", p.Name)
	}
	if err := s.Delete(context.Background(), p, options...); err != nil {
		t.Fatal(err)
	}
	site.AwaitGone(s, &v1alpha1.ProvisioningList{}, p, resetLimit)
	if held := s.Holders(); len(held) != 0 {
		t.Errorf("hosts are still held after the deletion: %v", held)
	}
	if marks := s.Marks(contract.AnnotationUsedBy); len(marks) != 0 {
		t.Errorf("hosts are marked as used after the reset: %v", marks)
	}
	for _, host := range hosts {
		checkEmpty(t, s, host)
	}
}

// hostsOf returns the hosts that the Provisioning holds, sorted.
func hostsOf(s *site.Site, p *v1alpha1.Provisioning) []string {
	s.T.Helper()
	var hosts []string
	for host, holder := range s.Holders() {
		if holder == p.Name {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return hosts
}

// leftovers prints what a cluster has left on a machine. It prints nothing on a machine without a
// cluster.
const leftovers = `ls -d /etc/kubernetes /etc/containerd /etc/cni/net.d /run/flannel /etc/bpa /etc/ssl/etcd /var/lib/kubelet/config.yaml /var/lib/etcd/member ` +
	`/usr/local/bin/kubelet /usr/local/bin/kubeadm /etc/apt/sources.list.d/bpa-depot.sources 2>/dev/null; ` +
	`ps -eo comm= | grep -E '^(kube|containerd|etcd|coredns)'; ip -o link show cni0 2>/dev/null; ip -o link show flannel.1 2>/dev/null; ip route | grep -E ' (proto 76|dev cni0) '; ` +
	`iptables-save 2>/dev/null | grep -m 1 KUBE; findmnt -rno TARGET | grep -E '^(/var/lib/kubelet|/run/containerd)/|^/run/netns/cni-'; true`

// checkEmpty checks that nothing of a cluster is on the machine.
func checkEmpty(t *testing.T, s *site.Site, host string) {
	t.Helper()
	if out := s.On(host, leftovers); out != "" {
		t.Errorf("%s is not empty after the reset:\n%s", host, out)
	}
}

// exchanged returns a Provisioning for the hosts of an earlier one with a master and a worker. Each
// host has the role that the other one had.
func exchanged(s *site.Site, name string, before *v1alpha1.Provisioning, more ...site.Option) *v1alpha1.Provisioning {
	s.T.Helper()
	return s.Provisioning(name, append([]site.Option{
		site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC(hostOf(before, "worker-1")))}),
		site.Worker("worker-1", v1alpha1.Worker{MACAddress: site.MAC(s.MAC(hostOf(before, "master-1")))}),
	}, more...)...)
}

// checkNodes checks that the new cluster has exactly the nodes in the status.
func checkNodes(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) {
	t.Helper()
	var want []string
	for _, n := range p.Status.Nodes {
		want = append(want, "node/"+n.Name)
	}
	slices.Sort(want)
	out, err := site.Kubectl(kubeconfigOf(t, s, p), "", "get", "nodes", "-o", "name")
	if diff := cmp.Diff(want, strings.Fields(out)); err != nil || diff != "" {
		t.Errorf("nodes of the cluster: %v (-want +got):\n%s", err, diff)
	}
}

// Conditions of a machine that becomes a control plane, as shell commands.
const (
	// insideKubeadm: kubeadm init runs and has written the manifests of the control plane.
	insideKubeadm = "pgrep -x kubeadm && [ -e /etc/kubernetes/manifests/kube-apiserver.yaml ]"
	// afterEtcd: kubespray has installed etcd, and has begun with the parts of all nodes.
	afterEtcd = "systemctl is-active etcd.service && [ -e /etc/kubernetes/kubelet.env ]"
)

// caDigest prints the digest of the cluster's CA, or nothing.
const caDigest = "if [ -e /etc/kubernetes/pki/ca.crt ]; then sha256sum /etc/kubernetes/pki/ca.crt; fi"

// killPlaybook kills the pod of the playbook without a grace period when the command succeeds on
// the host. It returns the digest of the CA that the killed playbook left on the host.
func killPlaybook(t *testing.T, s *site.Site, p *v1alpha1.Provisioning, host, when string) string {
	t.Helper()
	playbook := client.MatchingLabels{contract.LabelCluster: p.Name, "tekton.dev/pipelineTask": contract.TaskKubespray}
	pod := site.Await(s, &corev1.PodList{}, "the playbook's pod", installLimit, func(pod *corev1.Pod) bool {
		return pod.Labels[contract.LabelCluster] == p.Name && pod.Labels["tekton.dev/pipelineTask"] == contract.TaskKubespray && pod.Status.Phase == corev1.PodRunning
	})
	s.AwaitOn(host, when, installLimit)
	if err := s.Admin().DeleteAllOf(context.Background(), &corev1.Pod{}, client.InNamespace(s.Namespace), playbook, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	ca := s.On(host, caDigest)
	t.Logf("killed pod %s on the condition %q", pod.Name, when)
	return ca
}

// awaitRetried waits until the Provisioning whose playbook was killed is Ready, and checks that its
// cluster is not the half-made one. ca is the result of killPlaybook.
func awaitRetried(t *testing.T, s *site.Site, p *v1alpha1.Provisioning, host, ca string) *v1alpha1.Provisioning {
	t.Helper()
	ready := site.Await(s, &v1alpha1.ProvisioningList{}, p.Name+" to be Ready", 2*installLimit, func(now *v1alpha1.Provisioning) bool {
		return now.Name == p.Name && site.Ready(now)
	})
	if now := s.On(host, caDigest); now == "" || now == ca {
		t.Errorf("the CA of %s is %q, and was %q when the playbook was killed: the half-made control plane was not reset", host, now, ca)
	}
	checkNodes(t, s, ready)
	checkCluster(t, s, ready, len(ready.Status.Nodes))
	return ready
}

// deleteWithDeadHost deletes a Provisioning while one of its hosts does not answer. The others must
// be reset and released. The dead host must be released with a mark that names the Provisioning.
func deleteWithDeadHost(t *testing.T, s *site.Site, p *v1alpha1.Provisioning, dead string) {
	t.Helper()
	hosts := hostsOf(s, p)
	s.PowerOff(dead)
	if err := s.Delete(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	site.AwaitGone(s, &v1alpha1.ProvisioningList{}, p, resetLimit)
	if held := s.Holders(); len(held) != 0 {
		t.Errorf("hosts are still held after the deletion: %v", held)
	}
	user := contract.User{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}
	if diff := cmp.Diff(map[string]string{dead: user.String()}, s.Marks(contract.AnnotationUsedBy)); diff != "" {
		t.Errorf("hosts marked as used (-want +got):\n%s", diff)
	}
	for _, host := range hosts {
		if host != dead {
			checkEmpty(t, s, host)
		}
	}
	if out := s.On(dead, leftovers); out == "" {
		t.Errorf("%s is empty although it was switched off: the test shows nothing", dead)
	}
}

// awaitResetCommand waits until the Provisioning cannot get a host because of its mark. The
// condition must name the command that resets the host.
func awaitResetCommand(t *testing.T, s *site.Site, p *v1alpha1.Provisioning, host string) {
	t.Helper()
	waiting := site.Await(s, &v1alpha1.ProvisioningList{}, "the explanation", time.Minute, func(now *v1alpha1.Provisioning) bool {
		return now.Name == p.Name && site.NotReady("HostsNotAvailable")(now)
	})
	message := waiting.Status.GetCondition(v1alpha1.ConditionHostsClaimed).GetMessage()
	if want := "kubectl bpa hosts reset " + host; !strings.Contains(message, want) {
		t.Errorf("message %q does not contain %q", message, want)
	}
}

// checkEnded checks that no run of the site is active.
func checkEnded(t *testing.T, runs []tekton.PipelineRun) {
	t.Helper()
	for _, run := range runs {
		if run.Status.CompletionTime == nil {
			t.Errorf("run %s continues although its Provisioning is deleted", run.Name)
		}
	}
}
