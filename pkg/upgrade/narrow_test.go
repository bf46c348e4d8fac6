package upgrade

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func variables(text string) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, word := range strings.Fields(text) {
		name, value, _ := strings.Cut(word, "=")
		all[name] = json.RawMessage(value)
	}
	return all
}

func TestNarrowOf(t *testing.T) {
	first, planes, all := contract.OnFirstControlPlane, contract.OnControlPlanes, contract.OnAllNodes
	for _, r := range []struct {
		name, release, changed, was, is string
		want                            string // tags, nodes, namespaces and kept variables; empty: a drain is needed
	}{
		{"one", "", "dns_cpu_limit", "", `dns_cpu_limit="1"`, "[coredns] " + first + " [kube-system] []"},
		{"the release by name", "v2.31.0", "dns_cpu_limit", "", "dns_cpu_limit=1", "[coredns] " + first + " [kube-system] []"},
		{"another release", "v2.32.0", "dns_cpu_limit", "", "dns_cpu_limit=1", ""},
		{"nothing", "", "", "", "", ""},
		{"unknown", "", "kubelet_max_pods", "", "kubelet_max_pods=1", ""},
		{"one of two is unknown", "", "dns_cpu_limit containerd_version", "", "", ""},
		{"the same tag once", "", "dns_cpu_limit coredns_replicas", "", "dns_cpu_limit=1", "[coredns] " + first + " [kube-system] []"},
		{"several", "", "node_labels dns_cpu_limit local_path_provisioner_enabled", "", "local_path_provisioner_enabled=true", "[coredns local-path-provisioner node-label] " + all + " [kube-system local-path-storage] []"},
		{"its own namespace", "", "local_path_provisioner_debug", "", `local_path_provisioner_enabled=true local_path_provisioner_namespace="volumes"`, "[local-path-provisioner] " + planes + " [volumes] []"},
		{"a template as the namespace", "", "local_path_provisioner_debug", "", `local_path_provisioner_enabled=true local_path_provisioner_namespace="{{x}}"`, ""},
		{"an option as the namespace", "", "local_path_provisioner_debug", "", `local_path_provisioner_enabled=true local_path_provisioner_namespace="-A"`, ""},
		{"an addon that is off", "", "metrics_server_replicas", "", "metrics_server_replicas=2", "[metrics_server] " + first + " [] []"},
		{"off", "", "metrics_server_enabled", "metrics_server_enabled=true", "metrics_server_enabled=false", "[metrics_server] " + first + " [] [metrics_server_enabled]"},
		{"off by default", "", "metrics_server_enabled", "metrics_server_enabled=true", "", "[metrics_server] " + first + " [] [metrics_server_enabled]"},
		{"on or off by a template", "", "metrics_server_enabled", "", `metrics_server_enabled="{{x}}"`, ""},
		{"another variable uses it", "", "dns_cpu_limit", "", `dns_cpu_limit=1 kubelet_x="{{dns_cpu_limit}}"`, ""},
		{"another variable used it", "", "dns_cpu_limit", `dns_cpu_limit=1 kubelet_x="{{dns_cpu_limit}}"`, "", ""},
		{"a narrow variable uses it, too", "", "dns_cpu_limit dns_cpu_requests", "", `dns_cpu_limit=1 dns_cpu_requests="{{dns_cpu_limit}}"`, "[coredns] " + first + " [kube-system] []"},
	} {
		n, ok := NarrowOf(r.release, strings.Fields(r.changed), variables(r.was), variables(r.is))
		got := ""
		if ok {
			got = fmt.Sprintf("%v %s %v %v", n.Tags, n.On, n.Namespaces, n.Kept)
			if want := strings.Fields(r.changed); len(n.Variables) != len(want) || !slices.IsSorted(n.Variables) {
				t.Errorf("%s: variables %v", r.name, n.Variables)
			}
		}
		if got != r.want {
			t.Errorf("%s: %q, want %q", r.name, got, r.want)
		}
	}
}

func TestChangeDaemonSets(t *testing.T) {
	for _, r := range []struct{ names, vars, want string }{
		{"dns_cpu_limit metrics_server_replicas node_labels", "", "[]"},
		{"dns_cpu_limit dns_etchosts dns_upstream_forward_extra_opts", "", "[dns_etchosts dns_upstream_forward_extra_opts]"},
		{"nodelocaldns_memory_limit", "", "[nodelocaldns_memory_limit]"},
		{"node_feature_discovery_worker_config", "", "[]"},
		{"node_feature_discovery_worker_config", "node_feature_discovery_enabled=true", "[node_feature_discovery_worker_config]"},
		{"kubelet_max_pods", "", "[]"},
	} {
		if got := fmt.Sprint(ChangeDaemonSets(strings.Fields(r.names), variables(r.vars))); got != r.want {
			t.Errorf("%s with %q: %s, want %s", r.names, r.vars, got, r.want)
		}
	}
}

// TestNarrowTable: a variable is in one row only, and is not one that cannot change. The tags are ones that
// the task accepts.
func TestNarrowTable(t *testing.T) {
	seen := map[string]bool{}
	tag := regexp.MustCompile(`^[a-z0-9]+([_-][a-z0-9]+)*$`)
	for _, n := range NarrowVariables {
		for _, name := range n.Names {
			if seen[name] || Variable(name) != nil {
				t.Errorf("%s is in the tables twice", name)
			}
			seen[name] = true
		}
		if !slices.IsSorted(n.Names) || len(n.Tags) == 0 || n.Reason == "" || reach(n.On) < 0 || n.Switch != "" && !slices.Contains(n.Names, n.Switch) {
			t.Errorf("row %v is not complete or not sorted", n.Names)
		}
		if slices.ContainsFunc(n.Tags, func(name string) bool { return !tag.MatchString(name) }) || n.Namespace != "" && !namespaceName.MatchString(n.Namespace) {
			t.Errorf("row %v: tags %v, namespace %q", n.Names, n.Tags, n.Namespace)
		}
		if seen[n.NamespaceIn] {
			t.Errorf("%s selects a namespace, so a change of it leaves the addon in the former one", n.NamespaceIn)
		}
	}
}

// TestDocumentedNarrowVariables: the table in the documentation is this one.
func TestDocumentedNarrowVariables(t *testing.T) {
	text, err := os.ReadFile("../../docs/upgrade.md")
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]string{contract.OnFirstControlPlane: "the first control plane node", contract.OnControlPlanes: "the control plane nodes", contract.OnAllNodes: "all nodes"}
	want := []string{"| variables that need no drain | tags | run on | why, and what kubespray does not do |", "| --- | --- | --- | --- |"}
	for _, n := range NarrowVariables {
		want = append(want, "| `"+strings.Join(n.Names, "`, `")+"` | `"+strings.Join(n.Tags, "`, `")+"` | "+on[n.On]+" | "+n.Reason+" |")
	}
	lines := strings.Split(string(text), "\n")
	var got []string
	if first := slices.Index(lines, want[0]); first >= 0 {
		for _, line := range lines[first:] {
			if !strings.HasPrefix(line, "|") {
				break
			}
			got = append(got, line)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table in docs/upgrade.md (-want +got):\n%s", diff)
	}
}
