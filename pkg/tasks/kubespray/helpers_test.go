package kubespray

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// gotDropIn makes the fixture remember which servers have got the drop-in.
func (w *fixture) gotDropIn() func() map[int]bool {
	var mu sync.Mutex
	got := map[int]bool{}
	before := w.scripts
	w.scripts = func(i int, command string, stdout, stderr io.Writer) (int, bool) {
		if strings.Contains(command, session.KubeletDropIn) && strings.Contains(command, base64.StdEncoding.EncodeToString([]byte("# Written by BPA.\n[Service]"))) {
			mu.Lock()
			defer mu.Unlock()
			got[i] = true
			return 0, true
		}
		if before != nil {
			return before(i, command, stdout, stderr)
		}
		return 0, false
	}
	return func() map[int]bool { return got }
}

func (w *fixture) pin(uid string, key ssh.HostKey) {
	w.knownHosts.Data = map[string]string{contract.KeyKnownHosts: ssh.Pins{{UID: uid, Host: "host", At: "10.0.0.1:22", Key: key}}.String()}
}

// stay lets the controller report that these nodes are or may be installed.
func (w *fixture) stay(nodes ...contract.Node) {
	w.in.Request.Installed = nil
	for _, n := range nodes {
		w.in.Request.Installed = append(w.in.Request.Installed, n.Host)
	}
}

// attempts counts the connections to each address. fail can make an attempt fail.
func (w *fixture) attempts(ports *session.Ports, fail func(address string, attempt int32) error) map[string]*atomic.Int32 {
	counts := map[string]*atomic.Int32{}
	for _, n := range w.in.Nodes {
		counts[n.Address] = &atomic.Int32{}
	}
	dial := ports.Dial
	ports.Dial = func(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (node.Connection, error) {
		if err := fail(to.Address, counts[to.Address].Add(1)); err != nil {
			return nil, err
		}
		return dial(ctx, to, key, pinned)
	}
	return counts
}

// depotKey stands for the depot's key of OS packages.
const depotKey = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"

const depotCA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

// states returns the record, and false if the ConfigMap does not have it.
func (w *fixture) states() (contract.HostStates, bool) {
	w.t.Helper()
	text, err := w.installed.Get(w.t.Context(), contract.KeyHosts)
	if err != nil {
		w.t.Fatal(err)
	}
	states, err := contract.ParseHostStates(text)
	if err != nil {
		w.t.Fatal(err)
	}
	return states, text != ""
}

func (w *fixture) record(text string) { w.installed.Data = map[string]string{contract.KeyHosts: text} }

func (w *fixture) expectStates(want contract.HostStates) {
	w.t.Helper()
	got, there := w.states()
	if diff := cmp.Diff(want, got); diff != "" || !there {
		w.t.Errorf("record exists: %t; hosts (-want +got):\n%s", there, diff)
	}
}

// answers replaces the machines of some servers. The map "with" holds the new machines by the
// number of their server. The other servers keep the right machine.
func (w *fixture) answers(with map[int]func(io.Writer) int) {
	right := w.machine
	w.machine = func(i int, command string, stdout io.Writer) int {
		if other := with[i]; other != nil {
			return other(stdout)
		}
		return right(i, command, stdout)
	}
}

// says returns a fake machine that prints the given lines when machine.IdentityScript runs on it.
func says(lines ...string) func(io.Writer) int {
	return func(stdout io.Writer) int {
		for _, line := range lines {
			fmt.Fprintln(stdout, line)
		}
		return 0
	}
}

// expectUntouched checks that no command ran that changes a machine.
func (w *fixture) expectUntouched() {
	w.t.Helper()
	for i, server := range w.servers {
		for _, command := range server.Commands() {
			if command != "true" && command != "cat /etc/os-release" && command != "sh -c '"+machine.IdentityScript+"'" && command != "sh -c 'fake inspect'" {
				w.t.Errorf("on server %d: %s", i+1, command)
			}
		}
	}
	if len(w.ran) > 0 {
		w.t.Error("the playbook ran nevertheless")
	}
}

// connected returns the nodes on which commands ran after the installation.
func (w *fixture) connected() (names []string) {
	for i, n := range w.in.Nodes {
		if len(w.servers[i].Commands()) > w.done[i] {
			names = append(names, n.Name)
		}
	}
	return names
}

// factsOf returns the files with facts of nodes that Ansible does not contact.
func (w *fixture) factsOf() (names []string) {
	w.t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.in.ScratchDir, "inventory/host_vars"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// noPlugin is the reason of a node that starts no pod.
const noPlugin = `FailedCreatePodSandBox: failed to find plugin "loopback" in path [/opt/cni/bin]`
