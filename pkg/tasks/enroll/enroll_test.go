package enroll_test

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	cryptossh "golang.org/x/crypto/ssh"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/enroll"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// enrollment is a fixture whose machines accept the key of the site, and the key of a cluster from the moment at
// which it is in their authorized_keys.
type enrollment struct {
	*kubespraytest.Fixture
	site    []byte
	own     ssh.Key
	outcome sessiontest.Memory
}

func newEnrollment(t *testing.T, workers int) *enrollment {
	w := &enrollment{Fixture: kubespraytest.New(t, workers)}
	w.site = w.In.PrivateKey
	w.own, w.In.PrivateKey = sshtest.NewKey(t)
	w.In.Request.Operation = contract.OperationInstall
	for i := range w.Servers {
		w.accept(i)
	}
	return w
}

// accept lets the i-th machine accept the key in its authorized_keys.
func (w *enrollment) accept(i int) {
	w.Servers[i].AlsoAccept(func(key cryptossh.PublicKey) bool {
		w.Disks[i].Mu.Lock()
		defer w.Disks[i].Mu.Unlock()
		line := strings.TrimSpace(string(cryptossh.MarshalAuthorizedKey(key)))
		return strings.HasPrefix(w.Disks[i].Authorized, line+" ")
	})
}

func (w *enrollment) enroll() error {
	return enroll.Run(w.T.Context(), w.In, w.site, w.ports())
}

func (w *enrollment) ports() enroll.Ports {
	return enroll.Ports{Ports: w.Ports(), Outcome: &w.outcome}
}

// line is the line with the key of the cluster.
func (w *enrollment) line() string {
	return strings.TrimSpace(machine.KeyLine(ssh.PublicLine(w.own), "site/edge-1"))
}

func (w *enrollment) lines() (all []string) {
	for _, d := range w.Disks {
		all = append(all, strings.TrimSpace(d.Authorized))
	}
	return all
}

func (w *enrollment) expect(what string, want ...string) {
	w.T.Helper()
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		w.T.Errorf("%s: lines of the machines (-want +got):\n%s\n%s", what, diff, w.Log.String())
	}
}

// TestEnroll: the hosts of a new cluster accept its key, and a second run changes nothing and does not use the key of the
// site. No host key is pinned.
func TestEnroll(t *testing.T) {
	w := newEnrollment(t, 2)
	w.Disks[1].Authorized = machine.KeyLine("ssh-ed25519 AAAAother", "site/edge-2") // of a cluster that had the host before
	if err := w.enroll(); err != nil {
		t.Fatalf("%v\n%s", err, w.Log.String())
	}
	w.expect("after the first run", w.line(), w.line(), w.line())
	if len(w.KnownHosts.Data) > 0 || len(w.Installed.Data) > 0 || len(w.Progress.Data) > 0 {
		t.Errorf("stored: %v, %v, %v", w.KnownHosts.Data, w.Installed.Data, w.Progress.Data)
	}
	w.Record(`{"uid-1":"used","uid-2":"used","uid-3":"used"}`) // they become nodes
	before := len(w.Servers[0].Commands())
	if err := w.enroll(); err != nil {
		t.Fatal(err)
	}
	if after := len(w.Servers[0].Commands()); after != before {
		t.Errorf("a second run runs %d commands on an enrolled host", after-before)
	}
	for _, key := range []string{string(w.site), string(w.In.PrivateKey)} {
		if strings.Contains(w.Log.String(), strings.Split(key, "\n")[1]) {
			t.Errorf("the log shows a private key:\n%s", w.Log.String())
		}
	}
}

// TestEnrollLeavesOtherMachinesAlone: the key of a cluster never comes to a machine that has another cluster, that
// is not the host, or that has another host key than the pinned one, and the reasons are those of the task kubespray.
func TestEnrollLeavesOtherMachinesAlone(t *testing.T) {
	for name, test := range map[string]struct {
		change func(w *enrollment)
		reason contract.Reason
	}{
		"a cluster of another owner": {func(w *enrollment) { w.Disks[0].With("uid-of-edge-2") }, contract.ReasonHostOccupied},
		"a cluster of another owner on a host that was listed as installed": {func(w *enrollment) {
			w.Disks[0].With("uid-of-edge-2")
			w.In.Request.Installed = []string{"host-1"}
		}, contract.ReasonHostOccupied},
		"a Kubernetes of nobody": {func(w *enrollment) { w.Disks[0].With("") }, contract.ReasonHostOccupied},
		"another machine":        {func(w *enrollment) { w.In.Nodes[0].MACs = []string{"00:c6:14:04:61:ff"} }, contract.ReasonWrongMachine},
		"another host key":       {func(w *enrollment) { w.pinned(sshtest.NewKey(w.T)) }, contract.ReasonHostKeyChanged},
		"no key of the site":     {func(w *enrollment) { _, w.site = sshtest.NewKey(w.T) }, contract.ReasonSSHDenied},
		"no answer":              {func(w *enrollment) { w.Servers[0].Stop() }, contract.ReasonHostUnreachable},
		"another AuthorizedKeysFile": {func(w *enrollment) {
			w.Servers[0].AlsoAccept(func(cryptossh.PublicKey) bool { return false })
		}, contract.ReasonSSHDenied},
	} {
		t.Run(name, func(t *testing.T) {
			w := newEnrollment(t, 1)
			test.change(w)
			f := task.FailureOf(w.enroll())
			if f.Reason != test.reason || f.Host != "master-1" || f.Step != "connect by SSH" {
				t.Errorf("failure %+v, want reason %s", f, test.reason)
			}
			first, second := "", ""
			if name == "another AuthorizedKeysFile" {
				first, second = w.line(), w.line()
				if !strings.Contains(f.Message, "AuthorizedKeysFile") {
					t.Errorf("message %q", f.Message)
				}
			}
			w.expect("no host is changed, as long as one cannot be enrolled", first, second)
		})
	}
}

// pinned makes the first host have another pinned host key.
func (w *enrollment) pinned(key ssh.Key, _ []byte) {
	pins := ssh.Pins{}.With(ssh.Pin{UID: "uid-1", Host: "host-1", At: "127.0.0.1:22", Key: key.PublicKey()})
	w.KnownHosts.Data = map[string]string{contract.KeyKnownHosts: pins.String()}
	w.Installed.Data = map[string]string{contract.KeyHosts: `{}`}
}

// TestEnrollMembers: after the key of a cluster was lost, a run enrolls the members that answer. It fails for none of
// them: whether the run needs a member is for the later tasks to say.
func TestEnrollMembers(t *testing.T) {
	w := newEnrollment(t, 2)
	w.In.Request.Operation = contract.OperationUpgradeNodes
	for i := range w.Disks {
		w.Disks[i].With(w.In.Request.UID)
	}
	w.Disks[2].With("uid-of-edge-2") // it was reset and given to another cluster
	w.Servers[0].Stop()
	if err := w.enroll(); err != nil {
		t.Fatalf("%v\n%s", err, w.Log.String())
	}
	w.expect("after the run", "", w.line(), "")
}

// TestClusterKeyOpensItsOwnMachinesOnly: of two clusters, each one's key is denied by the machines of the other. When a machine
// moves to the other cluster, it denies the key of the first one.
func TestClusterKeyOpensItsOwnMachinesOnly(t *testing.T) {
	w := newEnrollment(t, 1)
	all, one := w.In.Nodes, w.own
	w.In.Nodes = all[:1]
	if err := w.enroll(); err != nil {
		t.Fatal(err)
	}
	two, text := sshtest.NewKey(t)
	w.In.Nodes, w.In.PrivateKey, w.In.Request.Provisioning, w.In.Request.UID = all[1:], text, "edge-2", "uid-of-edge-2"
	if err := w.enroll(); err != nil {
		t.Fatal(err)
	}
	opens := func(key ssh.Key, i int) bool {
		conn, err := w.Ports().Dial(t.Context(), node.Target(w.In.Request, all[i]), key, nil)
		if err == nil {
			conn.Close()
		} else if !errors.Is(err, ssh.ErrDenied) {
			t.Fatal(err)
		}
		return err == nil
	}
	for _, row := range []struct {
		key  ssh.Key
		at   int
		want bool
	}{{one, 0, true}, {one, 1, false}, {two, 0, false}, {two, 1, true}} {
		if got := opens(row.key, row.at); got != row.want {
			t.Errorf("a key opens machine %d: %t, want %t", row.at, got, row.want)
		}
	}
	w.In.Nodes = all // the first machine is claimed by the second cluster
	if err := w.enroll(); err != nil {
		t.Fatal(err)
	}
	if opens(one, 0) || !opens(two, 0) {
		t.Error("the machine has moved, and does not accept the key of its new cluster alone")
	}
}

// TestEnrollWaitsForABoot: a machine that Metal3 has just imaged is enrolled when it has booted.
func TestEnrollWaitsForABoot(t *testing.T) {
	w := newEnrollment(t, 0)
	w.In.BootLimit = 20 * time.Second
	address := net.JoinHostPort(w.Servers[0].Address, strconv.Itoa(w.Servers[0].Port))
	w.Servers[0].Stop()
	ports := w.ports()
	w.Attempts(&ports.Ports, func(_ string, attempt int32) error {
		if attempt == 3 { // now its SSH server starts
			listener, err := net.Listen("tcp", address)
			if err != nil {
				return err
			}
			w.Servers[0] = sshtest.StartOn(t, listener, w.User.PublicKey(), w.ShellOf(0), w.HostKey)
			w.accept(0)
		}
		return nil
	})
	if err := enroll.Run(t.Context(), w.In, w.site, ports); err != nil {
		t.Fatalf("%v\n%s", err, w.Log.String())
	}
	w.expect("after the boot", w.line())
}

// TestEnrollRefusesAKeyThatCannotBeUsed: the message says which Secret, and what to do.
func TestEnrollRefusesAKeyThatCannotBeUsed(t *testing.T) {
	w := newEnrollment(t, 0)
	w.In.PrivateKey = []byte("damaged")
	f := task.FailureOf(w.enroll())
	if f.Reason != contract.ReasonInvalidRequest || !strings.Contains(f.Message, "Secret edge-1-nodes-ssh-key") || !strings.Contains(f.Message, "Delete the Secret") {
		t.Errorf("failure %+v", f)
	}
}

// TestClusterKeyLeavesWithTheMachine: a machine that was reset accepts the key of no cluster, also one on which nothing
// was installed yet.
func TestClusterKeyLeavesWithTheMachine(t *testing.T) {
	w := newEnrollment(t, 1)
	w.In.Playbook, w.In.Request.Operation = contract.PlaybookReset, contract.OperationReset
	w.Disks[0].With(w.In.Request.UID)
	for i := range w.Disks {
		w.Disks[i].Authorized = w.line()
	}
	if _, err := kubespray.Run(t.Context(), w.In, w.Ports()); err != nil {
		t.Fatalf("%v\n%s", err, w.Log.String())
	}
	w.expect("after the reset", "", "")
}

// TestEnrollForABackup: the request of a Backup names no nodes. They are those of the record, at the addresses at which
// select-hosts has seen their hosts at last.
func TestEnrollForABackup(t *testing.T) {
	w := newEnrollment(t, 1)
	nodes := w.In.Nodes
	w.In.Nodes, w.In.Request.Operation = nil, contract.OperationBackup
	record := contract.Installed{Nodes: slices.Clone(nodes)}
	record.Nodes[1].Address = "192.0.2.9" // of before
	w.Installed.Data = map[string]string{contract.KeyInstalled: string(kubespraytest.JSON(t, record)), contract.KeyClaimed: string(kubespraytest.JSON(t, nodes))}
	for _, d := range w.Disks {
		d.With(w.In.Request.UID)
	}
	if err := w.enroll(); err != nil {
		t.Fatalf("%v\n%s", err, w.Log.String())
	}
	w.expect("for a Backup", w.line(), w.line())
}
