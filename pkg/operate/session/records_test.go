package session

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func TestRecordThatCannotBeRead(t *testing.T) {
	store := &sessiontest.Memory{Err: apierrors.NewServiceUnavailable("etcd is full")}
	if _, err := ReadClusterRecord(t.Context(), store); task.FailureOf(err).Reason != contract.ReasonAPIUnavailable {
		t.Errorf("%v", err)
	}
	writes := &sessiontest.Memory{}
	i, err := ReadClusterRecord(t.Context(), writes)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a change that changes nothing is not written
		if err := i.Change(t.Context(), func(next *contract.Installed) { next.EtcdNext = 2 }); err != nil {
			t.Fatal(err)
		}
	}
	if writes.Writes != 1 {
		t.Errorf("%d writes", writes.Writes)
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
	i := &ClusterRecord{store: &sessiontest.Memory{Data: map[string]string{}}, Now: record}
	anew := dead
	anew.HostUID = "another"
	request := contract.Request{Order: contract.Order{Operation: contract.OperationAddControlPlane}, Record: contract.Record{Members: record.Nodes, Lost: []string{"master-3"}}}
	if err := i.Complete(t.Context(), request, []contract.Node{first, second, anew}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range i.Now.Nodes {
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
	i := &ClusterRecord{store: &sessiontest.Memory{Data: map[string]string{}}, Now: contract.Installed{
		Nodes: was, EtcdNext: 4, Leaving: []string{"b", "w"}, Restoring: "b-1 now", Restored: "b-0"}}
	request := contract.Request{Order: contract.Order{Operation: contract.OperationRestore, Restore: &contract.Restore{Asked: "b-1 now"}}, Record: contract.Record{Members: was, EtcdNext: 4, Lost: []string{"c", "w"}, Kept: []string{"w"}}}
	if err := i.Complete(t.Context(), request, []contract.Node{first, second, anew}); err != nil {
		t.Fatal(err)
	}
	first.Version, second.Target, first.Etcd, second.Etcd, anew.Etcd = "", nil, "etcd4", "etcd5", "etcd6"
	want := contract.Installed{Nodes: []contract.Node{first, second, anew, worker}, EtcdNext: 7, Draining: []string{"b"}, Leaving: []string{"w"}, Restored: "b-1 now", RestoredBefore: []string{"b-0"}}
	if diff := cmp.Diff(want, i.Now); diff != "" {
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
			i := &ClusterRecord{store: &sessiontest.Memory{Data: map[string]string{}}, Now: contract.Installed{Nodes: was}}
			request := contract.Request{Order: contract.Order{Operation: contract.OperationAddControlPlane}, Record: contract.Record{Members: was, EtcdNext: 6, Lost: []string{"a", "b"}, Kept: []string{"b"}}}
			if err := i.Complete(t.Context(), request, tc.nodes); err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(i.Now.Nodes, func(n contract.Node) bool { return n.Name == "b" })
			if at < 0 || i.Now.Nodes[at].Etcd != tc.want {
				t.Errorf("record %+v, want b with member %q", i.Now, tc.want)
			}
		})
	}
}

func TestRecordIsWrittenOnlyIfItChanges(t *testing.T) {
	store := &sessiontest.Memory{}
	r, err := ReadHostRecord(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := errors.Join(r.Begin(t.Context()), r.Set(t.Context(), contract.HostUsed, "a", "b")); err != nil {
			t.Fatal(err)
		}
	}
	if keys := slices.Sorted(maps.Keys(r.Snapshot())); store.Writes != 2 || !slices.Equal(keys, []string{"a", "b"}) {
		t.Errorf("%d writes, want 2: {} and the hosts; hosts %v", store.Writes, keys)
	}
}

func TestKeyCompleteThatCannotBeRead(t *testing.T) {
	store := &sessiontest.Memory{Err: apierrors.NewServiceUnavailable("etcd is full")}
	_, err := ReadComplete(t.Context(), store)
	reasons := []contract.Reason{task.FailureOf(err).Reason, task.FailureOf(StoreComplete(t.Context(), store, true)).Reason}
	if want := []contract.Reason{contract.ReasonAPIUnavailable, contract.ReasonAPIUnavailable}; !slices.Equal(reasons, want) {
		t.Errorf("reasons %v, want %v", reasons, want)
	}
}
