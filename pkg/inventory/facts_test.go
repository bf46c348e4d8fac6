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
