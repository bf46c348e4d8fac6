package site

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

const whole = `pods: 10.90.0.0/22
services: 10.91.0.0/16
site:
  interface: eno1
  address: 192.0.2.10
  servers: [192.0.2.0/24, 198.18.0.0/15]
  names: [depot.example.org]
  apiServer: true
bmc:
  interface: eno2.100
  networks: [198.51.100.0/24]
`

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

var equal = []cmp.Option{cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })}

func TestParse(t *testing.T) {
	got, err := Parse([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	want := layout.Network{
		Pods: netip.MustParsePrefix("10.90.0.0/22"), Services: netip.MustParsePrefix("10.91.0.0/16"),
		Site:  layout.Link{Interface: "eno1", Address: netip.MustParseAddr("192.0.2.10"), Networks: prefixes("192.0.2.0/24", "198.18.0.0/15")},
		BMC:   layout.Link{Interface: "eno2.100", Networks: prefixes("198.51.100.0/24")},
		Names: []string{"depot.example.org"}, ServeAPI: true,
	}
	if diff := cmp.Diff(want, got, equal...); diff != "" {
		t.Errorf("network (-want +got):\n%s", diff)
	}
	if got.NodeCIDR() != "10.90.0.1/22" || got.PodFirst() != "10.90.0.10" || got.DNSIP() != "10.91.0.10" || got.Depot() != "10.90.0.1:5000" || got.DepotForServers() != "192.0.2.10" {
		t.Errorf("addresses of %+v", got)
	}
	for _, text := range []string{"", "# nothing\n", "pods: 10.60.0.0/24\n"} {
		if got, err := Parse([]byte(text)); err != nil || cmp.Diff(layout.DefaultNetwork(), got, equal...) != "" {
			t.Errorf("%q: %+v, %v; want the default", text, got, err)
		}
	}
}

// What Print writes is a file with the same network.
func TestPrint(t *testing.T) {
	for _, text := range []string{"", whole} {
		n, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse([]byte(Print(n)))
		if diff := cmp.Diff(n, again, equal...); err != nil || diff != "" {
			t.Errorf("%v (-first +again):\n%s\n%s", err, diff, Print(n))
		}
	}
}

func TestParseNamesEachLine(t *testing.T) {
	for text, want := range map[string]string{
		"pods: 10.90.0.0/22\npod: 1\n":                   "line 2: field pod not found",
		"pods: 10.90.0.1/22\n":                           "line 1: pods is 10.90.0.1/22: the network of this address is 10.90.0.0/22",
		"pods: all\n":                                    `line 1: pods is "all": want a network`,
		"pods:\n":                                        `line 1: pods is ""`,
		"pods: {a: b}\n":                                 `line 1: pods is ""`,
		"pods: fd00::/64\n":                              "want a network of IPv4",
		"\npods: 10.90.0.0/28\n":                         "line 2: pods is 10.90.0.0/28: want a length between /16 and /25",
		"services: 10.60.0.0/16\n":                       "line 1: pods (10.60.0.0/24) and services (10.60.0.0/16) overlap",
		"site:\n  interface: eno1\n":                     "site.address is missing",
		"site: {interface: eno1, address: 192.0.2.10}\n": "site.servers is missing",
		"site: {address: 192.0.2.10, servers: [192.0.2.0/24]}\n":                                           "site.interface is missing",
		"site:\n  interface: bpa0\n  address: 192.0.2.10\n  servers: [192.0.2.0/24]\n":                     "line 2: site.interface is bpa0",
		"site:\n  interface: 'eno1; drop'\n  address: 192.0.2.10\n  servers: [192.0.2.0/24]\n":             "line 2: site.interface is \"eno1; drop\"",
		"site:\n  interface: eno1\n  address: 127.0.0.1\n  servers: [192.0.2.0/24]\n":                      `line 3: site.address is "127.0.0.1"`,
		"site:\n  interface: eno1\n  address: 10.60.0.7\n  servers: [192.0.2.0/24]\n":                      "line 3: site.address is 10.60.0.7, which is in pods",
		"pods: 192.0.2.0/24\nsite:\n  interface: eno1\n  address: 198.18.0.1\n  servers: [192.0.0.0/16]\n": "line 1: pods (192.0.2.0/24) and site.servers (192.0.0.0/16) overlap",
		"site:\n  interface: eno1\n  address: 192.0.2.10\n  servers: [192.0.2.0/24]\n  names: [A_b]\n":     `line 5: site.names has "A_b"`,
		"site: 7\n":                 "line 1: cannot unmarshal",
		"bmc:\n  interface: eno2\n": "bmc.networks is missing",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	_, err := Parse([]byte("pods: a\nservices: b\n"))
	if err == nil || strings.Count(err.Error(), "line ") != 2 {
		t.Errorf("two mistakes: %v", err)
	}
	if _, err := Parse([]byte("site: {interface: eno1, address: 192.0.2.10, servers: [0.0.0.0/0]}\n")); err != nil {
		t.Errorf("servers everywhere: %v", err)
	}
}

func TestLoadAndFixed(t *testing.T) {
	l := layout.Layout{Root: t.TempDir()}
	if got, err := Load(l); err != nil || got.Network != nil {
		t.Errorf("a machine without a file: %+v, %v", got, err)
	}
	if err := Store(l, []byte(whole)); err != nil {
		t.Fatal(err)
	}
	got, err := Load(l)
	if err != nil || got.Net().NodeIP() != "10.90.0.1" || got.Root != l.Root {
		t.Errorf("%+v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(l.Root, "etc", "site.yaml"), []byte("pods: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(l); err == nil || !strings.Contains(err.Error(), "etc/site.yaml:\nline 1: ") {
		t.Errorf("a copy with a mistake: %v", err)
	}
	other := got.Net()
	other.Site.Address = netip.MustParseAddr("192.0.2.11")
	if err := Fixed(got.Net(), other); err != nil {
		t.Errorf("another address: %v", err)
	}
	if err := Fixed(layout.DefaultNetwork(), got.Net()); err == nil || !strings.Contains(err.Error(), "pods is 10.60.0.0/24 on this machine and 10.90.0.0/22 in the file") {
		t.Errorf("another range: %v", err)
	}
}
