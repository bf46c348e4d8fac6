package check

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestRunsMakeNoCheckTwice: what a run finds out with a reason of its own is no finding, and neither is what a run cannot know.
func TestRunsMakeNoCheckTwice(t *testing.T) {
	w := newWorld()
	w.in.Run = true
	again(w)
	w.replace(t, 0, "uid", "uid 1000")
	w.replace(t, 0, "osversion", "osversion 13")
	w.replace(t, 0, "card", "card eth0 02:00:00:00:00:77")
	w.replace(t, 0, "process chronyd", "process chronyd", "kubernetes /etc/kubernetes/kubelet.conf")
	w.replace(t, 1, "end")
	w.answers[2].Err = fmt.Errorf("no route to host")
	w.in.Site = &Site{Settings: "none"}
	got := w.judge()
	if len(got) != 1 || got[0].ID != "answer" || got[0].Result != Unknown || got[0].Blocks() {
		t.Errorf("%+v, want only that host-2 did not answer to the end, which stops nobody", got)
	}
	for _, c := range table {
		if slices.Contains(OfRuns(), c.ID) == (c.Elsewhere != "") {
			t.Errorf("%s: %q", c.ID, c.Elsewhere)
		}
	}
}

// TestTheAPIKnowsTheChecks: spec.checks.disable accepts the checks that runs make, and no other word.
func TestTheAPIKnowsTheChecks(t *testing.T) {
	text, err := os.ReadFile("../apis/bpa/v1alpha1/spec_types.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "type ChecksSpec struct")
	_, marker, _ := strings.Cut(rest, "validation:items:Enum=")
	marker, _, _ = strings.Cut(marker, "\n")
	if want := strings.Join(OfRuns(), ";"); marker != want {
		t.Errorf("spec.checks.disable accepts\n%s\nwant\n%s", marker, want)
	}
}

// TestRunsDoNotPingThePod: a run asks from a pod.
func TestRunsDoNotPingThePod(t *testing.T) {
	w := newWorld()
	if !strings.Contains(Script(w.in, 0), "\nping_back='yes'\n") {
		t.Error("without a run, the way back is not tried")
	}
	w.in.Run = true
	if !strings.Contains(Script(w.in, 0), "\nping_back=''\n") {
		t.Error("a run tries the way back to its pod")
	}
}

// TestVariablesOfTheUserCount: what the variables of kubespray accept, or do without, is no finding. test/lab/vars.yaml has most of
// them, because its machines are containers.
func TestVariablesOfTheUserCount(t *testing.T) {
	for name, tc := range map[string]struct {
		vars   string
		broken func(*testing.T, *world3)
		found  string // without the variables
	}{
		"a machine with cgroup v1": {`{"kubelet_fail_cgroup_v1": false}`, line("cgroup", "cgroup tmpfs"), "cgroup"},
		"a kernel without dummy":   {`{"enable_nodelocaldns": false}`, line("feature dummy", "feature dummy no an attempt to use it failed"), "kernel-features"},
		"a resolver of the site":   {`{"enable_nodelocaldns": "no"}`, line("listen", "listen udp 0035 00000000"), "ports-free"},
		"a disk that is nearly full": {`{"eviction_hard": {"memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%"}}`,
			line("disk /var/lib/containerd", "disk /var/lib/containerd 7 4096 268435456 26843545 655360 600000"), "disk-pressure"},
		"few inodes":             {`{"eviction_hard": {"nodefs.available": "1Gi"}}`, line("disk /var/lib/kubelet", "disk /var/lib/kubelet 65024 4096 26214400 20971520 6553600 1000"), "disk-pressure"},
		"one CPU":                {`{"kubeadm_ignore_preflight_errors": ["NumCPU"]}`, line("cpus", "cpus 1"), "cpus"},
		"little memory":          {`{"ignore_assert_errors": true}`, line("memory", "memory 1500000"), "memory"},
		"no name server":         {`{"upstream_dns_servers": ["10.0.0.254"]}`, line("nameserver"), "resolver"},
		"another API server":     {`{"kube_apiserver_port": 8443}`, line("listen", "listen tcp 192B 00000000"), "ports-free"},
		"another port, as text":  {`{"kube_apiserver_port": "8443"}`, line("listen", "listen tcp 192B 00000000"), "ports-free"},
		"variables of no effect": {`{"eviction_hard": "{{ x }}", "kubeadm_ignore_preflight_errors": "all", "kube_apiserver_port": "{{ y }}"}`, func(*testing.T, *world3) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var vars map[string]json.RawMessage
			if err := json.Unmarshal([]byte(tc.vars), &vars); err != nil {
				t.Fatal(err)
			}
			ids := func(r contract.Request) string {
				w := newWorld()
				in := InputOf(r, w.in.Nodes)
				in.OperatingSystem, in.NetworkPlugin, in.PodSubnets, in.ServiceSubnets, in.Depot, in.KubernetesVersion = w.in.OperatingSystem, w.in.NetworkPlugin, w.in.PodSubnets, w.in.ServiceSubnets, w.in.Depot, w.in.KubernetesVersion
				good := w.in
				if w.in = in; name != "a kernel without dummy" && name != "a resolver of the site" {
					again(w)
				} else {
					w.in = good
					again(w)
					w.in = in
				}
				tc.broken(t, w)
				var all []string
				for _, f := range w.judge() {
					all = append(all, f.ID)
				}
				return strings.Join(all, " ")
			}
			if got := ids(contract.Request{}); got != tc.found {
				t.Errorf("without the variables: %q, want %q", got, tc.found)
			}
			if got := ids(contract.Request{Spec: contract.Spec{Vars: vars}}); got != "" {
				t.Errorf("with %s: %s", tc.vars, got)
			}
		})
	}
}

// TestNameThatIsNotKnown: a look-up that has not ended, and a host without getent, are neither a success nor a reason to stop.
func TestNameThatIsNotKnown(t *testing.T) {
	for result, said := range map[string]string{"apiname 124": "a lookup of api.example had no answer", "": "it has no getent"} {
		w := newWorld()
		named(result)(t, w)
		got := w.judge()
		if len(got) != 1 || got[0].ID != "api-address" || got[0].Result != Unknown || got[0].Seen != said {
			t.Errorf("%q: %+v, want that %s", result, got, said)
		}
	}
}

// TestNameOfTheAPIServers: only a DNS name of a load balancer is looked up.
func TestNameOfTheAPIServers(t *testing.T) {
	for address, want := range map[string]string{"api.example": "api.example", "10.60.0.9": "", "": ""} {
		r := contract.Request{Spec: contract.Spec{API: &contract.API{Address: address, Port: 6443}}}
		in := InputOf(r, nil)
		if in.APIName != want {
			t.Errorf("address %q: the hosts look up %q, want %q", address, in.APIName, want)
		}
	}
	w := newWorld()
	w.in.APIName = "api.example"
	if !strings.Contains(Script(w.in, 0), "\napi_name='api.example'\n") {
		t.Error("the script does not ask for the name")
	}
}
