package networkdata

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/hosts"
)

var byString = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

func address(network, link, mac, ip string) hosts.NetworkAddress {
	return hosts.NetworkAddress{Network: network, Link: link, MAC: mac, IP: netip.MustParseAddr(ip)}
}

const (
	inJSON = `{
  "links": [{"id": "eth0", "type": "phy", "ethernet_mac_address": "00:C6:14:04:61:B2", "mtu": 1500},
            {"id": "vlan100", "type": "vlan", "vlan_link": "eth0", "vlan_id": 100},
            {"id": "vlan200", "type": "vlan", "vlan_link": "eth0", "vlan_id": 200, "vlan_mac_address": "02:00:00:00:00:C8"}],
  "networks": [{"id": "pxe", "type": "ipv4_dhcp", "link": "eth0"},
               {"id": "oam", "type": "ipv4", "link": "vlan100", "ip_address": "10.0.0.5", "netmask": "255.255.255.0", "routes": []},
               {"id": "oam6", "type": "ipv6", "link": "vlan100", "ip_address": "fd00::5/64"},
               {"id": "local", "type": "ipv6", "link": "vlan100", "ip_address": "fe80::1"},
               {"id": "data", "type": "ipv4", "link": "vlan200", "ip_address": "10.2.0.5/16", "netmask": 16}],
  "services": [{"type": "dns", "address": "10.0.0.1"}]}`
	inYAML = `links:
- {id: eth0, type: phy, ethernet_mac_address: "00:C6:14:04:61:B2"}
- {id: vlan100, type: vlan, vlan_link: eth0, vlan_id: 100}
- {id: vlan200, type: vlan, vlan_link: eth0, vlan_id: 200, vlan_mac_address: "02:00:00:00:00:C8"}
networks:
- {id: pxe, type: ipv4_dhcp, link: eth0}
- {id: oam, type: ipv4, link: vlan100, ip_address: 10.0.0.5, netmask: 255.255.255.0}
- {id: oam6, type: ipv6, link: vlan100, ip_address: "fd00::5", netmask: 64}
- {id: data, type: ipv4, link: vlan200, ip_address: 10.2.0.5/16}
`
)

func TestParse(t *testing.T) {
	want := []hosts.NetworkAddress{
		address("oam", "vlan100", "00:c6:14:04:61:b2", "10.0.0.5"), address("oam6", "vlan100", "00:c6:14:04:61:b2", "fd00::5"),
		address("data", "vlan200", "02:00:00:00:00:c8", "10.2.0.5"),
	}
	for name, text := range map[string]string{"JSON": inJSON, "YAML": inYAML} {
		got, err := Parse([]byte(text))
		if diff := cmp.Diff(want, got, byString); err != nil || diff != "" {
			t.Errorf("%s: %v, addresses (-want +got):\n%s", name, err, diff)
		}
	}
	for _, nothing := range []string{"", "null", "{}", "# only a remark", `{"links": [], "networks": null}`} {
		if got, err := Parse([]byte(nothing)); err != nil || got != nil {
			t.Errorf("Parse(%q) = %v, %v", nothing, got, err)
		}
	}
}

func TestOfSecret(t *testing.T) {
	const one = `{"links": [{"id": "l"}], "networks": [{"id": "n", "type": "ipv4", "link": "l", "ip_address": "10.0.0.1"}]}`
	want := []hosts.NetworkAddress{address("n", "l", "", "10.0.0.1")}
	for name, data := range map[string]map[string][]byte{
		"networkData":       {"networkData": []byte(one)},
		"value":             {"value": []byte(one), "userData": []byte("{")},
		"networkData first": {"networkData": []byte(one), "value": []byte("{")},
	} {
		got, err := OfSecret(data)
		if diff := cmp.Diff(want, got, byString); err != nil || diff != "" {
			t.Errorf("%s: %v, addresses (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestErrors(t *testing.T) {
	networks := func(text string) map[string][]byte {
		return map[string][]byte{Key: []byte(`{"links": [{"id": "l", "ethernet_mac_address": "nonsense"}, {"id": "a", "vlan_link": "b"}, {"id": "b", "vlan_link": "a"}], "networks": [` + text + `]}`)}
	}
	for _, tc := range []struct {
		name string
		data map[string][]byte
		want string
	}{
		{"no key", map[string][]byte{"userData": nil}, "the Secret has neither the key networkData nor the key value"},
		{"no document", map[string][]byte{"value": []byte("{[")}, "key value: network data are neither JSON nor YAML of links and networks"},
		{"a list", map[string][]byte{Key: []byte("[1]")}, "neither JSON nor YAML of links and networks"},
		{"too long", map[string][]byte{Key: make([]byte, most+1)}, "network data have 262145 bytes; the limit is 262144"},
		{"link without id", map[string][]byte{Key: []byte(`{"links": [{"type": "phy"}]}`)}, "links[0] has no id"},
		{"link twice", map[string][]byte{Key: []byte(`{"links": [{"id": "a"}, {"id": "a"}]}`)}, `two links with the id "a"`},
		{"no type", networks(`{"id": "n"}`), `networks[0] (id "n"): the network has no type`},
		{"no address", networks(`{"id": "n", "type": "ipv6", "link": "l"}`), `networks[0] (id "n"): type ipv6 needs an ip_address`},
		{"no such address", networks(`{"id": "n", "type": "ipv4", "link": "l", "ip_address": "10.0.0.256"}`), `the ip_address "10.0.0.256" is not an IP address`},
		{"the other family", networks(`{"id": "n", "type": "ipv4", "link": "l", "ip_address": "fd00::1"}`), `"fd00::1" is not of type ipv4`},
		{"no such link", networks(`{"id": "n", "type": "ipv4", "link": "x", "ip_address": "10.0.0.1"}`), `there is no link with the id "x"`},
		{"no MAC address", networks(`{"id": "n", "type": "ipv4", "link": "l", "ip_address": "10.0.0.1"}`), `the MAC address "nonsense" of link "l" is invalid`},
		{"a cycle", networks(`{"id": "n", "type": "ipv4", "link": "a", "ip_address": "10.0.0.1"}`), "form a cycle"},
		{"a long id", networks(`{"id": "` + strings.Repeat("n", 999) + `", "type": ""}`), `(id "` + strings.Repeat("n", 64) + `..."): the network has no type`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := OfSecret(tc.data)
			if err == nil || !strings.Contains(err.Error(), tc.want) || got != nil {
				t.Errorf("OfSecret = %v, %v; want an error with %q", got, err, tc.want)
			}
		})
	}
}

// FuzzParse checks two properties for any contents of the Secret: every returned address can be
// reached from other machines, and errors are short.
func FuzzParse(f *testing.F) {
	f.Add([]byte(inJSON))
	f.Add([]byte(inYAML))
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := Parse(text)
		if err != nil && len(err.Error()) > 2000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		for _, a := range found {
			if !a.IP.IsGlobalUnicast() || a.IP.Zone() != "" || a.Link == "" || a.MAC != strings.ToLower(a.MAC) {
				t.Errorf("%+v", a)
			}
		}
	})
}
