package machine

import (
	"context"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// start starts a program of the machine that waits, and lists the process in the machine's /proc.
// It returns the process ID and a channel that is closed when the process has ended.
func (m *machine) start(program string, arguments ...string) (string, <-chan struct{}) {
	m.t.Helper()
	path, err := exec.LookPath("sleep")
	if err != nil {
		m.t.Fatal(err)
	}
	if out, err := exec.Command("cp", "--remove-destination", path, m.root+program).CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(m.root+program, append([]string{"600"}, arguments...)...)
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	m.t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	pid := strconv.Itoa(cmd.Process.Pid)
	m.link("proc/"+pid, "/proc/"+pid)
	return pid, ended
}

// Clean kills the programs of a cluster, and not those of the site.
func TestProcesses(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	if err := Mark(context.Background(), m.shell, user); err != nil {
		t.Fatal(err)
	}
	m.install()
	kubelet, ended := m.start("/usr/local/bin/kubelet")
	tool, toolEnded := m.start("/usr/local/bin/site-tool")
	m.mkdir("usr/bin")
	_, siteEnded := m.start("/usr/bin/containerd")

	got, err := Inspect(context.Background(), m.shell)
	if err != nil || !slices.Contains(got.Kubernetes, "process kubelet ("+kubelet+")") {
		t.Errorf("evidence %q, %v; want the kubelet", got.Kubernetes, err)
	}
	processes := slices.DeleteFunc(got.Left, func(left string) bool { return !strings.HasPrefix(left, "process") })
	if want := []string{"process kubelet (" + kubelet + ")"}; !slices.Equal(processes, want) {
		t.Errorf("processes %q, want %q (site-tool is %s)", processes, want, tool)
	}
	if err := Clean(context.Background(), m.shell); err != nil {
		t.Fatalf("%v\n%s", err, &m.stderr)
	}
	<-ended
	for name, ended := range map[string]<-chan struct{}{"site-tool": toolEnded, "the site's containerd": siteEnded} {
		select {
		case <-ended:
			t.Errorf("%s was killed", name)
		default:
		}
	}
}

// The containers of a cluster are found by their cgroup, or by the shim of containerd above them.
// The machine of this test is a container itself, in a pod of another cluster.
func TestContainers(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	pod := "5:cpu:/kubepods/pod1/node"
	for _, p := range []struct{ pid, parent, name, cgroup, arguments string }{
		{"1", "0", "systemd", pod + "/init.scope", ""},
		{"10", "1", "sshd", pod + "/system.slice/ssh.service", ""},
		{"20", "1", "containerd-shim", pod + "/system.slice/containerd.service", "containerd-shim-runc-v2\x00-namespace\x00k8s.io\x00"},
		{"21", "20", "pause", pod + "/other", ""},
		{"22", "21", "a (b) c", pod + "/other", ""},
		{"30", "1", "containerd-shim", pod + "/system.slice/docker.service", "containerd-shim-runc-v2\x00-namespace\x00moby\x00"},
		{"31", "30", "postgres", pod + "/docker/1", ""},
		{"40", "1", "coredns", pod + "/kubepods.slice/kubepods-pod2.slice/crio-3.scope", ""},
		{"50", "1", "db", pod + "/system.slice/db.service", "db\x00--realm\x00k8s.io\x00"},
	} {
		m.write("proc/"+p.pid+"/stat", p.pid+" ("+p.name+") S "+p.parent+" 1 1 0\n", 0o644)
		m.write("proc/"+p.pid+"/cgroup", p.cgroup+"\n", 0o644)
		m.write("proc/"+p.pid+"/cmdline", p.arguments, 0o644)
	}
	got, err := Inspect(context.Background(), m.shell)
	want := []string{"process containerd-shim (20)", "process pause (21)", "process a (b) c (22)", "process coredns (40)"}
	if err != nil || !slices.Equal(got.Left, want) || len(got.Kubernetes) != 0 {
		t.Errorf("%v, processes %q, want %q; evidence %q\n%s", err, got.Left, want, got.Kubernetes, &m.stderr)
	}
}
