package inventory

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// halfUpgraded returns a request that changes a cluster in the middle of an upgrade to 1.35.4: m-1 has
// it, and the others have 1.34.3.
func halfUpgraded(operation string, change ...func(*contract.Request)) contract.Request {
	return request(append([]func(*contract.Request){func(r *contract.Request) {
		r.Operation, r.EtcdNext = operation, 4
		r.Members = cluster("m-1=etcd1 m-2=etcd2 m-3=etcd3 w-1")
		for i, version := range []string{"1.35.4", "1.34.3", "1.34.3", "1.34.3"} {
			r.Members[i].Version = version
		}
	}}, change...)...)
}

// versionsOf returns the variables kube_version of the hosts, as "m-2=1.34.3".
func versionsOf(t *testing.T, r contract.Request, nodes string) (found []string) {
	t.Helper()
	got, err := Render(r, cluster(nodes))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+) .* kube_version=(\S+)$`).FindAllStringSubmatch(string(got.HostsINI), -1) {
		found = append(found, m[1]+"="+m[2])
	}
	return found
}

// A run in the middle of an upgrade must not change the version of nodes that it does not upgrade.
// kubespray plays cluster.yml on all control planes if a new one becomes a member of etcd.
func TestNodesKeepTheirVersion(t *testing.T) {
	for name, tc := range map[string]struct {
		request contract.Request
		nodes   string
		want    []string
	}{
		"a control plane node joins":   {halfUpgraded(contract.OperationAddControlPlane), "m-1 m-2 m-3@new w-1", []string{"m-2=1.34.3", "w-1=1.34.3"}},
		"a worker joins":               {halfUpgraded(contract.OperationAddNodes), "m-1 m-2 m-3 w-1 w-2", []string{"m-2=1.34.3", "m-3=1.34.3", "w-1=1.34.3"}},
		"the node of an upgrade":       {halfUpgraded(contract.OperationUpgradeControlPlane, func(r *contract.Request) { r.Upgrade = &contract.Upgrade{Nodes: []string{"m-2"}} }), "m-1 m-2 m-3 w-1", []string{"m-3=1.34.3", "w-1=1.34.3"}},
		"a node is half upgraded":      {halfUpgraded(contract.OperationAddNodes, func(r *contract.Request) { r.Members[1].Target = &contract.Target{Version: "1.35.4"} }), "m-1 m-2 m-3 w-1 w-2", []string{"m-3=1.34.3", "w-1=1.34.3"}},
		"all have one version":         {request(func(r *contract.Request) { r.Members = cluster("m-1=etcd1 w-1") }), "m-1 w-1", nil},
		"the first nodes of a cluster": {request(), "m-1 w-1", nil},
	} {
		if diff := cmp.Diff(tc.want, versionsOf(t, tc.request, tc.nodes)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestVersionOfANodeIsChecked(t *testing.T) {
	for _, version := range []string{"1.34", "1.34.3 ansible_connection=local", "1.34.3\n[etcd]", "{{ lookup('pipe', 'id') }}", "1.34.3#"} {
		r := halfUpgraded(contract.OperationAddNodes, func(r *contract.Request) { r.Members[1].Version = version })
		if got, err := Render(r, cluster("m-1 m-2 m-3 w-1 w-2")); err == nil || !strings.Contains(err.Error(), `node "m-2"`) {
			t.Errorf("%q: %v\n%s", version, err, got.HostsINI)
		}
	}
}

// The depot's checksums are those of one version, so that the playbook must not run with them on nodes
// of another one.
func TestPinsOfOneVersion(t *testing.T) {
	pins := Pins{"kubelet_binary_checksum": {"amd64": sum}}
	_, err := RenderPinned(halfUpgraded(contract.OperationAddControlPlane), cluster("m-1 m-2 m-3@new w-1"), pins)
	if err == nil || !strings.Contains(err.Error(), "m-2 has Kubernetes 1.34.3") || !strings.Contains(err.Error(), "What to do") {
		t.Errorf("a member of etcd joins: %v", err)
	}
	for name, tc := range map[string]struct{ operation, nodes string }{
		"a worker joins":                   {contract.OperationAddNodes, "m-1 m-2 m-3 w-1 w-2"},
		"a control plane node but no etcd": {contract.OperationAddControlPlane, "m-1 m-2 m-3 m-4 w-1"},
	} {
		if _, err := RenderPinned(halfUpgraded(tc.operation), cluster(tc.nodes), pins); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
