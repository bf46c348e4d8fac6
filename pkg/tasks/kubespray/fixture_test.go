package kubespray

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/podstart"
)

// fixture simulates the surroundings of the task: its nodes are SSH servers, its playbook prints
// recorded output, and its stores and its log are in memory.
type fixture struct {
	t          *testing.T
	in         session.Input
	user       ssh.Key
	hostKey    ssh.Key
	servers    []*sshtest.Server
	knownHosts sessiontest.Memory
	progress   sessiontest.Memory
	installed  sessiontest.Memory
	log        bytes.Buffer
	ran        []process.Command
	// play replaces ansible-playbook.
	play func(c process.Command, stdout, stderr io.Writer) int
	// kubectl answers "kubectl get" on the control plane. waited is called for each "kubectl wait".
	kubectl func() string
	waited  func(command string)
	// machine answers machine.IdentityScript on the i-th SSH server.
	machine func(i int, command string, stdout io.Writer) int
	// nodes answers kubectl commands about one node of the cluster.
	nodes func(command string, stdout io.Writer) int
	// commands answers commands before all others; false: it does not know the command.
	commands func(command string, stdout, stderr io.Writer) (status int, known bool)
	// scripts is like commands, and also gets the number of the server.
	scripts func(i int, command string, stdout, stderr io.Writer) (status int, known bool)
	// trusts answers the command that installs the depot's certificate on a node.
	trusts func(command string, stderr io.Writer) int
	// system is the content of a node's os-release. sources answers the command that configures the
	// depot as a package source.
	system  string
	sources func(command string, stdout, stderr io.Writer) int
	noKey   error                      // of the request for the depot's key of OS packages
	names   func(stderr io.Writer) int // answers nameScript; nil: success
	// disks are the contents of the machines, by the number of their server.
	disks []*disk
	// cluster answers "kubectl get nodes" on the i-th server; nil: there is no API server. etcd
	// answers the commands about etcd.
	cluster func(i int) string
	etcd    func(command string, stdout io.Writer) int
	// starts are the nodes on which each check has started a pod. podless are the nodes that start none.
	starts  [][]string
	podless map[string]string
	// done is the number of commands on each server before the part of the test that counts.
	done map[int]int
}

// newFixture returns a fixture with a healthy master-1, the given number of healthy workers, and a
// playbook that succeeds.
func newFixture(t *testing.T, workers int) *fixture {
	w := &fixture{t: t, play: recorded("green", 0), waited: func(string) {}}
	w.machine = func(i int, _ string, stdout io.Writer) int {
		fmt.Fprintf(stdout, "name machine-%d\nvirtual lo 00:00:00:00:00:00\ncard eth0 %s\n", i+1, macOf(i))
		return 0
	}
	var file []byte
	w.user, file = sshtest.NewKey(t)
	w.hostKey, _ = sshtest.NewKey(t)
	playbooks := t.TempDir()
	for _, name := range []string{contract.PlaybookInstall, contract.PlaybookScale, contract.PlaybookReset, contract.PlaybookRemove, contract.PlaybookUpgrade} {
		if err := os.WriteFile(filepath.Join(playbooks, name), []byte("- {hosts: all, tasks: [{debug: {}}]}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.in = session.Input{
		Run: "edge-1-install-1", Playbook: "cluster.yml", HostsINI: []byte("[all]\n"), GroupVars: []byte("{}"), PrivateKey: file,
		Request:      contract.Request{Provisioning: "edge-1", Namespace: "site", UID: "uid-of-edge-1", SSHUser: "root"},
		PlaybooksDir: playbooks, ScratchDir: t.TempDir(), ConnectLimit: 5 * time.Second, HealthLimit: 20 * time.Second, ProbeLimit: 5 * time.Second,
		Poll: 20 * time.Millisecond,
	}
	var addresses []string // each node has its own loopback address, and all nodes have the same port
	for i := range workers + 1 {
		addresses = append(addresses, fmt.Sprintf("127.0.0.%d", i+1))
	}
	listeners := sshtest.Listen(t, addresses...)
	for i := range workers + 1 {
		n := contract.Node{Name: "master-1", Roles: []string{contract.RoleControlPlane}, Host: fmt.Sprintf("host-%d", i+1), HostUID: fmt.Sprintf("uid-%d", i+1), MACs: []string{macOf(i)}}
		if i > 0 {
			n.Name, n.Roles = fmt.Sprintf("worker-%d", i), []string{contract.RoleWorker}
		}
		n.Address = addresses[i]
		server := sshtest.StartOn(t, listeners[i], w.user.PublicKey(), w.shellOf(i), w.hostKey)
		w.in.Request.SSHPort = server.Port
		w.servers = append(w.servers, server)
		w.disks = append(w.disks, &disk{})
		w.in.Nodes = append(w.in.Nodes, n)
	}
	w.kubectl = func() string { return healthy(w.in.Nodes...) }
	return w
}

// macOf is the MAC address of the i-th machine.
func macOf(i int) string { return fmt.Sprintf("02:00:00:00:00:%02x", i+1) }

// shellOf returns the handler of commands on the i-th server.
func (w *fixture) shellOf(i int) sshtest.Handler {
	return func(command string, stdout, stderr io.Writer) int {
		if strings.Contains(command, "/sys/class/net") {
			return w.machine(i, command, stdout)
		}
		if w.commands != nil {
			if status, known := w.commands(command, stdout, stderr); known {
				return status
			}
		}
		if w.scripts != nil {
			if status, known := w.scripts(i, command, stdout, stderr); known {
				return status
			}
		}
		if text, fake := strings.CutPrefix(command, "sh -c 'fake "); fake {
			return w.disks[i].answer(strings.TrimSuffix(text, "'"), stdout, stderr)
		}
		if w.cluster != nil && command == "test -s /etc/kubernetes/admin.conf" {
			return 0
		}
		if strings.Contains(command, " get nodes --output json") {
			fmt.Fprint(stdout, w.cluster(i))
			return 0
		}
		return w.shell(command, stdout, stderr)
	}
}

func (w *fixture) shell(command string, stdout, stderr io.Writer) int {
	switch {
	case strings.Contains(command, " get nodes,pods "):
		fmt.Fprint(stdout, w.kubectl())
	case strings.Contains(command, " wait --for="):
		w.waited(command)
	case w.etcd != nil && strings.Contains(command, "etcd"):
		return w.etcd(command, stdout)
	case strings.Contains(command, " node ") && w.nodes != nil:
		return w.nodes(command, stdout)
	case command == "cat /etc/os-release":
		fmt.Fprint(stdout, w.system)
	case strings.HasPrefix(command, "sh -c '") && strings.Contains(command, session.AptSource):
		if w.sources != nil {
			return w.sources(command, stdout, stderr)
		}
	case strings.HasPrefix(command, "sh -c '") && strings.Contains(command, session.KubeletDropIn):
	case strings.HasPrefix(command, "sh -c '") && strings.Contains(command, "hosts=/etc/hosts"):
		if w.names != nil {
			return w.names(stderr)
		}
	case strings.HasPrefix(command, "sh -c '") && w.trusts != nil:
		return w.trusts(command, stderr)
	case command != "true":
		fmt.Fprintf(stderr, "unknown command %s", command)
		return 127
	}
	return 0
}

func (w *fixture) ports() session.Ports {
	return session.Ports{
		Dial: func(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (node.Connection, error) {
			to.Address = strings.Replace(to.Address, "10.60.0.", "127.0.0.", 1) // see routable
			return node.DialSSH(ctx, to, key, pinned)
		},
		Playbook: func(_ context.Context, c process.Command, stdout, stderr io.Writer) (int, error) {
			w.ran = append(w.ran, c)
			return w.play(c, stdout, stderr), nil
		},
		StartPods: func(_ context.Context, _ podstart.Cluster, nodes []string, _, _ time.Duration, _ io.Writer) (map[string]string, error) {
			w.starts = append(w.starts, nodes)
			failed := map[string]string{}
			for _, name := range nodes {
				if why, bad := w.podless[name]; bad {
					failed[name] = why
				}
			}
			return failed, nil
		},
		PackageKey: func(context.Context, contract.Request) ([]byte, error) { return []byte(depotKey), w.noKey },
		KnownHosts: &w.knownHosts, Progress: &w.progress, Installed: &w.installed, Log: &w.log, Machines: fakeMachines{},
	}
}

func (w *fixture) run() (session.Output, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return Run(ctx, w.in, w.ports())
}

// recorded returns a fake ansible-playbook. It prints the recorded output with this name from the
// testdata of package ansible.
func recorded(name string, status int) func(process.Command, io.Writer, io.Writer) int {
	return func(_ process.Command, stdout, stderr io.Writer) int {
		raw, err := os.ReadFile("../../ansible/testdata/" + name + ".jsonl")
		if err != nil {
			panic(err)
		}
		stdout.Write(raw)
		fmt.Fprintln(stderr, "[WARNING]: Skipping callback plugin '', unable to load")
		return status
	}
}

func healthy(nodes ...contract.Node) string {
	items := []string{sessiontest.PodJSON("coredns-1", nodes[0].Name, "True", "")}
	for _, n := range nodes {
		items = append(items, sessiontest.NodeJSON(n.Name, "True", "KubeletReady"))
	}
	return sessiontest.List(items...)
}
