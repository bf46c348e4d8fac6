package inventory

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func TestFactsGolden(t *testing.T) {
	for name, node := range map[string]contract.Node{
		"facts-ipv4":         worker("w-1", "10.60.0.2"),
		"facts-ipv6":         worker("w-1", "FD00::2"),
		"facts-two-families": {Name: "w-1", Roles: []string{contract.RoleWorker}, Address: "10.60.0.2", Address6: "FD00::2"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Facts(node)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", append(got, '\n'))
		})
	}
}

// kubespray accepts a node that it does not contact only if one of the first two is defined, and
// reads the others from nodes that it does not contact.
func TestFactsAreThoseThatKubesprayNeeds(t *testing.T) {
	text, err := Facts(worker("w-1", "10.60.0.2"))
	if err != nil {
		t.Fatal(err)
	}
	var facts map[string]any
	if err := json.Unmarshal(text, &facts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"address": "10.60.0.2"}, facts["ansible_default_ipv4"]); diff != "" {
		t.Errorf("ansible_default_ipv4 (-want +got):\n%s", diff)
	}
	for _, name := range []string{"main_ip", "main_access_ip", "main_ips", "main_access_ips"} {
		if value, ok := facts[name].(string); !ok || !strings.HasPrefix(value, "{{ ") {
			t.Errorf("%s is %v", name, facts[name])
		}
	}
	if _, there := facts["ansible_default_ipv6"]; there {
		t.Errorf("a node without an IPv6 address has one: %s", text)
	}
}

func TestFactsRefuseWhatIsNoAddress(t *testing.T) {
	for _, address := range []string{"{{ lookup('pipe', 'id') }}", "host-1", "fe80::1%eth0", "10.60.0.2/24"} {
		if text, err := Facts(worker("w-1", address)); err == nil {
			t.Errorf("%q: %s", address, text)
		}
	}
}

// Kubespray writes the names of all control planes into the certificates of API servers, and asks
// whether each host of the group etcd is a member.
func TestFactsOfControlPlanes(t *testing.T) {
	for name, tc := range map[string]struct {
		node contract.Node
		want map[string]any
	}{
		"a worker":         {worker("n-1", "10.60.0.2"), map[string]any{}},
		"a control plane":  {contract.Node{Name: "n-1", Roles: []string{contract.RoleControlPlane}, Address: "10.60.0.2"}, map[string]any{"ansible_hostname": "n-1", "ansible_fqdn": "n-1"}},
		"a member of etcd": {contract.Node{Name: "n-1", Roles: []string{contract.RoleControlPlane}, Address: "10.60.0.2", Etcd: "etcd1"}, map[string]any{"ansible_hostname": "n-1", "ansible_fqdn": "n-1", "etcd_member_in_cluster": map[string]any{"rc": 0.}}},
	} {
		text, err := Facts(tc.node)
		var got map[string]any
		if err != nil || json.Unmarshal(text, &got) != nil {
			t.Fatal(err)
		}
		for _, other := range []string{"ansible_default_ipv4", "main_ip", "main_access_ip", "main_ips", "main_access_ips"} {
			delete(got, other)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
