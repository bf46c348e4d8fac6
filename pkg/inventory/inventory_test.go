package inventory

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// request returns a valid request, changed by the given functions.
func request(change ...func(*contract.Request)) contract.Request {
	r := contract.Request{
		Spec: contract.Spec{
			Provisioning: "edge-1", Namespace: "site", Cluster: "edge-1", KubernetesVersion: "1.35.4", NetworkPlugin: "flannel",
			PodSubnet: "10.244.64.0/18", ServiceSubnet: "10.233.0.0/18", SSHUser: "root", SSHPort: 22, DepotURL: "http://10.60.0.1:5000",
		},
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func master(name, address string) contract.Node {
	return contract.Node{Name: name, Roles: []string{contract.RoleControlPlane}, Address: address}
}

func worker(name, address string) contract.Node {
	return contract.Node{Name: name, Roles: []string{contract.RoleWorker}, Address: address}
}

func both(name, address string) contract.Node {
	return contract.Node{Name: name, Roles: []string{contract.RoleControlPlane, contract.RoleWorker}, Address: address}
}

func TestRenderGolden(t *testing.T) {
	for _, tc := range []struct {
		name    string
		request contract.Request
		nodes   []contract.Node
	}{
		{"one-node-in-both-roles", request(), []contract.Node{both("master-1", "10.60.0.21")}},
		{"demo", request(), []contract.Node{master("master-1", "10.60.0.21"), worker("worker-1", "10.60.0.22"), worker("worker-2", "10.60.0.23")}},
		{"even-masters", request(), []contract.Node{
			master("m-1", "10.60.0.1"), master("m-2", "10.60.0.2"), master("m-3", "10.60.0.3"), both("m-4", "10.60.0.4"),
		}},
		{"ipv6-addresses", request(), []contract.Node{master("m-1", "fd00::0001"), worker("w-1", "FD00::2")}},
		{"two-families", request(), []contract.Node{master("m-1", "10.60.0.1"), {Name: "w-1", Roles: []string{contract.RoleWorker}, Address: "10.60.0.2", Address6: "FD00::2"}}},
		{"cluster-of-two-families", request(twoFamilies), []contract.Node{second(both("m-1", "10.60.0.1"), "fd00::1")}},
		{"from-the-internet", request(func(r *contract.Request) { r.DepotURL = "" }), []contract.Node{both("m-1", "10.60.0.1")}},
		{"https-depot-and-other-user", request(func(r *contract.Request) {
			r.DepotURL, r.SSHUser, r.SSHPort = "https://depot.site.example/", "ubuntu", 2222
		}), []contract.Node{both("m-1", "10.60.0.1")}},
		{"own-variables-win", request(func(r *contract.Request) {
			r.Vars = map[string]json.RawMessage{
				"github_url":       json.RawMessage(`"http://mirror.example"`),
				"kube_proxy_mode":  json.RawMessage(`"iptables"`),
				"etcd_extra":       json.RawMessage(`{"b": 1, "a": [true, null, "<&>"]}`),
				"enable_something": json.RawMessage(`false`),
			}
		}), []contract.Node{both("m-1", "10.60.0.1")}},
		{"load-balancer", request(func(r *contract.Request) {
			r.API = &contract.API{Address: "api.edge-1.example", Port: 8443, Names: []string{"10.99.0.5", "api.example"}}
		}), []contract.Node{both("m-1", "10.60.0.1")}},
		{"moving-address", request(func(r *contract.Request) {
			r.API = &contract.API{Address: "10.60.0.5", Port: 6443, Virtual: true}
		}), []contract.Node{both("m-1", "10.60.0.1")}},
		{"variables-of-nodes", request(func(r *contract.Request) {
			r.Vars = map[string]json.RawMessage{"kubelet_max_pods": json.RawMessage("110")}
			r.Slots = []contract.Slot{{Name: "m-1", Vars: map[string]json.RawMessage{"kubelet_max_pods": json.RawMessage("60")}}, {Name: "s-1", Vars: map[string]json.RawMessage{"of_another": json.RawMessage("1")}}}
			r.Sets = []contract.Set{{Name: "s", Taints: []string{"b=:PreferNoSchedule"}, Vars: map[string]json.RawMessage{
				"kubelet_max_pods": json.RawMessage("250"), "text": json.RawMessage(`"it's {{ x }} # \"ü\" 007"`), "nested": json.RawMessage(`{"b":[true,null,"1.0"],"a":{}}`),
			}}}
		}), []contract.Node{both("m-1", "10.60.0.1"), {Name: "s-1", Set: "s", Roles: []string{contract.RoleWorker}, Address: "10.60.0.2"}, worker("w-1", "10.60.0.3")}},
		{"taints", request(func(r *contract.Request) {
			r.Slots = []contract.Slot{{Name: "m-1", Taints: []string{"example.org/a=:NoExecute"}}, {Name: "s-1", Taints: []string{"of-another=:NoExecute"}}}
			r.Sets = []contract.Set{{Name: "s", Taints: []string{"example.org/gpu=yes:NoSchedule", "b=:PreferNoSchedule"}}}
		}), []contract.Node{both("m-1", "10.60.0.1"), {Name: "s-1", Set: "s", Roles: []string{contract.RoleWorker}, Address: "10.60.0.2"}, worker("w-1", "10.60.0.3")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Render(tc.request, tc.nodes)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, tc.name+".hosts.ini", got.HostsINI)
			golden(t, tc.name+".all.json", got.GroupVars)
			again, err := Render(tc.request, tc.nodes)
			if err != nil || again.Digest() != got.Digest() {
				t.Errorf("rendered again: %v, digest %s, first %s", err, again.Digest(), got.Digest())
			}
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestDigestDiffersBetweenFiles(t *testing.T) {
	a := Inventory{HostsINI: []byte("ab"), GroupVars: []byte("c")}
	b := Inventory{HostsINI: []byte("a"), GroupVars: []byte("bc")}
	if a.Digest() == b.Digest() {
		t.Error("two inventories have one digest")
	}
}

func TestNoteOnEtcd(t *testing.T) {
	got, err := Render(request(), []contract.Node{master("m-1", "10.60.0.1"), master("m-2", "10.60.0.2")})
	if want := []string{"etcd needs an odd number of members: m-2 is left out of it"}; err != nil || !cmp.Equal(want, got.Notes) {
		t.Errorf("Notes = %q, %v; want %q", got.Notes, err, want)
	}
}

func TestRenderRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*contract.Request)
		nodes  []contract.Node // default: one good
		want   string          // in the error
	}{
		{name: "user with a line", change: func(r *contract.Request) { r.SSHUser = "root\n[etcd]\nevil" }, want: "SSH user"},
		{name: "user with an option", change: func(r *contract.Request) { r.SSHUser = "root ansible_connection=local" }, want: "SSH user"},
		{name: "user that is no text", change: func(r *contract.Request) { r.SSHUser = "None" }, want: "SSH user"},
		{name: "no user", change: func(r *contract.Request) { r.SSHUser = "" }, want: "SSH user"},
		{name: "taint with a quote", change: func(r *contract.Request) {
			r.Slots = []contract.Slot{{Name: "m-1", Taints: []string{"a=b']\" ansible_connection=local:NoSchedule"}}}
		}, want: `node "m-1": its taint "a=b']\" ansible_connection=local:NoSchedule" is not like example.org/gpu=yes:NoSchedule`},
		{name: "variable of a node that is BPA's", change: ownVar("ip", `"10.0.0.1"`), want: `node "m-1": kubespray variable "ip" is not allowed for one node`},
		{name: "mirrors of a node", change: ownVar("containerd_registries_mirrors", "[]"), want: "not allowed for one node"},
		{name: "connection by a variable of a node", change: ownVar("ansible_connection", `"local"`), want: "spec.ssh"},
		{name: "name of a variable of a node", change: ownVar("a=1 b", "1"), want: "does not match"},
		{name: "value of a variable of a node", change: ownVar("a", "{"), want: `node "m-1": the value of a is not JSON`},
		{name: "two values of a variable of a node", change: ownVar("a", "1 2"), want: "more than one value"},
		{name: "depth of a variable of a node", change: ownVar("a", strings.Repeat("[", 101)+strings.Repeat("]", 101)), want: "nested more than 100 deep"},
		{name: "port", change: func(r *contract.Request) { r.SSHPort = 70000 }, want: "SSH port 70000"},
		{name: "the address of the API servers is that of a node", change: func(r *contract.Request) {
			r.API = &contract.API{Address: "10.60.0.2", Port: 6443, Virtual: true}
		}, nodes: []contract.Node{master("m-1", "10.60.0.1"), worker("w-1", "10.60.0.2")}, want: "node w-1 has the address 10.60.0.2, which is to move between the control planes"},
		{name: "a name that is to move", change: func(r *contract.Request) {
			r.API = &contract.API{Address: "api.example", Port: 6443, Virtual: true}
		}, want: "is no IPv4 address"},
		{name: "version", change: func(r *contract.Request) { r.KubernetesVersion = "v1.35.4" }, want: "Kubernetes version"},
		{name: "plugin", change: func(r *contract.Request) { r.NetworkPlugin = "{{ evil }}" }, want: "network plugin"},
		{name: "depot with a template", change: func(r *contract.Request) { r.DepotURL = "http://x/{{ lookup('pipe','id') }}" }, want: "depot URL"},
		{name: "depot without a host", change: func(r *contract.Request) { r.DepotURL = "http://:5000" }, want: "depot URL"},
		{name: "pod subnet", change: func(r *contract.Request) { r.PodSubnet = "10.244.0.0" }, want: "pod subnet"},
		{name: "IPv6 service subnet", change: func(r *contract.Request) { r.ServiceSubnet = "fd00::/112" }, want: "service subnet"},
		{name: "overlap", change: func(r *contract.Request) { r.ServiceSubnet = "10.244.0.0/16" }, want: "overlap"},
		{name: "IPv6 alone", change: func(r *contract.Request) { r.PodSubnet = "fd00:1::/64" }, want: "pod subnet"},
		{name: "IPv4 twice", change: func(r *contract.Request) { r.PodSubnet += ",10.9.0.0/16" }, want: "pod subnet"},
		{name: "two families of pods only", change: func(r *contract.Request) { r.PodSubnet += ",fd00:1::/64" }, want: "pods and services must both"},
		{name: "overlap of IPv6", change: func(r *contract.Request) {
			r.PodSubnet, r.ServiceSubnet = r.PodSubnet+",fd00:1::/64", r.ServiceSubnet+",fd00:1::/112"
		}, want: "pod subnet fd00:1::/64 and service subnet fd00:1::/112 overlap"},
		{name: "no second address", change: twoFamilies, want: `node "m-1": it has no IPv6 address`},
		{name: "second address in the pod subnet", change: twoFamilies, nodes: []contract.Node{second(both("a", "10.60.0.1"), "fd00:1::5")}, want: "is inside the pod subnet fd00:1::/64"},
		{name: "variable's name", change: vars("a b"), want: `"a b"`},
		{name: "connection by variable", change: vars("ansible_connection"), want: "spec.ssh"},
		{name: "host key check by variable", change: vars("ansible_ssh_common_args"), want: "spec.ssh"},
		{name: "variable's value", change: func(r *contract.Request) { r.Vars = map[string]json.RawMessage{"a": json.RawMessage(`{`)} }, want: "variables"},
		{name: "no nodes", nodes: []contract.Node{}, want: "control-plane"},
		{name: "no master", nodes: []contract.Node{worker("w", "10.60.0.1")}, want: "control-plane"},
		{name: "name with a space", nodes: []contract.Node{both("a ansible_connection=local", "10.60.0.1")}, want: "DNS label"},
		{name: "name with a line", nodes: []contract.Node{both("a\n[etcd]", "10.60.0.1")}, want: "DNS label"},
		{name: "name with a range", nodes: []contract.Node{both("a[1:9]", "10.60.0.1")}, want: "DNS label"},
		{name: "localhost", nodes: []contract.Node{both("localhost", "10.60.0.1")}, want: "localhost"},
		{name: "group's name", nodes: []contract.Node{both("etcd", "10.60.0.1")}, want: "etcd"},
		{name: "no address", nodes: []contract.Node{both("a", "")}, want: `node "a"`},
		{name: "address with an option", nodes: []contract.Node{both("a", "10.60.0.1 x=y")}, want: `node "a"`},
		{name: "link-local", nodes: []contract.Node{both("a", "fe80::1")}, want: `node "a"`},
		{name: "zone", nodes: []contract.Node{both("a", "fd00::1%eth0\nx")}, want: `node "a"`},
		{name: "loopback", nodes: []contract.Node{both("a", "127.0.0.1")}, want: `node "a"`},
		{name: "in the pod subnet", nodes: []contract.Node{both("a", "10.244.64.7")}, want: `node "a": its address 10.244.64.7 is inside the pod subnet 10.244.64.0/18`},
		{name: "in the service subnet, mapped", nodes: []contract.Node{both("a", "::ffff:10.233.0.7")}, want: `node "a"`},
		{name: "same name", nodes: []contract.Node{both("a", "10.60.0.1"), both("a", "10.60.0.2")}, want: `two nodes have the name "a"`},
		{name: "same address", nodes: []contract.Node{both("a", "10.60.0.1"), both("b", "::ffff:10.60.0.1")}, want: "a and b have the same address"},
		{name: "second address of IPv4", nodes: []contract.Node{second(both("a", "10.60.0.1"), "10.60.0.2")}, want: "second address"},
		{name: "second address with a line", nodes: []contract.Node{second(both("a", "10.60.0.1"), "fd00::1%x\n")}, want: "second address"},
		{name: "same second address", nodes: []contract.Node{second(both("a", "10.60.0.1"), "fd00::1"), second(both("b", "10.60.0.2"), "fd00::01")}, want: "a and b have the same address"},
		{name: "no role", nodes: []contract.Node{{Name: "a", Address: "10.60.0.1"}}, want: "no role"},
		{name: "odd role", nodes: []contract.Node{{Name: "a", Address: "10.60.0.1", Roles: []string{"etcd]\n"}}}, want: "role"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, nodes := request(), tc.nodes
			if tc.change != nil {
				tc.change(&r)
			}
			if nodes == nil {
				nodes = []contract.Node{both("m-1", "10.60.0.1")}
			}
			got, err := Render(r, nodes)
			if err == nil || !strings.Contains(err.Error(), tc.want) || len(got.HostsINI) > 0 {
				t.Errorf("Render = %q, %v; want an error with %q", got.HostsINI, err, tc.want)
			}
		})
	}
}

func twoFamilies(r *contract.Request) {
	r.PodSubnet, r.ServiceSubnet = r.PodSubnet+",fd00:1::/64", r.ServiceSubnet+",fd00:2::/112"
}

func second(n contract.Node, address string) contract.Node {
	n.Address6 = address
	return n
}

func vars(name string) func(*contract.Request) {
	return func(r *contract.Request) { r.Vars = map[string]json.RawMessage{name: json.RawMessage("1")} }
}

// For a depot with TLS and its own CA, containerd gets the path of the CA on the node and must not
// skip verification.
func TestDepotWithItsOwnCA(t *testing.T) {
	r := request(func(r *contract.Request) { r.DepotURL, r.DepotCA = "https://10.60.0.1:5443", "PEM" })
	got, err := Render(r, []contract.Node{master("master-1", "10.60.0.11")})
	if err != nil {
		t.Fatal(err)
	}
	var vars struct {
		Mirrors []mirror `json:"containerd_registries_mirrors"`
	}
	if err := json.Unmarshal(got.GroupVars, &vars); err != nil {
		t.Fatal(err)
	}
	want := mirrorHost{Host: r.DepotURL, Capabilities: []string{"pull", "resolve"}, CA: contract.DepotCAPath}
	for _, m := range vars.Mirrors {
		if diff := cmp.Diff([]mirrorHost{want}, m.Mirrors); diff != "" || m.Server != r.DepotURL {
			t.Errorf("%s, server %s (-want +got):\n%s", m.Prefix, m.Server, diff)
		}
	}
	if len(vars.Mirrors) != len(registries) {
		t.Errorf("%d mirrors, want %d", len(vars.Mirrors), len(registries))
	}
}

// TestCertificatesAreRenewed: the cluster renews its own certificates, unless the user decides otherwise,
// or an external CA signs them, which kubespray refuses to renew.
func TestCertificatesAreRenewed(t *testing.T) {
	for name, test := range map[string]struct {
		vars map[string]json.RawMessage
		want string
	}{
		"by default":             {nil, "true"},
		"the user does not want": {map[string]json.RawMessage{autoRenewVar: json.RawMessage("false")}, "false"},
		"an external CA":         {map[string]json.RawMessage{externalCAVar: json.RawMessage(" true")}, ""},
		"no external CA":         {map[string]json.RawMessage{externalCAVar: json.RawMessage("false")}, "true"},
		"the user contradicts":   {map[string]json.RawMessage{externalCAVar: json.RawMessage("true"), autoRenewVar: json.RawMessage("true")}, "true"},
	} {
		c := checked{request: contract.Request{Spec: contract.Spec{KubernetesVersion: "1.35.4", Vars: test.vars}}}
		text, err := groupVars(c, Pins{})
		if err != nil {
			t.Fatal(err)
		}
		var vars map[string]json.RawMessage
		if err := json.Unmarshal(text, &vars); err != nil {
			t.Fatal(err)
		}
		if got := string(vars[autoRenewVar]); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
