//go:build e2e

package e2e

import (
	"context"
	_ "embed" // for the script
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/e2e/state"
	"github.com/akraino-icn/bpa/test/site"
)

// resultScript prints what an installation has made of a machine.
//
//go:embed testdata/result.sh
var resultScript string

// sameAccepted are the differences between both ways that are right.
var sameAccepted = state.Accepted{
	`^images: `: "without the acceleration Variables, kubespray pulls images onto nodes that never run them: see checkImages",
	`^(files|content): .*/etc/kubernetes/kubeadm-images\.yaml( |:)`:                                                        "written only to list the images that kubespray pulls, see docs/kubespray.md",
	`^(files|content): .*/var/lib/kubelet/image_manager/pulled/sha256-`:                                                    "the kubelet's list of images that it has pulled itself, and not kubespray",
	`^(files|content|sums): .*/var/lib/kubelet/((allocated|actuated)_pods_state|(cpu|memory)_manager_state|\S*checkpoint)`: "the kubelet's own state: the pods of this moment",
	`^(files|content|sums): .*/etc/(passwd|group|shadow|gshadow|subuid|subgid)-( |:|$)`:                                    "backups that useradd writes",
	`^units: (cri-containerd-<id>\.scope|kubepods-\S*pod<UID>\.slice) transient$`:                                          "units of pods, which are compared as objects: those of a Deployment run on either node",
	`^objects: Pod \S+ spec\.nodeName=`:                                                                                    "the scheduler chooses the nodes of pods of a Deployment",
}

// moments are kinds of objects that describe a moment and not the result of an installation.
var moments = []string{
	"events", "events.events.k8s.io", "leases.coordination.k8s.io", "endpoints", "endpointslices.discovery.k8s.io",
	"certificatesigningrequests.certificates.k8s.io", "componentstatuses",
}

// withoutAcceleration switches off all accelerations of kubespray.
func withoutAcceleration(p *v1alpha1.Provisioning) {
	p.Spec.Kubespray.Acceleration.Disable = []string{"All"}
}

// TestSameResult installs the same cluster twice on two blank machines with the real kubespray, without
// and with its accelerations, and compares the machines and the objects of the clusters.
func TestSameResult(t *testing.T) {
	s := site.NewTenant(t, "e2e-same", 2, 0)
	shipped := resultOf(t, s, "without acceleration", withoutAcceleration)
	s.Lab("reset")
	accelerated := resultOf(t, s, "accelerated by")
	for what, before := range shipped {
		checkImages(t, what, before, accelerated[what])
		if diff := sameAccepted.Differences(before, accelerated[what]); diff != "" {
			t.Errorf("%s, without acceleration and with it (-without +with):\n%s", what, diff)
		}
	}
}

// resultOf installs the cluster on the blank machines of the site and returns the state of each machine
// and of the cluster. It releases the machines as they are. The log of the playbook must contain
// the given words, which say whether it was accelerated.
func resultOf(t *testing.T, s *site.Site, words string, options ...site.Option) map[string][]string {
	t.Helper()
	hosts := []string{"host-1", "host-2"}
	for _, host := range hosts {
		s.On(host, "touch /run/lab-before")
	}
	p := s.Apply(s.Provisioning("edge-50", append(options,
		site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))}),
		site.Worker("worker-1", v1alpha1.Worker{MACAddress: site.MAC(s.MAC("host-2"))}))...))
	ready := site.Await(s, &v1alpha1.ProvisioningList{}, p.Name+" to be Ready", 2*installLimit, site.Ready)
	if log := logOf(s, p); !strings.Contains(log, words) {
		t.Fatalf("the log does not contain %q: the two ways are not compared", words)
	}
	names := namesOf(ready)
	result := map[string][]string{"cluster": state.Normal(objectsOf(t, s, ready), names, state.PerInstallation)}
	for _, host := range hosts {
		result[host] = state.Normal(state.Lines(s.On(host, resultScript)), names, state.PerInstallation)
	}
	for what, some := range map[string]string{"cluster": "objects: DaemonSet kube-system/kube-proxy ", "host-1": "content: /etc/kubernetes/manifests/kube-apiserver.yaml:", "host-2": "images: "} {
		if !slices.ContainsFunc(result[what], func(line string) bool { return strings.HasPrefix(line, some) }) {
			t.Fatalf("no line of %s begins with %q: the comparison shows nothing", what, some)
		}
	}
	abandon(t, s, p)
	return result
}

// checkImages checks that an accelerated installation leaves no other images on a machine than an
// installation without acceleration. It may leave fewer.
func checkImages(t *testing.T, what string, shipped, accelerated []string) {
	t.Helper()
	for _, line := range accelerated {
		if strings.HasPrefix(line, "images: ") && !slices.Contains(shipped, line) {
			t.Errorf("%s has an image only with acceleration: %s", what, line)
		}
	}
}

// objectsOf returns the objects of a new cluster as lines.
func objectsOf(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) []string {
	t.Helper()
	kubeconfig := kubeconfigOf(t, s, p)
	kinds, err := site.Kubectl(kubeconfig, "", "api-resources", "--verbs=list", "--output=name")
	if err != nil {
		t.Fatalf("kinds of the cluster: %v\n%s", err, kinds)
	}
	compared := slices.DeleteFunc(strings.Fields(kinds), func(kind string) bool { return slices.Contains(moments, kind) })
	list, err := site.Kubectl(kubeconfig, "", "get", strings.Join(compared, ","), "--all-namespaces", "--output=json")
	if err != nil {
		t.Fatalf("objects of the cluster: %v\n%.2000s", err, list)
	}
	lines, err := state.Objects([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestSameFailure makes kubespray fail late, by a feature gate that kubeadm does not know. The failure
// must be the same without and with accelerations.
func TestSameFailure(t *testing.T) {
	s := site.NewTenant(t, "e2e-same-failure", 1, 0)
	const step = "Kubeadm | Create kubeadm config"
	cause := site.Var("kubeadm_feature_gates", json.RawMessage(`["NoSuchGate=true"]`))
	shipped := failureOf(t, s, cause, withoutAcceleration)
	accelerated := failureOf(t, s, cause)
	if diff := state.Accepted(nil).Differences(shipped, accelerated); diff != "" {
		t.Errorf("without acceleration and with it (-without +with):\n%s", diff)
	}
	if all := strings.Join(shipped, "\n"); !strings.Contains(all, step) || !strings.Contains(all, "reason: PlaybookFailed") || !strings.Contains(all, "host: master-1") {
		t.Errorf("the failure is not that of %q on master-1:\n%s", step, all)
	}
}

// failureOf starts an installation that fails, and returns its first failure as lines. It then makes the machine blank.
func failureOf(t *testing.T, s *site.Site, options ...site.Option) []string {
	t.Helper()
	p := s.Apply(s.Provisioning("edge-51", append(options, site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))}))...))
	failed := site.Await(s, &v1alpha1.ProvisioningList{}, "the failure", 2*installLimit, func(p *v1alpha1.Provisioning) bool { return p.Status.Failure != nil })
	f := failed.Status.Failure
	// The hint differs: after the failure with accelerations, another attempt has none.
	lines := []string{"reason: " + f.Reason, "task: " + f.Task, "host: " + f.Host, "step: " + f.Step, "message: " + f.Message}
	abandon(t, s, p)
	s.Lab("reset")
	return state.Normal(lines, namesOf(failed), state.PerInstallation)
}

// abandon deletes a Provisioning and leaves its machines as they are.
func abandon(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) {
	t.Helper()
	s.Change(p, func(p *v1alpha1.Provisioning) { p.Spec.DeletionPolicy = v1alpha1.DeletionRetain })
	if err := s.Delete(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	site.AwaitGone(s, &v1alpha1.ProvisioningList{}, p, resetLimit)
}

// namesOf returns the names of the nodes by their addresses.
func namesOf(p *v1alpha1.Provisioning) map[string]string {
	names := map[string]string{}
	for _, n := range p.Status.Nodes {
		names[n.Address] = n.Name
	}
	return names
}

// logOf returns the logs of all runs of a Provisioning.
func logOf(s *site.Site, p *v1alpha1.Provisioning) string {
	s.T.Helper()
	return s.Kubectl("logs", "--selector", contract.LabelCluster+"="+p.Name, "--all-containers", "--tail=-1", "--prefix", "--ignore-errors")
}
