//go:build e2e

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

const limit = 15 * time.Minute

// TestBenchRunAgainstHand installs a cluster of three nodes through a Provisioning. It then resets
// the machines, installs the same cluster by hand with the same playbook, variables and image, and
// prints both wall times. The times have no limit, because the load of the machine affects them.
// The memory of the controller during the run must not exceed 100 MiB.
func TestBenchRunAgainstHand(t *testing.T) {
	playbooks := map[string]site.Playbooks{"the lab's playbooks": site.LabPlaybooks}
	if os.Getenv("KUBESPRAY") != "" {
		playbooks["kubespray "+string(site.Kubespray)] = site.Kubespray
	}
	for name, on := range playbooks {
		t.Run(name, func(t *testing.T) { benchRun(t, name, on) })
	}
}

func benchRun(t *testing.T, name string, on site.Playbooks) {
	s := site.New(t, "bench", 3, 0)
	s.Apply(s.Provisioning("bench", on,
		site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))}),
		site.Worker("worker-1", v1alpha1.Worker{HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"}}),
		site.Worker("worker-2", v1alpha1.Worker{HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"}})))
	site.Await(s, &v1alpha1.ProvisioningList{}, "the middle of the run", limit, func(p *v1alpha1.Provisioning) bool {
		return p.Status.Progress != nil && p.Status.Progress.Percent > 50
	})
	memory := controllerMemory(t, s)
	ready := site.Await(s, &v1alpha1.ProvisioningList{}, "the cluster", limit, site.Ready)
	through := ready.Status.Run.CompletionTime.Sub(ready.Status.Run.StartTime.Time)

	hand := byHand(t, s, ready)
	fmt.Printf("\n%s\n%-44s %8.1f s\n%-44s %8.1f s\n%-44s %8.1f s\n%-44s %8.2f   (goal 1.15)\n%-44s %8.1f MiB (limit 100)\n\n",
		name, "PipelineRun, 3 machines", through.Seconds(), "the same playbook by hand", hand.Seconds(), "on top of it", (through - hand).Seconds(),
		"ratio", through.Seconds()/hand.Seconds(), "controller, resident, during the run", float64(memory)/(1<<20))
	if memory > 100<<20 {
		t.Errorf("the controller uses %d MiB of memory; limit 100", memory>>20)
	}
}

// byHand resets the machines. In the inventory of the run, it replaces the old addresses of the
// machines by the new ones. It then runs ansible-playbook with this inventory in a separate pod,
// with the base image of the task, and returns the running time of the container.
func byHand(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) time.Duration {
	t.Helper()
	ctx := context.Background()
	inventory := &corev1.ConfigMap{}
	if err := s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: contract.InventoryName(p.Name)}, inventory); err != nil {
		t.Fatal(err)
	}
	s.Lab("reset")
	fresh := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "by-hand"}, Data: map[string]string{}}
	renew := strings.NewReplacer(newAddresses(t, s, p)...)
	for _, key := range []string{contract.KeyHostsINI, contract.KeyGroupVars} {
		fresh.Data[key] = renew.Replace(inventory.Data[key])
	}
	if err := s.Create(ctx, fresh); err != nil {
		t.Fatal(err)
	}
	pod := handPod(s.Namespace, playbooksImage(p), len(p.Status.Nodes))
	if err := s.Create(ctx, pod); err != nil {
		t.Fatal(err)
	}
	done := site.Await(s, &corev1.PodList{}, "the playbook by hand", limit, func(p *corev1.Pod) bool {
		return p.Name == pod.Name && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed)
	})
	if done.Status.Phase != corev1.PodSucceeded {
		t.Fatalf("the playbook by hand failed:\n%s", s.Kubectl("logs", pod.Name, "--tail=60"))
	}
	ended := done.Status.ContainerStatuses[0].State.Terminated
	return ended.FinishedAt.Sub(ended.StartedAt.Time)
}

// newAddresses returns the arguments of strings.NewReplacer. Each pair is the address of a node in
// the run and the current address of its machine. Both strings include the character after the
// address, so that 10.60.0.1 does not match the beginning of 10.60.0.12.
func newAddresses(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) []string {
	t.Helper()
	var pairs []string
	for _, n := range p.Status.Nodes {
		host := &metal3.BareMetalHost{}
		if err := s.Get(context.Background(), client.ObjectKey{Namespace: s.Namespace, Name: n.Host}, host); err != nil {
			t.Fatal(err)
		}
		now := host.Status.HardwareDetails.NIC[0].IP
		for _, end := range []string{"\n", " ", "\"", ":"} { // all characters that may follow an address in either file
			pairs = append(pairs, n.Address+end, now+end)
		}
	}
	return pairs
}

// playbooksImage returns the base image of the Tasks that the run used.
func playbooksImage(p *v1alpha1.Provisioning) string {
	if release := p.Spec.Kubespray.Release; release != "" {
		return "10.60.0.1:5000/base/ansible:kubespray-" + release
	}
	return "10.60.0.1:5000/base/ansible:latest"
}

func handPod(namespace, image string, forks int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "by-hand"},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: ptr.To(false),
			EnableServiceLinks:           ptr.To(false),
			SecurityContext:              &corev1.PodSecurityContext{RunAsUser: ptr.To[int64](65532), RunAsGroup: ptr.To[int64](65532), FSGroup: ptr.To[int64](65532)},
			Containers: []corev1.Container{{
				Name:       "playbook",
				Image:      image,
				WorkingDir: "/kubespray",
				Command: []string{"ansible-playbook", "-b", "-i", "/inventory/" + contract.KeyHostsINI, "-e", "@/inventory/" + contract.KeyGroupVars,
					"--private-key", "/ssh/ssh-privatekey", "--forks", fmt.Sprint(max(5, forks)), "cluster.yml"},
				Env: []corev1.EnvVar{
					{Name: "HOME", Value: "/scratch"}, {Name: "TMPDIR", Value: "/scratch"}, {Name: "ANSIBLE_HOST_KEY_CHECKING", Value: "False"},
					{Name: "ANSIBLE_CACHE_PLUGIN_CONNECTION", Value: "/scratch/facts"},
				},
				VolumeMounts: []corev1.VolumeMount{{Name: "inventory", MountPath: "/inventory"}, {Name: "ssh", MountPath: "/ssh"}, {Name: "scratch", MountPath: "/scratch"}},
			}},
			Volumes: []corev1.Volume{
				{Name: "inventory", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "by-hand"}}}},
				{Name: "ssh", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "ssh-key", DefaultMode: ptr.To[int32](0o400)}}},
				{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
			},
		},
	}
}

// controllerMemory returns the resident memory of the controller's process, in bytes, from /proc of
// this machine.
func controllerMemory(t *testing.T, s *site.Site) int64 {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range processes {
		cmdline, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(cmdline), "/ko-app/controller\x00") || !strings.Contains(environ(path), "bpa-system") {
			continue
		}
		return residentOf(t, filepath.Dir(path))
	}
	t.Fatal("no process of the controller on this machine")
	return 0
}

func environ(cmdline string) string {
	raw, _ := os.ReadFile(filepath.Join(filepath.Dir(cmdline), "environ"))
	return string(raw)
}

func residentOf(t *testing.T, proc string) int64 {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	t.Fatalf("%s has no VmRSS", proc)
	return 0
}
