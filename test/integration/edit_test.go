//go:build integration

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// TestEditIsReverted runs the command in the condition SpecChanged with the real kubectl, API
// server and webhook. It checks that the command restores added, changed and removed fields.
func TestEditIsReverted(t *testing.T) {
	must(t, manifest("edited", one+"PodSubnet: 10.1.0.0/16\nssh: {user: admin}"), "apply", "-f", "-")
	before := get(t, "edited")
	request, err := from.Provisioning(before, settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := resources.MakeRequestConfigMap(before, request, 1)
	if err != nil {
		t.Fatal(err)
	}
	stored.APIVersion, stored.Kind = "v1", "ConfigMap"
	text, err := yaml.Marshal(stored)
	if err != nil {
		t.Fatal(err)
	}
	must(t, string(text), "apply", "-f", "-")
	// The spec is edited while a playbook installs the cluster.
	must(t, "", "patch", "provisioning", "edited", "--type=merge", "-p",
		`{"spec":{"PodSubnet":"10.2.0.0/16","workers":[{"worker-1":{"cpu":4}}],"ssh":{"user":null},"kubespray":{"vars":{"a":1}}}}`)
	if diff := cmp.Diff(before.Spec, get(t, "edited").Spec); diff == "" {
		t.Fatal("the patch did not change the spec")
	}

	must(t, "", "patch", "provisioning", "edited", "--subresource=status", "--type=merge", "-p", `{"status": {"installedDigest": "v3:sha256:1",
	  "nodes": [{"name": "master-1", "roles": ["control-plane", "worker"], "host": "host-1", "state": "Ready"}],
	  "conditions": [{"type": "ClusterInstalled", "status": "Unknown", "reason": "SpecChanged", "message": "spec.PodSubnet"}]}}`)

	command := exec.CommandContext(t.Context(), "sh", "-c", `kubectl patch bpa -n site edited --type=json -p "$(kubectl get configmap -n site edited-run-1 -o jsonpath='{.data.revert\.json}')"`)
	command.Env = append(os.Environ(), "KUBECONFIG="+shared.kubeconfig, "PATH="+filepath.Dir(shared.kubectl)+":"+os.Getenv("PATH"))
	if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "patched") {
		t.Fatalf("%v: %s", err, out)
	}
	if diff := cmp.Diff(before.Spec, get(t, "edited").Spec); diff != "" {
		t.Errorf("spec after the command (-want +got):\n%s", diff)
	}
}

// TestEditsOfAnInstalledCluster checks with the real kubectl, API server and webhook which edits of an
// installed cluster are refused, which only cause a warning, and which are applied. pkg/apis tests
// each rule separately.
func TestEditsOfAnInstalledCluster(t *testing.T) {
	const spec = "masters: [{m: {cpu: 1}}, {n: {cpu: 1}}, {o: {cpu: 1}}]\nworkers: [{w: {mac-address: '00:c6:14:04:61:b1'}}, {v: {cpu: 1}}]\nPodSubnet: 10.1.0.0/16\n"
	must(t, manifest("running", spec), "apply", "-f", "-")
	change := func(from, to string) string { return manifest("running", strings.Replace(spec, from, to, 1)) }
	must(t, change("10.1.0.0", "10.2.0.0"), "apply", "-f", "-") // nothing is installed yet
	must(t, manifest("running", spec), "apply", "-f", "-")
	must(t, "", "patch", "provisioning", "running", "--subresource=status", "--type=merge", "-p", `{"status": {"installedDigest": "v3:sha256:1", "observedGeneration": 3}}`)

	for name, r := range map[string]struct{ from, to, want string }{
		"subnet":        {"10.1.0.0", "10.2.0.0", "the cluster is installed with 10.1.0.0/16 and cannot change to 10.2.0.0/16: spec.PodSubnet\nwrite 10.1.0.0/16; to install the cluster again"},
		"plugin":        {"PodSubnet", "kubernetes: {networkPlugin: calico}\nPodSubnet", "flannel and cannot change to calico: spec.kubernetes.networkPlugin"},
		"older":         {"PodSubnet", "kubernetes: {version: 1.34.3}\nPodSubnet", "the cluster has Kubernetes 1.35.4, and a downgrade to 1.34.3 is not supported"},
		"variable":      {"PodSubnet", "kubespray: {vars: {dns_domain: x}}\nPodSubnet", "the kubespray variable dns_domain cannot change in a running cluster"},
		"batch":         {"PodSubnet", "upgrade: {maxUnavailable: 101%}\nPodSubnet", "spec.upgrade.maxUnavailable"},
		"role":          {"workers: [", "workers: [{m: null}, ", `node "m" is a control plane node of the installed cluster, and cannot become a worker too`},
		"name":          {"{w: {", "{x: {", `node "w" of the installed cluster, and a node cannot be renamed to "x"`},
		"control plane": {"[{m: {cpu: 1}}, {n: {cpu: 1}}, {o: {cpu: 1}}]", "[{p: {cpu: 1}}]", "none of the installed control plane nodes would be left"},
	} {
		if out, err := kubectl(t, change(r.from, r.to), "apply", "-f", "-"); err == nil || !strings.Contains(out, r.want) {
			t.Errorf("%s: %v, %s\nwant %s", name, err, out, r.want)
		}
	}
	if got := get(t, "running"); got.Generation != 3 {
		t.Errorf("a refused edit is stored: generation %d, want 3", got.Generation)
	}
	for name, r := range map[string]struct{ from, to, want string }{
		"version": {"PodSubnet", "kubernetes: {version: 1.35.5}\ndepot: {checksums: Depot}\nupgrade: {maxUnavailable: 2, pauseAfterControlPlane: true}\nPodSubnet", "configured"},
		"vars":    {"PodSubnet", "kubespray: {vars: {containerd_version: 2.1.6}}\nupgrade: {maxUnavailable: 10%, drainTimeout: 5m}\nPodSubnet", "configured"},
		"host":    {"04:61:b1", "04:61:b2", `Warning: node "w" is now pinned to 00:c6:14:04:61:b2`},
		"even":    {", {o: {cpu: 1}}", "", "Warning: 2 masters tolerate no more failures than 1"},
		"grow":    {"{v: {cpu: 1}}", "{v: {cpu: 1}}, {u: {cpu: 1}}", "configured"},
		"shrink":  {", {v: {cpu: 1}}", "", "configured"},
	} {
		if out := must(t, change(r.from, r.to), "apply", "-f", "-"); !strings.Contains(out, r.want) || strings.Contains(out, "Warning") != strings.Contains(r.want, "Warning") {
			t.Errorf("%s: %s\nwant %s", name, out, r.want)
		}
		must(t, manifest("running", spec), "apply", "-f", "-")
	}
	// What the controller and the garbage collector do, and what belongs to no cluster, is accepted.
	must(t, "", "annotate", "bpa", "running", "bpa.akraino.org/retry=1")
	must(t, "", "label", "bpa", "running", "team=north")
	must(t, "", "patch", "bpa", "running", "--type=merge", "-p", `{"metadata": {"finalizers": ["test.bpa.akraino.org/held"]}}`)
	must(t, "", "patch", "bpa", "running", "--type=merge", "-p", `{"spec": {"paused": true, "priority": 5, "replacePolicy": "Any", "timeouts": {"drain": "1m"}}}`)
	must(t, "", "delete", "bpa", "running", "--wait=false")
	must(t, "", "patch", "bpa", "running", "--type=merge", "-p", `{"metadata": {"finalizers": null}}`)
}
