package kubespray

import (
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// unpinned returns a cluster whose user has deleted the host keys of all nodes.
func unpinned(t *testing.T) *living {
	l := newLiving(t, 2)
	l.knownHosts.Data[contract.KeyKnownHosts] = ""
	return l
}

func (l *living) pinned() ssh.Pins {
	l.t.Helper()
	pins, err := ssh.ParsePins(l.knownHosts.Data[contract.KeyKnownHosts])
	if err != nil {
		l.t.Fatal(err)
	}
	return pins
}

// TestMissingHostKeysArePinned: the check of a cluster pins the host keys of members that have none.
func TestMissingHostKeysArePinned(t *testing.T) {
	l := unpinned(t)
	if _, err := l.run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	for _, n := range l.in.Nodes {
		if l.pinned().Of(n.HostUID) == nil {
			t.Errorf("the host key of %s is not pinned", n.Name)
		}
	}
	l.expectDid()
}

// TestForeignHostKeyIsNotPinned: the machine at the address of a member has the mark of another Provisioning, or
// none of its host's MAC addresses.
func TestForeignHostKeyIsNotPinned(t *testing.T) {
	for reason, spoil := range map[contract.Reason]func(*living){
		contract.ReasonHostOccupied: func(l *living) { l.disks[1].with("another") },
		contract.ReasonWrongMachine: func(l *living) { l.recordMAC("worker-1", "02:00:00:00:00:99") },
	} {
		l := unpinned(t)
		spoil(l)
		_, err := l.run()
		if err == nil {
			t.Fatalf("%s: the run succeeded:\n%s", reason, &l.log)
		}
		if f := task.FailureOf(err); f.Reason != reason || f.Host != "worker-1" {
			t.Errorf("failure %+v, want %s of worker-1", f, reason)
		}
		if l.pinned().Of("uid-2") != nil || l.pinned().Of("uid-1") == nil {
			t.Errorf("%s: pinned:\n%s", reason, l.pinned())
		}
	}
}

// recordMAC gives the host of a node a MAC address in the record and in the request.
func (l *living) recordMAC(name, mac string) {
	record := l.now()
	for i := range record.Nodes {
		if record.Nodes[i].Name == name {
			record.Nodes[i].MACs = []string{mac}
		}
	}
	l.installed.Data[contract.KeyInstalled] = string(asJSON(l.t, record))
	for i := range l.in.Nodes {
		if l.in.Nodes[i].Name == name {
			l.in.Nodes[i].MACs = []string{mac}
		}
	}
}

// TestSilentMemberHasNoHostKey: a member that does not answer does not keep the others from being pinned. The
// check of the cluster decides about its node.
func TestSilentMemberHasNoHostKey(t *testing.T) {
	l := unpinned(t)
	l.servers[1].Stop()
	l.nodes["worker-1"], l.in.HealthLimit = false, time.Second
	_, err := l.run()
	if err == nil || !strings.Contains(err.Error(), "worker-1") || task.FailureOf(err).Reason != contract.ReasonClusterUnhealthy {
		t.Errorf("%v\n%s", err, &l.log)
	}
	if l.pinned().Of("uid-1") == nil || l.pinned().Of("uid-3") == nil || l.pinned().Of("uid-2") != nil {
		t.Errorf("pinned:\n%s", l.pinned())
	}
}
