package renderinventory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// memory implements Inventory in memory. It fails if the test wants it to.
type memory struct {
	data map[string]string
	err  error
}

func (m *memory) Set(_ context.Context, key, value string) error {
	if m.err == nil {
		m.data[key] = value
	}
	return m.err
}

func unavailable(error) contract.Reason { return contract.ReasonAPIUnavailable }

func input() Input {
	roles := []string{contract.RoleControlPlane, contract.RoleWorker}
	return Input{
		Request: contract.Request{
			Spec: contract.Spec{
				Provisioning: "edge-1", Namespace: "site", KubernetesVersion: "1.35.4", NetworkPlugin: "flannel", PodSubnet: "10.244.0.0/16",
				ServiceSubnet: "10.233.0.0/18", SSHUser: "root", SSHPort: 22, Slots: []contract.Slot{{Name: "m-1"}, {Name: "m-2"}},
				Vars: map[string]json.RawMessage{"own": json.RawMessage(`"p4ssw0rd"`)},
			},
		},
		Nodes: []contract.Node{
			{Name: "m-1", Roles: roles, Host: "host-1", Address: "10.0.0.1"}, {Name: "m-2", Roles: roles, Host: "host-2", Address: "10.0.0.2"},
		},
	}
}

func TestRun(t *testing.T) {
	store, log := &memory{data: map[string]string{}}, &bytes.Buffer{}
	got, err := Run(context.Background(), input(), Ports{store, unavailable, log})
	if err != nil {
		t.Fatal(err)
	}
	want, err := inventory.Render(input().Request, input().Nodes)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]string{contract.KeyHostsINI: string(want.HostsINI), contract.KeyGroupVars: string(want.GroupVars)}
	if diff := cmp.Diff(stored, store.data); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if got.Digest != want.Digest() {
		t.Errorf("Digest = %s, want %s", got.Digest, want.Digest())
	}
	for _, line := range []string{"m-2 ansible_host=10.0.0.2", "own: as in spec.kubespray.vars", `kube_version: "1.35.4"`, "Note: etcd needs an odd number"} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("the log does not show %q:\n%s", line, log)
		}
	}
	if strings.Contains(log.String(), "p4ssw0rd") {
		t.Errorf("the log shows the value of a user-provided variable:\n%s", log)
	}
}

// Standby nodes are claimed, but they are not in kubespray's inventory. The number in the name of a
// node of a set comes from the claim, not from the request.
func TestStandbyIsLeftOut(t *testing.T) {
	in := input()
	in.Request.Sets = []contract.Set{{Name: "w", Active: 2, Standby: 1}}
	worker := func(name, address string, standby bool) contract.Node {
		return contract.Node{Name: name, Roles: []string{contract.RoleWorker}, Host: "host-of-" + name, Address: address, Set: "w", Standby: standby}
	}
	in.Nodes = append(in.Nodes, worker("w-1", "10.0.0.3", false), worker("w-4", "10.0.0.4", false), worker("w-3", "", true))
	store := &memory{data: map[string]string{}}
	if _, err := Run(context.Background(), in, Ports{store, unavailable, &bytes.Buffer{}}); err != nil {
		t.Fatal(err)
	}
	if ini := store.data[contract.KeyHostsINI]; !strings.Contains(ini, "w-4 ansible_host=10.0.0.4") || strings.Contains(ini, "w-3") {
		t.Errorf("want w-4 and no w-3 in:\n%s", ini)
	}
	in.Nodes[3].Standby = true
	if _, err := Run(context.Background(), in, Ports{store, unavailable, &bytes.Buffer{}}); err == nil || !strings.Contains(err.Error(), "hosts are claimed for [m-1 m-2 w-*]") {
		t.Errorf("with one worker too few: %v", err)
	}
}

// A run that removes nodes renders the members of the cluster, also those that leave, and no node of
// an earlier run.
func TestNodesThatLeaveAreRendered(t *testing.T) {
	node := func(name, set, role string) contract.Node {
		return contract.Node{Name: name, Set: set, HostUID: "uid-" + name, Roles: []string{role}, Address: fmt.Sprintf("10.0.%d.%c", len(set), name[len(name)-1])}
	}
	removal := func() Input {
		in := input()
		in.Nodes = []contract.Node{node("m-1", "", contract.RoleControlPlane), node("m-2", "", contract.RoleControlPlane), node("w-1", "w", contract.RoleWorker),
			node("w-3", "w", contract.RoleWorker), node("w-2", "w", contract.RoleWorker)}
		in.Request.Operation, in.Request.Members = contract.OperationRemoveNodes, slices.Clone(in.Nodes)
		in.Request.Slots, in.Request.Sets = in.Request.Slots[:1], []contract.Set{{Name: "w", Active: 1}}
		in.Request.Remove = &contract.Removal{Nodes: []string{"m-2", "late"}, Sets: []contract.SetRemoval{{Name: "w", Count: 2}}}
		in.Request.Nodes = []contract.Node{node("late", "", contract.RoleWorker), node("old", "", contract.RoleWorker)}
		in.Request.Nodes[0].Address, in.Request.Nodes[1].Address = "10.0.8.1", "10.0.8.2"
		return in
	}
	store := &memory{data: map[string]string{}}
	if _, err := Run(context.Background(), removal(), Ports{store, unavailable, &bytes.Buffer{}}); err != nil {
		t.Fatal(err)
	}
	ini := store.data[contract.KeyHostsINI]
	for _, line := range []string{"m-1 ansible_host=10.0.0.1", "m-2 ansible_host", "w-1 ansible_host=10.0.1.1", "w-2 ansible_host", "w-3 ansible_host", "late ansible_host"} {
		if !strings.Contains(ini, line) {
			t.Errorf("want %s in:\n%s", line, ini)
		}
	}
	if strings.Contains(ini, "old") {
		t.Errorf("a node that is not in the cluster is rendered:\n%s", ini)
	}
	for name, change := range map[string]func(*Input){
		"a node that stays is missing": func(in *Input) { in.Request.Members = in.Request.Members[1:] },
		"a node is not requested":      func(in *Input) { in.Request.Remove.Nodes = nil },
		"too many nodes of a set":      func(in *Input) { in.Request.Remove.Sets[0].Count = 1 },
		"too few nodes of a set":       func(in *Input) { in.Request.Sets[0].Active = 2 },
	} {
		in := removal()
		change(&in)
		if _, err := Run(context.Background(), in, Ports{store, unavailable, &bytes.Buffer{}}); err == nil || !strings.Contains(err.Error(), "the cluster is to keep the nodes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunFails(t *testing.T) {
	for _, tc := range []struct {
		name    string
		change  func(*Input)
		store   error
		reason  contract.Reason
		message string
	}{
		{"a field is not safe", func(in *Input) { in.Request.SSHUser = "root\nx" }, nil, contract.ReasonInvalidRequest, "SSH user"},
		{"nodes of an earlier request", func(in *Input) { in.Nodes = in.Nodes[:1] }, nil, contract.ReasonInvalidRequest, "[m-1 m-2], but hosts are claimed for [m-1]"},
		{"no store", func(*Input) {}, errors.New("connection refused"), contract.ReasonAPIUnavailable, "refused"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, store := input(), &memory{map[string]string{}, tc.store}
			tc.change(&in)
			_, err := Run(context.Background(), in, Ports{store, unavailable, &bytes.Buffer{}})
			if err == nil || len(store.data) > 0 {
				t.Fatalf("Run: %v, stored %v; want a failure and nothing stored", err, store.data)
			}
			if got := task.FailureOf(err); got.Reason != tc.reason || !strings.Contains(got.Message, tc.message) {
				t.Errorf("failure %+v; want %s with %q", got, tc.reason, tc.message)
			}
		})
	}
}

// An upgrade works on the nodes of the cluster, without lost ones. Nodes that select-hosts has stored do not count.
func TestRenderAnUpgrade(t *testing.T) {
	in := input()
	in.Request.Operation, in.Request.Upgrade = contract.OperationUpgradeNodes, &contract.Upgrade{Nodes: []string{"m-2"}, From: "1.34.3", Path: []string{"1.35.4"}}
	for i := range in.Nodes {
		in.Nodes[i].HostUID = fmt.Sprintf("uid-%d", i+1)
	}
	in.Request.Members = append(slices.Clone(in.Nodes), contract.Node{Name: "w-1", Roles: []string{contract.RoleWorker}, HostUID: "uid-3", Host: "host-3", Address: "10.0.0.3"})
	in.Request.Members[0].Etcd, in.Request.Members[1].Roles = "etcd1", []string{contract.RoleWorker}
	in.Nodes = append(in.Nodes, contract.Node{Name: "w-9", Roles: []string{contract.RoleWorker}, HostUID: "uid-9", Host: "host-9", Address: "10.0.0.9"})
	in.Request.Kept = []string{"w-1"}
	store := &memory{data: map[string]string{}}
	if _, err := Run(t.Context(), in, Ports{store, unavailable, &bytes.Buffer{}}); err != nil {
		t.Fatal(err)
	}
	hosts := store.data[contract.KeyHostsINI]
	if !strings.Contains(hosts, "m-1 ansible_host=10.0.0.1 ") || !strings.Contains(hosts, "etcd_member_name=etcd1") || !strings.Contains(hosts, "m-2 ansible_host=10.0.0.2 ") ||
		strings.Contains(hosts, "w-1") || strings.Contains(hosts, "w-9") {
		t.Errorf("hosts.ini:\n%s", hosts)
	}
	if vars := store.data[contract.KeyGroupVars]; !strings.Contains(vars, `"kube_version": "1.35.4"`) {
		t.Errorf("variables:\n%s", vars)
	}
}

// TestRenderTheRecord: a run that claims no host works on the nodes of the record, in whatever order the
// spec has them, and never on those that an earlier run has listed.
func TestRenderTheRecord(t *testing.T) {
	in := input()
	for i := range in.Nodes {
		in.Nodes[i].HostUID = fmt.Sprintf("uid-%d", i+1)
	}
	in.Request.Operation, in.Request.Members = contract.OperationPlugins, in.Nodes
	in.Request.Slots = []contract.Slot{in.Request.Slots[1], in.Request.Slots[0]}
	in.Nodes = append(slices.Clone(in.Nodes), contract.Node{Name: "w-9", Roles: []string{contract.RoleWorker}, HostUID: "uid-9", Host: "host-9", Address: "10.0.0.9"})
	store := &memory{data: map[string]string{}}
	if _, err := Run(t.Context(), in, Ports{store, unavailable, &bytes.Buffer{}}); err != nil {
		t.Fatal(err)
	}
	if ini := store.data[contract.KeyHostsINI]; !strings.Contains(ini, "m-2 ansible_host") || strings.Contains(ini, "w-9") {
		t.Errorf("hosts.ini:\n%s", ini)
	}
	in.Request.Members, in.Request.Nodes = nil, in.Nodes[:2] // hosts are claimed for the nodes, in another order
	if _, err := Run(t.Context(), in, Ports{store, unavailable, &bytes.Buffer{}}); err != nil {
		t.Error(err)
	}
}
