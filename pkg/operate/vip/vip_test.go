package vip

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/contract"
)

var planes = []contract.Node{{Name: "m-1", Address: "10.60.0.11"}, {Name: "m-2", Address: "10.60.0.12"}, {Name: "m-3", Address: "10.60.0.13"}}

func TestConfig(t *testing.T) {
	got, err := config(&contract.API{Address: "10.60.0.5", Port: 6443, Virtual: true}, planes[1], planes)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"virtual_router_id 5\n", "priority 199\n", "unicast_src_ip 10.60.0.12\n", "unicast_peer {\n    10.60.0.11\n    10.60.0.13\n  }", "10.60.0.5/32 dev @DEVICE@", "https://127.0.0.1:6443/livez?exclude=etcd\"", "https://127.0.0.1:6443/livez\"", "track_script {\n    api\n    etcd\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	alone, err := config(&contract.API{Address: "10.60.0.5", Port: 6443, Virtual: true}, planes[1], planes[1:2])
	if err != nil || !strings.Contains(alone, "unicast_peer {\n    10.60.0.5\n  }") {
		t.Errorf("a control plane without another one uses multicast: %v\n%s", err, alone)
	}
	for _, bad := range []string{"10.60.0.13", "fd00::5", "api.example"} {
		if _, err := config(&contract.API{Address: bad, Port: 6443}, planes[1], planes); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// TestManifest: no file of keepalived that says that it runs is in a volume, which outlives a container.
func TestManifest(t *testing.T) {
	var pod corev1.Pod
	if err := yaml.UnmarshalStrict([]byte(manifest), &pod); err != nil {
		t.Fatal(err)
	}
	c := pod.Spec.Containers[0]
	for _, name := range []string{"--pid=", "--vrrp_pid="} {
		i := slices.IndexFunc(c.Command, func(a string) bool { return strings.HasPrefix(a, name) })
		if i < 0 || slices.ContainsFunc(c.VolumeMounts, func(v corev1.VolumeMount) bool { return strings.HasPrefix(c.Command[i], name+v.MountPath) }) {
			t.Errorf("%s of %q is in a volume", name, c.Command)
		}
	}
	if c.Image != contract.KeepalivedImage || !pod.Spec.HostNetwork {
		t.Errorf("image %s, network of the host %t", c.Image, pod.Spec.HostNetwork)
	}
}

func TestScriptsCanBeSent(t *testing.T) {
	script, err := Write(&contract.API{Address: "10.60.0.5", Port: 6443}, planes[0], planes)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{script, Stop()} {
		if strings.Contains(s, "'") {
			t.Errorf("a single quote in\n%s", s)
		}
		cmd := exec.Command("sh", "-n")
		cmd.Stdin = strings.NewReader(s)
		if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(s, "%!") {
			t.Errorf("%v\n%s\n%s", err, out, s)
		}
	}
}
