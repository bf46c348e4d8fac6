package config

import (
	"encoding/json"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

var state = layout.Layout{Root: "/state"}

func TestPlanStartsInAWorkingOrder(t *testing.T) {
	order, err := Plan(state).Order()
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]string{
		{"etcd", "kube-apiserver"}, {"kube-apiserver", "kube-controller-manager"}, {"kube-apiserver", "kube-scheduler"},
		{"containerd", "kubelet"}, {"kube-apiserver", "kubelet"}, {"kubelet", "kube-proxy"},
	} {
		if slices.Index(order, pair[0]) > slices.Index(order, pair[1]) {
			t.Errorf("%s starts before %s: %v", pair[1], pair[0], order)
		}
	}
}

func TestEveryComponentIsProbed(t *testing.T) {
	for _, c := range Plan(state).Components {
		if c.Health == "" {
			t.Errorf("%s has no Health: it would be ready before it works, and ready for ever when it hangs", c.Name)
		}
	}
}

// TestComponentsReadTheirKeysOnly: what a component with a user of its own can read, nobody but root and the components
// of the list can. A component that gets a new key in its arguments can read it at once.
func TestComponentsReadTheirKeysOnly(t *testing.T) {
	got := map[string]string{}
	for _, c := range Plan(state).Components {
		files := ""
		for _, path := range append(slices.Clone(c.Owns), c.Reads...) {
			files += " " + strings.TrimPrefix(path, "/state/")
		}
		got[c.Name] = c.User + files
	}
	want := map[string]string{
		"depot":                   "bpa-depot depot pki/depot.kubeconfig",
		"etcd":                    "bpa-etcd data/etcd pki/etcd.key",
		"kube-apiserver":          "bpa-apiserver log/audit pki/sa.key pki/apiserver-etcd.key pki/apiserver.key pki/apiserver-kubelet.key pki/encryption.yaml pki/front-proxy.key",
		"kube-controller-manager": "bpa-controllers pki/controller-manager.kubeconfig pki/sa.key pki/ca.key",
		"kube-scheduler":          "bpa-scheduler pki/scheduler.kubeconfig",
		"containerd":              "", "kubelet": "", "kube-proxy": "", // root
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("user and files of each component (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"bpa-depot", "bpa-etcd", "bpa-apiserver", "bpa-controllers", "bpa-scheduler"}, Users(state)); diff != "" {
		t.Errorf("users (-want +got):\n%s", diff)
	}
}

// A power cut must lose no key that etcd has acknowledged. TestPowerCuts cuts the power of an etcd with these arguments.
func TestEtcdSyncsWhatItAcknowledges(t *testing.T) {
	args := machineControlPlane(state).Etcd().Args
	if at := slices.IndexFunc(args, func(arg string) bool { return strings.Contains(arg, "no-fsync") }); at >= 0 {
		t.Errorf("etcd runs with %s", args[at])
	}
}

func TestConfigurationFilesThatComponentsReadAreWritten(t *testing.T) {
	files := Files(state, Facts{})
	for _, c := range Plan(state).Components {
		for _, arg := range append(slices.Clone(c.Args), c.Inputs...) {
			value := arg[strings.Index(arg, "=")+1:] // of a flag, or the whole argument
			if _, written := files[value]; !written && strings.HasPrefix(value, state.Etc()+"/") {
				t.Errorf("%s reads %s, which Files does not contain", c.Name, value)
			}
		}
	}
}

// Pods in a namespace without a label must be restricted: a privileged pod is root on the machine. The attack
// test asks a real API server with this file.
func TestNamespacesAreRestrictedByDefault(t *testing.T) {
	control := machineControlPlane(state)
	if !slices.Contains(control.APIServer().Args, "--admission-control-config-file="+control.Admission) {
		t.Errorf("the API server does not read %s", control.Admission)
	}
	if !slices.Contains(control.APIServer().Inputs, control.Admission) {
		t.Errorf("the API server is not restarted when %s changes", control.Admission)
	}
	var file struct {
		Kind    string
		Plugins []struct {
			Name          string
			Configuration struct {
				Kind       string
				Defaults   map[string]string
				Exemptions map[string][]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(Files(state, Facts{})[control.Admission]), &file); err != nil {
		t.Fatal(err)
	}
	if file.Kind != "AdmissionConfiguration" || len(file.Plugins) != 1 || file.Plugins[0].Name != "PodSecurity" || file.Plugins[0].Configuration.Kind != "PodSecurityConfiguration" {
		t.Fatalf("%+v", file)
	}
	got := file.Plugins[0].Configuration
	if diff := cmp.Diff(map[string]string{"enforce": "restricted", "enforce-version": "latest", "warn": "restricted", "warn-version": "latest"}, got.Defaults); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string][]string{"namespaces": {"baremetal-operator-system"}}, got.Exemptions); diff != "" {
		t.Errorf("exemptions (-want +got):\n%s", diff)
	}
}

func TestFactsOfTheMachine(t *testing.T) {
	for _, c := range []struct {
		name  string
		facts Facts
		file  string
		want  string
	}{
		{"may not lower oom_score_adj", Facts{}, "containerd.toml", "restrict_oom_score_adj = true"},
		{"may lower oom_score_adj", Facts{LowerOOMScore: true}, "containerd.toml", "restrict_oom_score_adj = false"},
		{"no AppArmor", Facts{}, "containerd.toml", "disable_apparmor = true"},
		{"AppArmor", Facts{AppArmor: true}, "containerd.toml", "disable_apparmor = false"},
		{"bridge passes iptables", Facts{BridgeNF: true}, "proxy.yaml", "masqueradeAll: false"},
		{"bridge does not", Facts{}, "proxy.yaml", "masqueradeAll: true"},
	} {
		if text := Files(state, c.facts)[state.Etc(c.file)]; !strings.Contains(text, c.want) {
			t.Errorf("%s: %s lacks %q", c.name, c.file, c.want)
		}
	}
}

func TestKubeletConfiguration(t *testing.T) {
	var got map[string]any
	if err := yaml.Unmarshal([]byte(kubelet(state)), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"failCgroupV1": false, "cgroupDriver": "cgroupfs", "containerRuntimeEndpoint": "unix:///state/run/containerd.sock",
		"clusterDNS": []any{state.Net().DNSIP()}, "serializeImagePulls": false, "maxPods": float64(200),
		"authorization": map[string]any{"mode": "Webhook"},
	}
	for key, value := range want {
		if diff := cmp.Diff(value, got[key]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", key, diff)
		}
	}
}

func TestProxyAndCNIParse(t *testing.T) {
	var p, c map[string]any
	if err := yaml.Unmarshal([]byte(proxy(state, Facts{})), &p); err != nil {
		t.Error(err)
	}
	if err := json.Unmarshal([]byte(cni(state)), &c); err != nil {
		t.Error(err)
	}
	if p["mode"] != "iptables" || c["name"] != "bpa" {
		t.Errorf("mode %v, network %v", p["mode"], c["name"])
	}
}

func TestDepotWritesOnlyLocallyOrWithAToken(t *testing.T) {
	plan := Plan(state)
	args := strings.Join(plan.Components[0].Args, " ")
	for _, want := range []string{
		"/bin/depot ", "--listen=" + state.Net().Depot(), "--tls-listen=" + state.Net().DepotTLS(), "--local-listen=" + layout.DepotLocal, "--probe-listen=" + layout.DepotProbe, "--kubeconfig=/state/pki/depot.kubeconfig",
	} {
		if !strings.Contains(args, want) {
			t.Errorf("%s lacks %s", args, want)
		}
	}
	if len(plan.Components[0].Needs) > 0 {
		t.Error("the depot needs another component, and every pod needs its images")
	}
	for _, address := range []string{layout.DepotLocal, layout.DepotProbe} {
		if ip, _, err := net.SplitHostPort(address); err != nil || !net.ParseIP(ip).IsLoopback() {
			t.Errorf("%s is neither encrypted nor on loopback", address)
		}
	}
	if want := "http://" + layout.DepotProbe + "/readyz"; plan.Components[0].Health != want {
		t.Errorf("the supervisor probes %s, whose connections clients can use up; want %s", plan.Components[0].Health, want)
	}
}

func TestContainerdTrustsTheDepotsAuthority(t *testing.T) {
	files := Files(state, Facts{})
	want := "server = \"https://10.60.0.1:5443\"\n\n[host.\"https://10.60.0.1:5443\"]\n  capabilities = [\"pull\", \"resolve\"]\n  ca = \"/state/depot/tls/ca.crt\"\n"
	if diff := cmp.Diff(want, files[state.Etc("certs.d", state.Net().DepotTLS(), "hosts.toml")]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want = "server = \"http://10.60.0.1:5000\"\n\n[host.\"http://10.60.0.1:5000\"]\n  capabilities = [\"pull\", \"resolve\"]\n"
	if diff := cmp.Diff(want, files[state.Etc("certs.d", state.Net().Depot(), "hosts.toml")]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The API server of the machine and that of a test must be able to run side by side.
func TestControlPlanesShareNothing(t *testing.T) {
	other := ControlPlane{Bin: state.Bin, PKI: "/t/pki", Data: "/t/data", Admission: "/t/admission.yaml", Audit: "/t/audit.yaml", AuditLog: "/t/log/audit.log", EtcdPort: "1", EtcdPeer: "2", EtcdHealth: "4", Address: "127.0.0.1", Port: "3", ServiceCIDR: "10.0.0.0/24"}
	for _, c := range []supervisor.Component{other.Etcd(), other.APIServer()} {
		for _, arg := range c.Args[1:] {
			if strings.Contains(arg, "/state/") || strings.Contains(arg, state.Net().NodeIP()) || strings.Contains(arg, ":23") {
				t.Errorf("%s of a test uses a resource of the machine: %s", c.Name, arg)
			}
		}
	}
}

func TestWriteKeepsTheModificationTimeOfUnchangedFiles(t *testing.T) {
	path := t.TempDir() + "/a/b"
	files := map[string]string{path: "text"}
	if err := Write(files); err != nil {
		t.Fatal(err)
	}
	past := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(path, past, past); err != nil {
		t.Fatal(err)
	}
	if err := Write(files); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(past) {
		t.Errorf("an unchanged file was written again: %v, %v", info.ModTime(), err)
	}
	files[path] = "other"
	if err := Write(files); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "other" {
		t.Errorf("content %q, %v; want other", got, err)
	}
}
