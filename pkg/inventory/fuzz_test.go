package inventory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// FuzzRender puts any bytes into any field. Either Render fails, or a strict reader finds exactly
// the request's nodes, groups and variables in the result.
func FuzzRender(f *testing.F) {
	f.Add("worker-1", "10.60.0.9", "worker", "root", 22, "1.35.4", "flannel", "10.244.64.0/18", "10.233.0.0/18", "http://10.60.0.1:5000", "own", `{"a":1}`)
	f.Add("w\n[etcd]\nevil", "fd00::1", "control-plane", "root\nansible_connection=local", 2222, "1.35.4", "calico", "10.0.0.0/8", "192.168.0.0/16", "", "x", "1")
	f.Add("w x=1", "10.60.0.9 ansible_user=x", "worker", "a b", 1, "1.1.1\n", "f'", "10.0.0.0/8 x", "1.0.0.0/8", "http://h/{{x}}", "ansible_host", `"{{ x }}"`)
	f.Add("w#1", "10.60.0.9#", "worker", "root#", 22, "1.35.4#", "a", "10.244.64.0/18", "10.233.0.0/18", "https://h\"", "a=b", "\x00")
	f.Fuzz(func(t *testing.T, name, address, role, user string, port int, version, plugin, pods, services, depot, key, value string) {
		r := contract.Request{
			Spec: contract.Spec{
				Provisioning: name, Namespace: address, Cluster: user, KubernetesVersion: version, NetworkPlugin: plugin, PodSubnet: pods,
				ServiceSubnet: services, SSHUser: user, SSHPort: port, DepotURL: depot, Vars: map[string]json.RawMessage{key: json.RawMessage(value)},
			},
		}
		nodes := []contract.Node{
			{Name: "master-1", Roles: []string{contract.RoleControlPlane}, Address: "172.31.255.1"},
			{Name: name, Roles: []string{role}, Address: address},
		}
		judge(t, r, nodes)
	})
}

// FuzzOneField puts any bytes into one field of an otherwise valid request, so that the other
// fields pass their checks.
func FuzzOneField(f *testing.F) {
	for field := range uint8(11) {
		for _, value := range []string{"x", "10.60.0.9", "w-1\n[etcd]\nevil", "a b=c", "a#b", "'a'", "{{ a }}", "fd00::9%e", "10.8.0.0/13", "https://h:1/p", "1.35.4-rc.1"} {
			f.Add(field, value)
		}
	}
	f.Fuzz(func(t *testing.T, field uint8, value string) {
		r := request(func(r *contract.Request) { r.Vars = map[string]json.RawMessage{"own": json.RawMessage(`{"a": 1}`)} })
		nodes := []contract.Node{master("master-1", "172.31.255.1"), worker("worker-1", "10.60.0.9")}
		if fields := []*string{
			&r.Provisioning, &r.Cluster, &r.KubernetesVersion, &r.NetworkPlugin, &r.PodSubnet, &r.ServiceSubnet, &r.SSHUser, &r.DepotURL,
			&nodes[1].Name, &nodes[1].Address, &nodes[1].Host,
		}; int(field) < len(fields) {
			*fields[field] = value
		} else {
			r.Vars = map[string]json.RawMessage{value: json.RawMessage("1")}
		}
		judge(t, r, nodes)
	})
}

func judge(t *testing.T, r contract.Request, nodes []contract.Node) {
	t.Helper()
	got, err := Render(r, nodes)
	if err != nil {
		return
	}
	found, err := readINI(got.HostsINI)
	if err != nil {
		t.Fatalf("%v in\n%s", err, got.HostsINI)
	}
	if diff := cmp.Diff(expected(r, nodes), found); diff != "" {
		t.Errorf("hosts.ini (-want +got):\n%s\n%s", diff, got.HostsINI)
	}
	checkVars(t, r, got.GroupVars)
}

// ini is the content of a hosts.ini: the lines of each section, split into words.
type ini map[string][][]string

func expected(r contract.Request, nodes []contract.Node) ini {
	want := ini{
		"all:vars":             {{"ansible_user=" + r.SSHUser}, {fmt.Sprintf("ansible_port=%d", r.SSHPort)}},
		"k8s_cluster:children": {{"kube_control_plane"}, {"kube_node"}},
		"etcd":                 {{"master-1"}},
		"kube_control_plane":   nil,
		"kube_node":            nil,
	}
	for _, node := range nodes {
		ip := netip.MustParseAddr(node.Address).Unmap().String() // an address can be written in several ways
		line := []string{node.Name, "ansible_host=" + ip, "ip=" + ip, "access_ip=" + ip}
		if node.Name == "master-1" {
			line = append(line, "etcd_member_name=etcd1")
		}
		want["all"] = append(want["all"], line)
		group := map[string]string{contract.RoleControlPlane: "kube_control_plane", contract.RoleWorker: "kube_node"}[node.Roles[0]]
		want[group] = append(want[group], []string{node.Name})
	}
	return want
}

// readINI parses a hosts.ini strictly. It accepts known sections once each, printable ASCII, no
// quotes and no blanks at the start or end of a line.
func readINI(text []byte) (ini, error) {
	if i := bytes.IndexFunc(text, func(c rune) bool { return c != '\n' && (c < ' ' || c > '~') || strings.ContainsRune("\"'\\{}$;", c) }); i >= 0 {
		return nil, fmt.Errorf("byte %d is %q", i, text[i])
	}
	found, section := ini{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "# "):
		case strings.HasPrefix(line, "["):
			section = strings.TrimSuffix(line[1:], "]")
			if _, dup := found[section]; dup || len(section)+2 != len(line) {
				return nil, fmt.Errorf("section %q is repeated or malformed", line)
			}
			found[section] = nil
		case section == "" || strings.TrimSpace(line) != line || strings.Contains(line, "#"):
			return nil, fmt.Errorf("line %q", line)
		default:
			found[section] = append(found[section], strings.Split(line, " "))
		}
	}
	return found, nil
}

func checkVars(t *testing.T, r contract.Request, text []byte) {
	t.Helper()
	var found map[string]json.RawMessage
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	want := []string{"kube_version", "kube_network_plugin", "kube_pods_subnet", "kube_service_addresses", "kubeconfig_localhost"}
	if external := string(bytes.TrimSpace(r.Vars[externalCAVar])) == "true"; !external {
		want = append(want, autoRenewVar)
	}
	if r.DepotURL != "" {
		want = append(want, slices.Collect(maps.Keys(depotVars("", false)))...)
	}
	want = slices.Compact(slices.Sorted(slices.Values(append(want, slices.Collect(maps.Keys(r.Vars))...))))
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	for name, value := range r.Vars {
		if name == mirrorsVar && r.DepotURL != "" {
			continue // this variable also has BPA's mirrors, which TestTheirMirrorsWin checks
		}
		var asked, got any
		if json.Unmarshal(value, &asked) != nil || json.Unmarshal(found[name], &got) != nil || !cmp.Equal(asked, got) {
			t.Errorf("variable %s is %s, want %s", name, found[name], value)
		}
	}
}
