//go:build integration

package vip

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// machine has a network, processes and a folder /etc of its own. The real keepalived runs in it, as in the static pod.
type machine struct {
	t          *testing.T
	node       contract.Node
	netns      string
	port       string // of the bridge to which it is connected
	pid        string // of its first process
	keepalived *exec.Cmd
	log        *os.File
	api        *exec.Cmd
}

// command runs a program and returns its output.
func command(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(context.WithoutCancel(t.Context()), args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v: %s (this test needs root)", args, err, out)
	}
	return string(out)
}

// network returns the name of a network namespace with a bridge, in which the client is, and the machines on it.
func network(t *testing.T, nodes ...contract.Node) (client string, machines []*machine) {
	t.Helper()
	client = newNetwork(t, "bpa-vip-client")
	command(t, "ip", "-n", client, "link", "add", "bridge", "type", "bridge")
	command(t, "ip", "-n", client, "addr", "add", "10.97.0.1/24", "dev", "bridge")
	command(t, "ip", "-n", client, "link", "set", "bridge", "up")
	for i, n := range nodes {
		m := &machine{t: t, node: n, netns: newNetwork(t, "bpa-vip-"+n.Name), port: fmt.Sprintf("port%d", i)}
		command(t, "ip", "-n", client, "link", "add", m.port, "master", "bridge", "type", "veth", "peer", "name", "eth0", "netns", m.netns)
		command(t, "ip", "-n", client, "link", "set", m.port, "up")
		command(t, "ip", "-n", m.netns, "addr", "add", n.Address+"/24", "dev", "eth0")
		command(t, "ip", "-n", m.netns, "link", "set", "eth0", "up")
		command(t, "ip", "-n", m.netns, "link", "set", "lo", "up")
		m.start()
		machines = append(machines, m)
	}
	return client, machines
}

func newNetwork(t *testing.T, name string) string {
	t.Helper()
	_ = exec.Command("ip", "netns", "delete", name).Run() // left by a test that was killed
	command(t, "ip", "netns", "add", name)
	t.Cleanup(func() { command(t, "ip", "netns", "delete", name) })
	return name
}

// start starts the first process of the machine.
func (m *machine) start() {
	m.t.Helper()
	dir := m.t.TempDir()
	const script = `cp -a /etc/. "$0/" 2>/dev/null; mount --bind "$0" /etc && mount -t tmpfs tmpfs /run && echo ready && exec sleep infinity`
	cmd := exec.Command("ip", "netns", "exec", m.netns, "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script, dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	if line := make([]byte, 6); true {
		if _, err := io.ReadFull(out, line); err != nil {
			m.t.Fatalf("the machine %s does not start: %v", m.node.Name, err)
		}
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
	if m.pid = strings.TrimSpace(string(children)); err != nil || m.pid == "" {
		m.t.Fatalf("first process of %s: %q, %v", m.node.Name, children, err)
	}
	m.log, err = os.Create(filepath.Join(m.t.TempDir(), "log"))
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		if text, _ := os.ReadFile(m.log.Name()); m.t.Failed() {
			m.t.Logf("keepalived of %s:\n%s", m.node.Name, text)
		}
	})
}

func (m *machine) in(args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--target", m.pid, "--mount", "--pid", "--net", "--"}, args...)...)
}

// run runs a script on the machine.
func (m *machine) run(script string) (string, error) {
	out, err := m.in("sh", "-c", script).CombinedOutput()
	return string(out), err
}

// write gives the machine its part of the address, and starts keepalived as the kubelet does.
func (m *machine) write(planes ...contract.Node) {
	m.t.Helper()
	script, err := Write(&contract.API{Address: address, Port: 6443, Virtual: true}, m.node, planes)
	if err != nil {
		m.t.Fatal(err)
	}
	if out, err := m.run(script); err != nil {
		m.t.Fatalf("%s: %v: %s", m.node.Name, err, out)
	}
	if m.keepalived == nil {
		own := strings.ReplaceAll(arguments, pids+"/", "/run/") // a machine of the test has the /dev of all
		m.keepalived = m.in(append([]string{"keepalived"}, strings.Fields(own)...)...)
		m.keepalived.Stdout, m.keepalived.Stderr = m.log, m.log
		if err := m.keepalived.Start(); err != nil {
			m.t.Fatal(err)
		}
		go func() { _ = m.keepalived.Wait() }() // a script, or the end of the machine, ends it
	}
}

func (m *machine) logged(text string) func() bool {
	return func() bool {
		have, err := os.ReadFile(m.log.Name())
		return err == nil && bytes.Contains(have, []byte(text))
	}
}

// serve starts the API server of the machine: this program, in the network of the machine.
func (m *machine) serve() {
	m.t.Helper()
	m.api = exec.Command("ip", "netns", "exec", m.netns, os.Args[0]) // it replaces ip, so that fail ends it
	m.api.Env = append(os.Environ(), serverOf+"="+m.node.Name, noLeader+"="+m.log.Name()+".noleader")
	if err := m.api.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(m.fail)
}

// fail ends the API server.
func (m *machine) fail() {
	_, _ = m.api.Process.Kill(), m.api.Wait() // it may have ended
}

// serverOf is the variable with the name of the machine whose API server this program is.
const serverOf = "BPA_TEST_API_SERVER_OF"

// noLeader is the variable with the path of a file that exists while etcd has no leader.
const noLeader = "BPA_TEST_NO_LEADER"

// loseLeader lets etcd have no leader, or one again.
func (m *machine) loseLeader(lost bool) {
	m.t.Helper()
	err := os.WriteFile(m.log.Name()+".noleader", nil, 0o600)
	if !lost {
		err = os.Remove(m.log.Name() + ".noleader")
	}
	if err != nil {
		m.t.Fatal(err)
	}
}

func TestMain(m *testing.M) {
	name := os.Getenv(serverOf)
	if name == "" {
		os.Exit(m.Run())
	}
	l, err := net.Listen("tcp4", ":6443")
	if err != nil {
		panic(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := os.Stat(os.Getenv(noLeader)); err == nil && r.URL.Path == "/livez" && r.URL.Query().Get("exclude") != "etcd" {
			http.Error(w, "etcd failed", http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, name)
	}))
	_ = server.Listener.Close() // it has another port
	server.Listener = l
	server.StartTLS()
	select {}
}

// has reports whether the machine has the address.
func (m *machine) has() bool {
	return strings.Contains(command(m.t, "ip", "-n", m.netns, "-o", "-4", "addr", "show"), " "+address+"/32 ")
}

// answering returns the name of the machine that answers at the address; empty: none does.
func answering(client string) string {
	out, _ := exec.Command("ip", "netns", "exec", client, "curl", "-ks", "-m", "1", "https://"+address+":6443/version").Output() // it fails while nobody has the address
	return string(out)
}
