package kubespray

import (
	"encoding/json"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// recordOf returns the record of the cluster.
func (w *fixture) recordOf() (i contract.Installed) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.installed.data[contract.KeyInstalled]), &i); err != nil {
		w.t.Fatalf("%v: %q", err, w.installed.data[contract.KeyInstalled])
	}
	return i
}

// A healthy cluster has a record with everything that the next run must know, and nothing about
// this run. Its nodes count as having the patch that was requested before.
func TestInstallationIsRecorded(t *testing.T) {
	w := newFixture(t, 1)
	w.in.Request.Operation, w.in.Request.PassedOver, w.in.Request.Lost = contract.OperationInstall, []string{"host-9"}, []string{"worker-9"}
	w.in.Request.KubernetesVersion, w.in.Request.Cluster, w.in.Request.Patched = "1.35.4", "edge", "monday"
	w.nodes = func(string, io.Writer) int { return 0 }
	w.stay(w.in.Nodes[0])
	if _, err := w.run(); err != nil {
		t.Fatal(err)
	}
	want := contract.Installed{Nodes: slices.Clone(w.in.Nodes), EtcdNext: 2, Patched: "monday", Request: contract.Request{Provisioning: "edge-1", Namespace: "site", UID: "uid-of-edge-1",
		Cluster: "edge", KubernetesVersion: "1.35.4", SSHUser: "root", SSHPort: w.in.Request.SSHPort}}
	want.Nodes[0].Etcd = "etcd1"
	if diff := cmp.Diff(want, w.recordOf()); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestUnhealthyClusterIsNotRecorded(t *testing.T) {
	w := newFixture(t, 0)
	w.in.HealthLimit = 50 * time.Millisecond
	w.kubectl = func() string { return list(nodeJSON("master-1", "False", "NetworkPluginNotReady")) }
	if _, err := w.run(); task.FailureOf(err).Reason != contract.ReasonClusterUnhealthy {
		t.Fatalf("Run: %v", err)
	}
	if text := w.installed.data[contract.KeyInstalled]; text != "" {
		t.Errorf("record %s", text)
	}
}

// A node that is being removed stays in the record, whatever other run comes in between. The
// numbers of etcd's members only grow.
func TestRecordKeepsANodeThatLeaves(t *testing.T) {
	l := newLiving(t, 3)
	record := l.now()
	record.Leaving, record.EtcdNext = []string{"worker-1"}, 7
	l.installed.data[contract.KeyInstalled] = string(asJSON(t, record))
	l.in.Playbook, l.in.Request.Remove, l.in.Request.Operation = contract.PlaybookScale, nil, contract.OperationAddNodes
	l.stay(l.in.Nodes...)
	l.in.Nodes = slices.Delete(l.in.Nodes, 1, 2)
	if _, err := l.run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	got := l.now()
	if diff := cmp.Diff([]string{"master-1", "worker-2", "worker-3", "worker-1"}, namesOf(got.Nodes)); diff != "" || !slices.Equal(got.Leaving, record.Leaving) || got.EtcdNext != 7 {
		t.Errorf("leaving %v, next member %d, nodes (-want +got):\n%s", got.Leaving, got.EtcdNext, diff)
	}
}

// The record says which nodes are installed, also if joined.json does not exist.
func TestScaleReadsTheRecord(t *testing.T) {
	w := newReplacement(t, 2)
	delete(w.installed.data, contract.KeyJoined)
	w.stay(w.in.Nodes...) // the controller reports the host of a failed attempt too
	if _, err := w.run(); err != nil {
		t.Fatalf("%v\n%s", err, &w.log)
	}
	args := w.ran[len(w.ran)-1].Args
	if got := args[len(args)-2]; got != "worker-2" {
		t.Errorf("limited to %s", got)
	}
	if got := namesOf(w.recordOf().Nodes); !slices.Equal(got, []string{"master-1", "worker-1", "worker-2"}) {
		t.Errorf("record %v", got)
	}
}

func TestRecordThatCannotBeRead(t *testing.T) {
	store := &memory{err: apierrors.NewServiceUnavailable("etcd is full")}
	if _, err := readInstalled(t.Context(), store); task.FailureOf(err).Reason != contract.ReasonAPIUnavailable {
		t.Errorf("%v", err)
	}
	writes := &memory{}
	i, err := readInstalled(t.Context(), writes)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a change that changes nothing is not written
		if err := i.change(t.Context(), func(next *contract.Installed) { next.EtcdNext = 2 }); err != nil {
			t.Fatal(err)
		}
	}
	if writes.writes != 1 {
		t.Errorf("%d writes", writes.writes)
	}
}

// A run that replaces one lost node does not forget another one, which a later run replaces.
func TestRecordKeepsOtherLostNodes(t *testing.T) {
	node := func(name, role string) contract.Node {
		return contract.Node{Name: name, HostUID: "uid-of-" + name, Roles: []string{role}}
	}
	first, second := node("master-1", contract.RoleControlPlane), node("master-2", contract.RoleControlPlane)
	lost, dead := node("worker-1", contract.RoleWorker), node("master-3", contract.RoleControlPlane)
	record := contract.Installed{Nodes: []contract.Node{first, second, dead, lost}}
	i := &installed{store: &memory{data: map[string]string{}}, now: record}
	anew := dead
	anew.HostUID = "another"
	request := contract.Request{Operation: contract.OperationAddControlPlane, Members: record.Nodes, Lost: []string{"master-3"}}
	if err := i.complete(t.Context(), request, []contract.Node{first, second, anew}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range i.now.Nodes {
		got = append(got, n.Name+"="+n.HostUID)
	}
	if want := []string{"master-1=uid-of-master-1", "master-2=uid-of-master-2", "master-3=another", "worker-1=uid-of-worker-1"}; !slices.Equal(want, got) {
		t.Errorf("nodes of the record: %v, want %v", got, want)
	}
}

// After a restore, all control planes are new members of etcd, and have what the request says. One that was
// half removed before is whole again.
func TestRecordOfARestore(t *testing.T) {
	node := func(name, role, etcd string) contract.Node {
		return contract.Node{Name: name, HostUID: "uid-of-" + name, Etcd: etcd, Roles: []string{role}}
	}
	first, second := node("a", contract.RoleControlPlane, "etcd1"), node("b", contract.RoleControlPlane, "etcd2")
	third, worker := node("c", contract.RoleControlPlane, "etcd3"), node("w", contract.RoleWorker, "")
	first.Version, second.Target = "1.35.4", &contract.Target{Version: "1.35.4"}
	was := []contract.Node{first, second, third, worker}
	anew := third
	anew.HostUID = "another"
	i := &installed{store: &memory{data: map[string]string{}}, now: contract.Installed{
		Nodes: was, EtcdNext: 4, Leaving: []string{"b", "w"}, Restoring: "b-1 now", Restored: "b-0"}}
	request := contract.Request{Operation: contract.OperationRestore, Members: was, EtcdNext: 4, Lost: []string{"c", "w"}, Kept: []string{"w"}, Restore: &contract.Restore{Asked: "b-1 now"}}
	if err := i.complete(t.Context(), request, []contract.Node{first, second, anew}); err != nil {
		t.Fatal(err)
	}
	first.Version, second.Target, first.Etcd, second.Etcd, anew.Etcd = "", nil, "etcd4", "etcd5", "etcd6"
	want := contract.Installed{Nodes: []contract.Node{first, second, anew, worker}, EtcdNext: 7, Draining: []string{"b"}, Leaving: []string{"w"}, Restored: "b-1 now", RestoredBefore: []string{"b-0"}}
	if diff := cmp.Diff(want, i.now); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

// The member of etcd of a lost control plane that is replaced later is removed only if the run adds
// members.
func TestRecordOfALostMember(t *testing.T) {
	node := func(name, etcd string) contract.Node {
		return contract.Node{Name: name, HostUID: "uid-of-" + name, Etcd: etcd, Roles: []string{contract.RoleControlPlane}}
	}
	was := []contract.Node{node("a", "etcd1"), node("b", "etcd2"), node("c", "etcd3"), node("d", "etcd4"), node("e", "etcd5"), node("f", "")}
	anew := node("a", "")
	anew.HostUID = "another"
	for name, tc := range map[string]struct {
		nodes []contract.Node
		want  string
	}{
		"no node becomes a member": {[]contract.Node{was[2], was[3], was[4], anew}, "etcd2"},
		"two nodes become members": {[]contract.Node{was[2], was[3], was[4], was[5], anew}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			i := &installed{store: &memory{data: map[string]string{}}, now: contract.Installed{Nodes: was}}
			request := contract.Request{Operation: contract.OperationAddControlPlane, Members: was, EtcdNext: 6, Lost: []string{"a", "b"}, Kept: []string{"b"}}
			if err := i.complete(t.Context(), request, tc.nodes); err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(i.now.Nodes, func(n contract.Node) bool { return n.Name == "b" })
			if at < 0 || i.now.Nodes[at].Etcd != tc.want || len(i.now.Request.Kept) > 0 {
				t.Errorf("record %+v, want b with member %q", i.now, tc.want)
			}
		})
	}
}
