package kubespraytest

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
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// GotDropIn makes the fixture remember which servers have got the drop-in.
func (w *Fixture) GotDropIn() func() map[int]bool {
	var mu sync.Mutex
	got := map[int]bool{}
	before := w.Scripts
	w.Scripts = func(i int, command string, stdout, stderr io.Writer) (int, bool) {
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

// Pin stores the host key of a host, as an earlier run does.
func (w *Fixture) Pin(uid string, key ssh.HostKey) {
	w.KnownHosts.Data = map[string]string{contract.KeyKnownHosts: ssh.Pins{{UID: uid, Host: "host", At: "10.0.0.1:22", Key: key}}.String()}
}

// Stay lets the controller report that these nodes are or may be installed.
func (w *Fixture) Stay(nodes ...contract.Node) {
	w.In.Request.Installed = nil
	for _, n := range nodes {
		w.In.Request.Installed = append(w.In.Request.Installed, n.Host)
	}
}

// Attempts counts the connections to each address. fail can make an attempt fail.
func (w *Fixture) Attempts(ports *session.Ports, fail func(address string, attempt int32) error) map[string]*atomic.Int32 {
	counts := map[string]*atomic.Int32{}
	for _, n := range w.In.Nodes {
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

// DepotKey stands for the depot's key of OS packages.
const DepotKey = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"

const DepotCA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

// States returns the record, and false if the ConfigMap does not have it.
func (w *Fixture) States() (contract.HostStates, bool) {
	w.T.Helper()
	text, err := w.Installed.Get(w.T.Context(), contract.KeyHosts)
	if err != nil {
		w.T.Fatal(err)
	}
	states, err := contract.ParseHostStates(text)
	if err != nil {
		w.T.Fatal(err)
	}
	return states, text != ""
}

// Record stores the record of the hosts.
func (w *Fixture) Record(text string) { w.Installed.Data = map[string]string{contract.KeyHosts: text} }

// ExpectStates checks the record of the hosts.
func (w *Fixture) ExpectStates(want contract.HostStates) {
	w.T.Helper()
	got, there := w.States()
	if diff := cmp.Diff(want, got); diff != "" || !there {
		w.T.Errorf("record exists: %t; hosts (-want +got):\n%s", there, diff)
	}
}

// Answers replaces the machines of some servers. The map "with" holds the new machines by the
// number of their server. The other servers keep the right machine.
func (w *Fixture) Answers(with map[int]func(io.Writer) int) {
	right := w.Machine
	w.Machine = func(i int, command string, stdout io.Writer) int {
		if other := with[i]; other != nil {
			return other(stdout)
		}
		return right(i, command, stdout)
	}
}

// Says returns a fake machine that prints the given lines when machine.IdentityScript runs on it.
func Says(lines ...string) func(io.Writer) int {
	return func(stdout io.Writer) int {
		for _, line := range lines {
			fmt.Fprintln(stdout, line)
		}
		return 0
	}
}

// ExpectUntouched checks that no command ran that changes a machine.
func (w *Fixture) ExpectUntouched() {
	w.T.Helper()
	for i, server := range w.Servers {
		for _, command := range server.Commands() {
			if command != "true" && command != "cat /etc/os-release" && command != "sh -c '"+machine.IdentityScript+"'" && command != "sh -c 'fake inspect'" {
				w.T.Errorf("on server %d: %s", i+1, command)
			}
		}
	}
	if len(w.Ran) > 0 {
		w.T.Error("the playbook ran nevertheless")
	}
}

// Connected returns the nodes on which commands ran after the installation.
func (w *Fixture) Connected() (names []string) {
	for i, n := range w.In.Nodes {
		if len(w.Servers[i].Commands()) > w.Done[i] {
			names = append(names, n.Name)
		}
	}
	return names
}

// FactsOf returns the files with facts of nodes that Ansible does not contact.
func (w *Fixture) FactsOf() (names []string) {
	w.T.Helper()
	entries, err := os.ReadDir(filepath.Join(w.In.ScratchDir, "inventory/host_vars"))
	if err != nil && !os.IsNotExist(err) {
		w.T.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// NoPlugin is the reason of a node that starts no pod.
const NoPlugin = `FailedCreatePodSandBox: failed to find plugin "loopback" in path [/opt/cni/bin]`

// Budget returns a PodDisruptionBudget that lets no pod of a namespace with this label leave.
func Budget(namespace, name, app string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}}
}
