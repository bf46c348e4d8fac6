package remove_test

import (
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// unpinned returns a cluster whose user has deleted the host keys of all nodes.
func unpinned(t *testing.T) *kubespraytest.Living {
	l := kubespraytest.NewLiving(t, 2)
	l.KnownHosts.Data[contract.KeyKnownHosts] = ""
	return l
}

func pinned(l *kubespraytest.Living) ssh.Pins {
	l.T.Helper()
	pins, err := ssh.ParsePins(l.KnownHosts.Data[contract.KeyKnownHosts])
	if err != nil {
		l.T.Fatal(err)
	}
	return pins
}

// TestMissingHostKeysArePinned: the check of a cluster pins the host keys of members that have none.
func TestMissingHostKeysArePinned(t *testing.T) {
	l := unpinned(t)
	if _, err := l.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	for _, n := range l.In.Nodes {
		if pinned(l).Of(n.HostUID) == nil {
			t.Errorf("the host key of %s is not pinned", n.Name)
		}
	}
	l.ExpectDid()
}

// TestForeignHostKeyIsNotPinned: the machine at the address of a member has the mark of another Provisioning, or
// none of its host's MAC addresses.
func TestForeignHostKeyIsNotPinned(t *testing.T) {
	for reason, spoil := range map[contract.Reason]func(*kubespraytest.Living){
		contract.ReasonHostOccupied: func(l *kubespraytest.Living) { l.Disks[1].With("another") },
		contract.ReasonWrongMachine: func(l *kubespraytest.Living) { recordMAC(l, "worker-1", "02:00:00:00:00:99") },
	} {
		l := unpinned(t)
		spoil(l)
		_, err := l.Run()
		if err == nil {
			t.Fatalf("%s: the run succeeded:\n%s", reason, &l.Log)
		}
		if f := task.FailureOf(err); f.Reason != reason || f.Host != "worker-1" {
			t.Errorf("failure %+v, want %s of worker-1", f, reason)
		}
		if pinned(l).Of("uid-2") != nil || pinned(l).Of("uid-1") == nil {
			t.Errorf("%s: pinned:\n%s", reason, pinned(l))
		}
	}
}

// recordMAC gives the host of a node a MAC address in the record and in the request.
func recordMAC(l *kubespraytest.Living, name, mac string) {
	record := l.Now()
	for i := range record.Nodes {
		if record.Nodes[i].Name == name {
			record.Nodes[i].MACs = []string{mac}
		}
	}
	l.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(l.T, record))
	for i := range l.In.Nodes {
		if l.In.Nodes[i].Name == name {
			l.In.Nodes[i].MACs = []string{mac}
		}
	}
}

// TestSilentMemberHasNoHostKey: a member that does not answer does not keep the others from being pinned. The
// check of the cluster decides about its node.
func TestSilentMemberHasNoHostKey(t *testing.T) {
	l := unpinned(t)
	l.Servers[1].Stop()
	l.Nodes["worker-1"], l.In.HealthLimit = false, time.Second
	_, err := l.Run()
	if err == nil || !strings.Contains(err.Error(), "worker-1") || task.FailureOf(err).Reason != contract.ReasonClusterUnhealthy {
		t.Errorf("%v\n%s", err, &l.Log)
	}
	if pinned(l).Of("uid-1") == nil || pinned(l).Of("uid-3") == nil || pinned(l).Of("uid-2") != nil {
		t.Errorf("pinned:\n%s", pinned(l))
	}
}
