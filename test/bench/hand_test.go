//go:build e2e

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
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
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook/acceleration"
	"github.com/akraino-icn/bpa/test/lab/artifacts"
	"github.com/akraino-icn/bpa/test/site"
)

// hand is an installation by hand: a pod in which ansible-playbook runs twice.
type hand struct {
	name, image string
	hosts       string         // kubespray's inventory, with the addresses of the run
	vars        map[string]any // its variables
	arguments   []string       // further arguments of ansible-playbook
	env         []corev1.EnvVar
	plugins     map[string]string // files of plugins, by path below pluginsFolder
	renew       func() *strings.Replacer
}

// pluginsFolder is where a pod has the plugins of hand. The pod can write to the folder above.
const pluginsFolder = "/acceleration/plugins"

// baseline returns the installation that all others are compared with: kubespray's own image,
// defaults, ansible.cfg and number of forks, with the lab's variables and nothing of BPA. From the
// run it takes only what defines the cluster: the nodes, the version and the networks.
func baseline(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) hand {
	t.Helper()
	inventory := configMap(t, s, contract.OutcomeName(contract.RunRequestName(p.Name, 1))).Data
	var ofRun map[string]any
	decode(t, inventory[contract.KeyGroupVars], &ofRun)
	raw, err := os.ReadFile(filepath.Join(site.State(), "cache", "lab", "vars.yaml"))
	if err != nil {
		t.Fatalf("%v: run make up", err)
	}
	vars := map[string]any{}
	if err := yaml.Unmarshal(raw, &vars); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kube_version", "kube_network_plugin", "kube_pods_subnet", "kube_service_addresses"} {
		vars[name] = ofRun[name]
	}
	return hand{
		name: "by-hand", image: playbooksImage, hosts: inventory[contract.KeyHostsINI], vars: vars,
		renew: func() *strings.Replacer { return strings.NewReplacer(newAddresses(t, s, p)...) },
	}
}

// accelerated returns the baseline with the number of forks of the run and with some accelerations, but
// without BPA. name is a part of the name of its pod.
func accelerated(t *testing.T, s *site.Site, p *v1alpha1.Provisioning, name string, on ...string) hand {
	t.Helper()
	h := baseline(t, s, p)
	h.name = "by-hand-" + name
	var request contract.Request
	decode(t, requestOf(t, s, p).Data[contract.KeyRequest], &request)
	maps.Copy(h.vars, acceleration.ExtraVars(on, contract.PlaybookInstall, request))
	h.arguments = []string{"--forks", fmt.Sprint(playbook.Forks(len(p.Status.Nodes)))}
	folder := t.TempDir()
	env, err := acceleration.Install(folder, on, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, variable := range env {
		variable, value, _ := strings.Cut(variable, "=")
		h.env = append(h.env, corev1.EnvVar{Name: variable, Value: strings.ReplaceAll(value, folder, filepath.Dir(pluginsFolder))})
	}
	h.plugins = filesBelow(t, filepath.Join(folder, "plugins"))
	return h
}

// filesBelow returns the contents of all files of a folder by their paths in it.
func filesBelow(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := os.DirFS(folder)
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, path)
		files[path] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// play resets the machines, runs the playbook twice, and returns the running times of the containers,
// which are exact to a second.
func (h hand) play(t *testing.T, s *site.Site) (first, second time.Duration) {
	t.Helper()
	s.Lab("reset")
	done := h.run(t, s, true)
	return ran(done.Status.InitContainerStatuses[0]), ran(done.Status.ContainerStatuses[0])
}

// again runs the playbook once on machines that have the cluster, so that it has nothing to do.
func (h hand) again(t *testing.T, s *site.Site) time.Duration {
	t.Helper()
	return ran(h.run(t, s, false).Status.ContainerStatuses[0])
}

// run runs the playbook in a pod, once or twice.
func (h hand) run(t *testing.T, s *site.Site, twice bool) *corev1.Pod {
	t.Helper()
	renew := h.renew()
	vars, err := json.Marshal(h.vars)
	if err != nil {
		t.Fatal(err)
	}
	makeMap(t, s, h.name, map[string]string{contract.KeyHostsINI: renew.Replace(h.hosts), contract.KeyGroupVars: renew.Replace(string(vars))})
	files, items := map[string]string{}, []corev1.KeyToPath(nil)
	for path, content := range h.plugins { // a key of a ConfigMap cannot contain a slash
		key := strings.ReplaceAll(path, "/", "..")
		files[key], items = content, append(items, corev1.KeyToPath{Key: key, Path: path})
	}
	makeMap(t, s, h.name+"-plugins", files)
	pod := h.pod(s.Namespace, items)
	if !twice {
		pod.Spec.InitContainers = nil
	}
	if err := s.Create(context.Background(), pod); err != nil {
		t.Fatal(err)
	}
	done := site.Await(s, &corev1.PodList{}, "the playbook "+h.name, 2*limit, func(p *corev1.Pod) bool {
		return p.Name == h.name && (p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed)
	})
	if done.Status.Phase != corev1.PodSucceeded {
		t.Fatalf("the playbook %s failed:\n%s", h.name, s.Kubectl("logs", h.name, "--all-containers", "--tail=60"))
	}
	return done
}

func ran(c corev1.ContainerStatus) time.Duration {
	return c.State.Terminated.FinishedAt.Sub(c.State.Terminated.StartedAt.Time)
}

// pod returns a pod with two containers that run the same playbook one after the other. They share
// /tmp, where kubespray's ansible.cfg keeps the facts of the machines.
func (h hand) pod(namespace string, plugins []corev1.KeyToPath) *corev1.Pod {
	playbook := corev1.Container{
		Name:       "second",
		Image:      h.image,
		WorkingDir: "/kubespray",
		Command: append([]string{"ansible-playbook", "-b", "-i", "/inventory/" + contract.KeyHostsINI, "-e", "@/inventory/" + contract.KeyGroupVars,
			"--private-key", "/ssh/ssh-privatekey", contract.PlaybookInstall}, h.arguments...),
		Env: append([]corev1.EnvVar{{Name: "HOME", Value: "/scratch"}, {Name: "ANSIBLE_HOST_KEY_CHECKING", Value: "False"}}, h.env...),
		VolumeMounts: []corev1.VolumeMount{
			{Name: "inventory", MountPath: "/inventory"}, {Name: "ssh", MountPath: "/ssh"}, {Name: "scratch", MountPath: "/scratch"},
			{Name: "tmp", MountPath: "/tmp"}, {Name: "acceleration", MountPath: filepath.Dir(pluginsFolder)}, {Name: "plugins", MountPath: pluginsFolder},
		},
		SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
	}
	first := *playbook.DeepCopy()
	first.Name = "first"
	object := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	memory := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: h.name},
		Spec: corev1.PodSpec{
			RestartPolicy:                corev1.RestartPolicyNever,
			AutomountServiceAccountToken: ptr.To(false),
			EnableServiceLinks:           ptr.To(false),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532), RunAsGroup: ptr.To[int64](65532), FSGroup: ptr.To[int64](65532),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			InitContainers: []corev1.Container{first},
			Containers:     []corev1.Container{playbook},
			Volumes: []corev1.Volume{
				{Name: "inventory", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: object(h.name)}}},
				{Name: "plugins", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: object(h.name + "-plugins"), Items: plugins}}},
				{Name: "ssh", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "ssh-key", DefaultMode: ptr.To[int32](0o400)}}},
				{Name: "scratch", VolumeSource: memory}, {Name: "tmp", VolumeSource: memory}, {Name: "acceleration", VolumeSource: memory},
			},
		},
	}
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

// playbooksImage is the base image of the Tasks that the run used.
const playbooksImage = "10.60.0.1:5000/base/ansible:kubespray-" + artifacts.KubesprayRelease
