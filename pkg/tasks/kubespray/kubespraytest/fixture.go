package kubespraytest

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

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/podstart"
)

// Fixture simulates the surroundings of the task: its nodes are SSH servers, its playbook prints
// recorded output, and its stores and its log are in memory.
type Fixture struct {
	T          *testing.T
	In         session.Input
	User       ssh.Key
	HostKey    ssh.Key
	Servers    []*sshtest.Server
	KnownHosts sessiontest.Memory
	Progress   sessiontest.Memory
	Installed  sessiontest.Memory
	Log        bytes.Buffer
	Ran        []process.Command
	// Play replaces ansible-playbook.
	Play func(c process.Command, stdout, stderr io.Writer) int
	// Kubectl answers "kubectl get" on the control plane. Waited is called for each "kubectl wait".
	Kubectl func() string
	Waited  func(command string)
	// Machine answers machine.IdentityScript on the i-th SSH server.
	Machine func(i int, command string, stdout io.Writer) int
	// Nodes answers kubectl commands about one node of the cluster.
	Nodes func(command string, stdout io.Writer) int
	// Commands answers commands before all others; false: it does not know the command.
	Commands func(command string, stdout, stderr io.Writer) (status int, known bool)
	// Scripts is like Commands, and also gets the number of the server.
	Scripts func(i int, command string, stdout, stderr io.Writer) (status int, known bool)
	// Trusts answers the command that installs the depot's certificate on a node.
	Trusts func(command string, stderr io.Writer) int
	// System is the content of a node's os-release. Sources answers the command that configures the
	// depot as a package source.
	System  string
	Sources func(command string, stdout, stderr io.Writer) int
	NoKey   error                      // of the request for the depot's key of OS packages
	Names   func(stderr io.Writer) int // answers nameScript; nil: success
	// Disks are the contents of the machines, by the number of their server.
	Disks []*Disk
	// Cluster answers "kubectl get nodes" on the i-th server; nil: there is no API server. Etcd
	// answers the commands about etcd.
	Cluster func(i int) string
	Etcd    func(command string, stdout io.Writer) int
	// Starts are the nodes on which each check has started a pod. Podless are the nodes that start none.
	Starts  [][]string
	Podless map[string]string
	// API serves the API of the cluster at each of the machines. Calls is called before each of its answers; its error is the
	// answer.
	API   *apitest.Server
	Calls func(apitest.Call) error
	// Done is the number of commands on each server before the part of the test that counts.
	Done map[int]int
}

// New returns a fixture with a healthy master-1, the given number of healthy workers, and a
// playbook that succeeds.
func New(t *testing.T, workers int) *Fixture {
	w := &Fixture{T: t, Play: Recorded("green", 0), Waited: func(string) {}, API: apitest.Start(t), Calls: func(apitest.Call) error { return nil }}
	w.API.Objects = func(call apitest.Call) ([]runtime.Object, error) { return nil, w.Calls(call) }
	w.Machine = func(i int, _ string, stdout io.Writer) int {
		fmt.Fprintf(stdout, "name machine-%d\nvirtual lo 00:00:00:00:00:00\ncard eth0 %s\n", i+1, MACOf(i))
		return 0
	}
	var file []byte
	w.User, file = sshtest.NewKey(t)
	w.HostKey, _ = sshtest.NewKey(t)
	playbooks := t.TempDir()
	for _, name := range []string{contract.PlaybookInstall, contract.PlaybookScale, contract.PlaybookReset, contract.PlaybookRemove, contract.PlaybookUpgrade} {
		if err := os.WriteFile(filepath.Join(playbooks, name), []byte("- {hosts: all, tasks: [{debug: {}}]}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.In = session.Input{
		Run: "edge-1-install-1", Playbook: "cluster.yml", HostsINI: []byte("[all]\n"), GroupVars: []byte("{}"), PrivateKey: file,
		Request:      contract.Request{Spec: contract.Spec{Provisioning: "edge-1", Namespace: "site", UID: "uid-of-edge-1", SSHUser: "root"}},
		PlaybooksDir: playbooks, ScratchDir: t.TempDir(), ConnectLimit: 5 * time.Second, HealthLimit: 20 * time.Second, ProbeLimit: 5 * time.Second,
		Poll: 20 * time.Millisecond,
	}
	var addresses []string // each node has its own loopback address, and all nodes have the same port
	for i := range workers + 1 {
		addresses = append(addresses, fmt.Sprintf("127.0.0.%d", i+1))
	}
	listeners := sshtest.Listen(t, addresses...)
	for i := range workers + 1 {
		n := contract.Node{Name: "master-1", Roles: []string{contract.RoleControlPlane}, Host: fmt.Sprintf("host-%d", i+1), HostUID: fmt.Sprintf("uid-%d", i+1), MACs: []string{MACOf(i)}}
		if i > 0 {
			n.Name, n.Roles = fmt.Sprintf("worker-%d", i), []string{contract.RoleWorker}
		}
		n.Address = addresses[i]
		server := sshtest.StartOn(t, listeners[i], w.User.PublicKey(), w.ShellOf(i), w.HostKey)
		w.In.Request.SSHPort = server.Port
		w.Servers = append(w.Servers, server)
		w.Disks = append(w.Disks, &Disk{})
		w.In.Nodes = append(w.In.Nodes, n)
	}
	w.Kubectl = func() string { return Healthy(w.In.Nodes...) }
	return w
}

// MACOf is the MAC address of the i-th machine.
func MACOf(i int) string { return fmt.Sprintf("02:00:00:00:00:%02x", i+1) }

// ShellOf returns the handler of commands on the i-th server.
func (w *Fixture) ShellOf(i int) sshtest.Handler {
	return func(command string, stdout, stderr io.Writer) int {
		if strings.Contains(command, "/sys/class/net") {
			return w.Machine(i, command, stdout)
		}
		if w.Commands != nil {
			if status, known := w.Commands(command, stdout, stderr); known {
				return status
			}
		}
		if w.Scripts != nil {
			if status, known := w.Scripts(i, command, stdout, stderr); known {
				return status
			}
		}
		if text, fake := strings.CutPrefix(command, "sh -c 'fake "); fake {
			return w.Disks[i].answer(strings.TrimSuffix(text, "'"), stdout, stderr)
		}
		if w.Cluster != nil && command == "test -s /etc/kubernetes/admin.conf" {
			return 0
		}
		if strings.Contains(command, " get nodes --output json") {
			fmt.Fprint(stdout, w.Cluster(i))
			return 0
		}
		return w.shell(command, stdout, stderr)
	}
}

func (w *Fixture) shell(command string, stdout, stderr io.Writer) int {
	switch {
	case strings.Contains(command, " get nodes,pods "):
		fmt.Fprint(stdout, w.Kubectl())
	case strings.Contains(command, " wait --for="):
		w.Waited(command)
	case w.Etcd != nil && strings.Contains(command, "etcd"):
		return w.Etcd(command, stdout)
	case strings.Contains(command, " node ") && w.Nodes != nil:
		return w.Nodes(command, stdout)
	case command == "cat /etc/os-release":
		fmt.Fprint(stdout, w.System)
	case strings.HasPrefix(command, "sh -c '") && strings.Contains(command, session.AptSource):
		if w.Sources != nil {
			return w.Sources(command, stdout, stderr)
		}
	case strings.HasPrefix(command, "sh -c '") && strings.Contains(command, session.KubeletDropIn):
	case strings.HasPrefix(command, "sh -c '") && strings.Contains(command, "hosts=/etc/hosts"):
		if w.Names != nil {
			return w.Names(stderr)
		}
	case strings.HasPrefix(command, "sh -c '") && w.Trusts != nil:
		return w.Trusts(command, stderr)
	case command != "true":
		fmt.Fprintf(stderr, "unknown command %s", command)
		return 127
	}
	return 0
}

// Ports returns the ports of a run, which reach only what the fixture simulates.
func (w *Fixture) Ports() session.Ports {
	return session.Ports{
		Dial: func(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (node.Connection, error) {
			to.Address = strings.Replace(to.Address, "10.60.0.", "127.0.0.", 1) // see routable
			conn, err := node.DialSSH(ctx, to, key, pinned)
			if err != nil {
				return nil, err
			}
			return w.API.Through(conn), nil
		},
		Playbook: func(_ context.Context, c process.Command, stdout, stderr io.Writer) (int, error) {
			w.Ran = append(w.Ran, c)
			return w.Play(c, stdout, stderr), nil
		},
		StartPods: func(_ context.Context, _ podstart.Cluster, nodes []string, _, _ time.Duration, _ io.Writer) (map[string]string, error) {
			w.Starts = append(w.Starts, nodes)
			failed := map[string]string{}
			for _, name := range nodes {
				if why, bad := w.Podless[name]; bad {
					failed[name] = why
				}
			}
			return failed, nil
		},
		PackageKey: func(context.Context, contract.Request) ([]byte, error) { return []byte(DepotKey), w.NoKey },
		KnownHosts: &w.KnownHosts, Progress: &w.Progress, Installed: &w.Installed, Log: &w.Log, Machines: fakeMachines{},
	}
}

// Run runs the task, for at most 30 s.
func (w *Fixture) Run() (session.Output, error) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return kubespray.Run(ctx, w.In, w.Ports())
}

// Recorded returns a fake ansible-playbook. It prints the recorded output with this name from the
// testdata of package ansible.
func Recorded(name string, status int) func(process.Command, io.Writer, io.Writer) int {
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

// Healthy returns what kubectl prints of a cluster in which these nodes and all system pods are Ready.
func Healthy(nodes ...contract.Node) string {
	items := []string{sessiontest.PodJSON("coredns-1", nodes[0].Name, "True", "")}
	for _, n := range nodes {
		items = append(items, sessiontest.NodeJSON(n.Name, "True", "KubeletReady"))
	}
	return sessiontest.List(items...)
}
