//go:build integration

package integration

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// kubectl runs kubectl in the tests' namespace and returns its output.
func kubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return shared.run(t.Context(), []byte(stdin), append([]string{"-n", namespace}, args...)...)
}

// must runs kubectl in the tests' namespace and returns its output. It fails the test if kubectl
// fails.
func must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := kubectl(t, stdin, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

func manifest(name, spec string) string {
	return "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: " + name + "}\nspec:\n  " +
		strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ") + "\n"
}

// one is a spec with one master.
const one = "masters: [{master-1: {cpu: 4}}]\n"

func get(t *testing.T, name string) *v1alpha1.Provisioning {
	t.Helper()
	p := &v1alpha1.Provisioning{}
	if err := yaml.UnmarshalStrict([]byte(must(t, "", "get", "provisioning", name, "-o", "yaml")), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDefaultsAreStored: missing fields get their defaults, and what was written stays as it was written.
func TestDefaultsAreStored(t *testing.T) {
	must(t, manifest("defaults", one+"kubernetes: {version: v1.35.4}\ndepot: {url: 'https://10.60.0.1:5443/'}\ntimeouts: {install: 120m}"), "apply", "-f", "-")
	got := get(t, "defaults")
	if got.Spec.Kubernetes.Version != "v1.35.4" || got.Spec.Depot.URL != "https://10.60.0.1:5443/" {
		t.Errorf("rewritten: %+v %+v", got.Spec.Kubernetes, got.Spec.Depot)
	}
	if text := must(t, "", "get", "provisioning", "defaults", "-o", "jsonpath={.spec.timeouts.install}"); text != "120m" {
		t.Errorf("spec.timeouts.install is %s, want 120m as it was written", text)
	}
	want := v1alpha1.ProvisioningSpec{Masters: []map[string]v1alpha1.Master{{"master-1": {HostRequirements: v1alpha1.HostRequirements{CPU: 4}}}},
		Depot: v1alpha1.DepotSpec{URL: "https://10.60.0.1:5443"}, Timeouts: v1alpha1.TimeoutsSpec{Install: &metav1.Duration{Duration: 2 * time.Hour}}}
	filled := v1alpha1.Provisioning{Spec: want}
	filled.SetDefaults(context.Background())
	if diff := cmp.Diff(filled.Spec, got.Normalized().Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if got.Labels["cluster"] != "defaults" {
		t.Errorf("labels: %v", got.Labels)
	}
}

// TestBadInputIsRefused checks the messages that kubectl apply shows for invalid input. pkg/apis
// tests each rule separately.
func TestBadInputIsRefused(t *testing.T) {
	for _, r := range []struct{ name, spec, want string }{
		{"no masters", "workers: [{worker-1: {cpu: 4}}]", "the cluster has no masters: spec.masters\nadd a control plane node"},
		{"empty spec", "{}", "no masters: spec.masters"},
		{"empty MAC", "masters: [{m: {mac-address: ''}}]", "the MAC address is empty: spec.masters[0].m.mac-address"},
		{"empty MAC with requirements", "masters: [{m: {mac-address: '', cpu: 4}}]", "the MAC address is empty: spec.masters[0].m.mac-address"},
		{"wrong MAC", "masters: [{m: {mac-address: '00:c6:14:04:61:zz'}}]", `spec.masters[0].m.mac-address: Invalid value: "00:c6:14:04:61:zz"`},
		{"same host twice", "masters: [{m: {mac-address: '00:c6:14:04:61:b2'}}]\nworkers: [{w: {mac-address: '00-C6-14-04-61-B2'}}]",
			"MAC address 00:c6:14:04:61:b2 is already used by spec.masters[0].m: spec.workers[0].w.mac-address"},
		{"same name twice", "masters: [{m: {cpu: 1}}]\nworkers: [{w: {cpu: 1}}, {w: {cpu: 1}}]", `node name "w" is already used by spec.workers[0].w: spec.workers[1].w`},
		{"negative cpu", "masters: [{m: {cpu: -4}}]", "-4 is negative: spec.masters[0].m.cpu"},
		{"cpu is a word", "masters: [{m: {cpu: four}}]", "cpu"},
		{"memory is a word", "masters: [{m: {memory: lots}}]", `spec.masters[0].m.memory: Invalid value: "lots"`},
		{"node name is not a DNS label", "masters: [{Master_1: {cpu: 1}}]", `node name "Master_1" is not a DNS label: spec.masters[0]`},
		{"node name with a meaning in Ansible", "masters: [{localhost: {cpu: 1}}]", `node name "localhost" is reserved in Ansible inventories: spec.masters[0]`},
		{"user name with a meaning in Ansible", one + "ssh: {user: 'None'}", `user name "None" has a special meaning in Ansible inventories: spec.ssh.user`},
		{"master without requirements", "masters: [{m: null}]", `master "m" has no host requirements: spec.masters[0].m`},
		{"subnets overlap", one + "PodSubnet: 10.233.0.0/16", "pod subnet 10.233.0.0/16 and service subnet 10.233.0.0/18 overlap: spec.PodSubnet, spec.kubernetes.serviceSubnet"},
		{"network plugin", one + "kubernetes: {networkPlugin: weave}", `spec.kubernetes.networkPlugin: Unsupported value: "weave": supported values: "calico"`},
		{"misspelt check", one + "checks: {disable: [clocks]}", `spec.checks.disable[0]: Unsupported value: "clocks": supported values: "answer", "machine-id"`},
		{"check that each run makes", one + "checks: {disable: [swap, occupied]}", `spec.checks.disable[1]: Unsupported value: "occupied"`},
		{"same check twice", one + "checks: {disable: [swap, swap]}", `spec.checks.disable[1]: Duplicate value: "swap"`},
		{"misspelt plugin", one + "KUDPlugins: [mutlus]", `BPA ships no plugin "mutlus": spec.KUDPlugins[0]`},
		{"parameter of a plugin", one + "KUDPlugins: [multus]\nplugins: {multus: {parameters: {logLevel: loud}}}", "spec.plugins.multus.parameters.logLevel"},
		{"version of a plugin", one + "KUDPlugins: [ours]\nplugins: {ours: {version: v1/2}}", "spec.plugins.ours.version: Invalid value"},
		{"misspelt field", one + "podSubnet: 10.0.0.0/8", `unknown field "spec.podSubnet"`},
		{"misspelt field of a node", "masters: [{m: {cpus: 4}}]", `unknown field "spec.masters[0].m.cpus"`},
		{"MAC address by another name", "masters: [{m: {macAddress: '00:c6:14:04:61:b2'}}]", `unknown field "spec.masters[0].m.macAddress"`},
		{"memory by another name", one + "workers: [{w: {mem: 4Gi}}]", `unknown field "spec.workers[0].w.mem"`},
		{"misspelt requirement of a set", one + "nodeSets: [{name: s, count: {active: 1}, disk: []}]", `unknown field "spec.nodeSets[0].disk"`},
		{"misspelt field of a disk", "masters: [{m: {disks: [{size: 1Ti}]}}]", `unknown field "spec.masters[0].m.disks[0].size"`},
		{"no control plane", "nodeSets: [{name: w, count: {active: 3}}]", "the cluster has no masters and no node set with control plane nodes: spec.masters"},
		{"set without a count", one + "nodeSets: [{name: s}]", "the set has no nodes: spec.nodeSets[0].count"},
		{"set without nodes", one + "nodeSets: [{name: s, count: {active: 0}}]", "the set has no nodes: spec.nodeSets[0].count"},
		{"same set twice", one + "nodeSets: [{name: s, count: {active: 1}}, {name: s, count: {active: 1}}]", `spec.nodeSets[1]: Duplicate value: {"name":"s"}`},
		{"too many nodes", one + "nodeSets: [{name: s, count: {active: 1001}}]", "spec.nodeSets[0].count.active: Invalid value: 1001"},
		{"too many nodes of two sets", one + "kubernetes: {networkPlugin: calico}\nnodeSets: [{name: s, count: {active: 600}}, {name: r, count: {active: 500}}]",
			"1101 nodes are too many: spec.nodeSets"},
		{"node with a set's name", "masters: [{a-3: {cpu: 1}}]\nnodeSets: [{name: a, count: {active: 1}}]", `node name "a-3" is reserved for spec.nodeSets[0]: spec.masters[0]`},
		{"role", one + "nodeSets: [{name: s, role: master, count: {active: 1}}]", `spec.nodeSets[0].role: Unsupported value: "master"`},
		{"skew without a topology key", one + "nodeSets: [{name: s, count: {active: 1}, maxSkew: 2}]", "maxSkew has no effect without topologyKey: spec.nodeSets[0].maxSkew"},
		{"selector", "masters: [{m: {selector: {matchExpressions: [{key: a, operator: Gt, values: ['1']}]}}}]",
			`"Gt": not a valid selector operator: spec.masters[0].m.selector.matchExpressions[0].operator`},
		{"selector of everything", "masters: [{m: {selector: {}}}]", `master "m" has no host requirements: spec.masters[0].m`},
		{"architecture", "masters: [{m: {architecture: vax}}]", `"vax" is not a supported architecture: spec.masters[0].m.architecture`},
		{"two architectures for one host", "masters: [{m: {architecture: amd64}}]\nworkers: [{m: {architecture: arm64}}]",
			`"aarch64" contradicts spec.masters[0].m.architecture ("x86_64"): spec.workers[0].m.architecture`},
		{"type of disk", "masters: [{m: {disks: [{type: tape}]}}]", `spec.masters[0].m.disks[0].type: Invalid value: "tape"`},
		{"disk without unit", "masters: [{m: {disks: [{minSize: '960'}]}}]", `"960" is less than 1Mi: is a unit missing?: spec.masters[0].m.disks[0].minSize`},
		{"image without checksum", one + "osImage: {url: 'http://d/i.qcow2'}", "the image has no checksum: spec.osImage.checksum"},
		{"image of Ironic's own disk", one + "osImage: {url: 'file:///etc/shadow', format: live-iso}", "the URL's scheme is file: spec.osImage.url"},
		{"secret's name", one + "osImage: {url: 'oci://d/i', userData: u-$(name)}", `"u-$(name)" contains an unknown placeholder: spec.osImage.userData`},
		{"node subnet in the pod subnet", one + "access: {subnets: [10.233.64.0/20]}", "the nodes' subnet 10.233.64.0/20 and the pod subnet 10.233.64.0/18 overlap: spec.access.subnets[0]"},
		{"three subnets", one + "access: {subnets: [10.60.0.0/24, 'fd00::/64', 10.61.0.0/24]}", "spec.access.subnets: Too many: 3: must have at most 2 items"},
		{"depot without TLS", one + "depot: {url: 'http://10.60.0.1:5000'}", `"http://10.60.0.1:5000" is plain HTTP`},
		{"two nodes in one item", "masters: [{m: {cpu: 1}, n: {cpu: 1}}]", "spec.masters[0]: Too many: 2: must have at most 1 item"},
		{"port", one + "ssh: {port: 99999}", "spec.ssh.port: Invalid value: 99999"},
		{"version", one + "kubernetes: {version: '1.35'}", `spec.kubernetes.version: Invalid value: "1.35"`},
		{"subnet", one + "PodSubnet: ten", `spec.PodSubnet: Invalid value: "ten"`},
		{"variable of the connection", one + "kubespray: {vars: {ansible_host: 10.0.0.1}}", "ansible_host cannot be set here: spec.kubespray.vars.ansible_host"},
		{"policy", one + "replacePolicy: Always", `spec.replacePolicy: Unsupported value: "Always"`},
		{"priority", one + "priority: 1001", "spec.priority: Invalid value: 1001"},
		{"time to drain", one + "timeouts: {drain: 0s}", "0s is shorter than 1s: spec.timeouts.drain"},
		{"variables are a list", one + "kubespray: {vars: [a]}", "spec.kubespray.vars"},
	} {
		t.Run(r.name, func(t *testing.T) {
			out, err := kubectl(t, manifest("bad", r.spec), "apply", "-f", "-")
			if err == nil {
				t.Fatalf("accepted: %s", out)
			}
			if !strings.Contains(out, r.want) {
				t.Errorf("output of kubectl:\n%s\nwant it to contain\n%s", out, r.want)
			}
		})
	}
	if out, err := kubectl(t, "", "get", "provisioning", "bad"); err == nil {
		t.Errorf("a rejected object exists: %s", out)
	}
}

func TestRefusedChangeLeavesTheObject(t *testing.T) {
	must(t, manifest("change", one), "apply", "-f", "-")
	if out, err := kubectl(t, manifest("change", "masters: [{master-1: {cpu: -1}}]"), "apply", "-f", "-"); err == nil {
		t.Fatalf("accepted: %s", out)
	}
	if cpu := get(t, "change").Spec.Masters[0]["master-1"].CPU; cpu != 4 {
		t.Errorf("cpu is %d, want 4", cpu)
	}
}

func TestWarningsReachTheUser(t *testing.T) {
	out := must(t, manifest("even", "masters: [{a: {cpu: 1}}, {b: {cpu: 1}}]\nKUDPlugins: [qat, ours]\nplugins: {ours: {version: v1}}"), "apply", "-f", "-")
	for _, want := range []string{
		"Warning: 2 masters tolerate no more failures than 1, because etcd needs a majority of them: add one or remove one: spec.masters",
		`Warning: BPA ships no plugin "ours": the depot must have it as plugins/ours:v1`,
		"Warning: plugin nfd is installed too, because qat needs it: spec.KUDPlugins",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("output of kubectl:\n%s\nwant it to contain\n%s", out, want)
		}
	}
}

// TestSamplesApply checks that every sample applies unchanged, with client-side and server-side
// apply. Applying it again does not change the spec, so the generation stays 1. Neither way of apply then finds a
// difference between the file and the object.
func TestSamplesApply(t *testing.T) {
	must(t, "", "apply", "-f", "../../config/samples/backup.yaml")
	files, err := filepath.Glob("../../config/samples/[^b]*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	for _, file := range files {
		if strings.Contains(filepath.Base(file), "software") { // TestSoftwaresAreChecked applies them
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			must(t, "", "apply", "--dry-run=server", "--server-side", "-f", file)
			out := must(t, "", "apply", "-f", file)
			if warns := strings.Contains(out, "Warning: plugin emco is skipped"); warns != strings.Contains(file, "icn-plugins-pod-subnet") {
				t.Errorf("a warning for the retired plugin emco: %t: %s", warns, out)
			}
			// kubectl drops "- master-1:", which is null, so it sends a list without the name; the webhook adds the name again.
			out = must(t, "", "apply", "-f", file)
			if same := strings.Contains(out, " unchanged"); same == strings.Contains(file, "icn-master-is-worker-bare") {
				t.Errorf("applied again: %s", out)
			}
			if out, err := kubectl(t, "", "diff", "-f", file); err != nil {
				t.Errorf("client-side apply finds a difference: %v\n%s", err, out)
			}
			must(t, "", "apply", "--server-side", "--force-conflicts", "--field-manager=gitops", "-f", file)
			if out, err := kubectl(t, "", "diff", "--server-side", "--force-conflicts", "--field-manager=gitops", "-f", file); err != nil {
				t.Errorf("server-side apply finds a difference: %v\n%s", err, out)
			}
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var written v1alpha1.Provisioning
			if err := yaml.UnmarshalStrict(raw, &written); err != nil {
				t.Fatal(err)
			}
			written.SetDefaults(context.Background())
			got := get(t, written.Name)
			if diff := cmp.Diff(written.Spec, got.Normalized().Spec); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			if got.Generation != 1 {
				t.Errorf("generation is %d, want 1", got.Generation)
			}
		})
	}
}

func TestColumnsAndShortName(t *testing.T) {
	must(t, manifest("columns", one), "apply", "-f", "-")
	status := `{"status": {"nodesReady": "2/3", "kubernetesVersion": "1.35.4", "apiEndpoint": "https://10.60.0.11:6443", "progress": {"percent": 64, "summary": "64% kubespray"},
	  "run": {"name": "columns-install-1", "operation": "install", "attempt": 1},
	  "failure": {"reason": "HostUnreachable", "message": "no answer from 10.60.0.12"},
	  "conditions": [{"type": "Ready", "status": "Unknown", "reason": "Running", "message": "installing"}]}}`
	must(t, "", "patch", "bpa", "columns", "--subresource=status", "--type=merge", "-p", status)

	lines := strings.Split(strings.TrimSpace(must(t, "", "get", "bpa", "columns", "-o", "wide")), "\n")
	if len(lines) != 2 {
		t.Fatalf("got lines %q, want a heading and one line", lines)
	}
	if diff := cmp.Diff([]string{"NAME", "READY", "REASON", "NODES", "VERSION", "PROGRESS", "ENDPOINT", "RUN", "MESSAGE", "FAILURE", "AGE"}, strings.Fields(lines[0])); diff != "" {
		t.Errorf("heading (-want +got):\n%s", diff)
	}
	for _, want := range []string{"Unknown", "Running", "2/3", "1.35.4", "64% kubespray", "https://10.60.0.11:6443", "columns-install-1", "installing", "no answer from 10.60.0.12"} {
		if !strings.Contains(lines[1], want) {
			t.Errorf("line %q does not contain %q", lines[1], want)
		}
	}
	must(t, manifest("columns", one+"paused: true"), "apply", "-f", "-")
	if got := get(t, "columns"); got.Status.APIEndpoint == "" || !got.Spec.Paused {
		t.Errorf("apply of the spec changed the status, or did not change the spec: %+v", got.Status)
	}
}

func TestKubectlExplains(t *testing.T) {
	for field, want := range map[string]string{
		"PodSubnet":                     "range of pod addresses",
		"masters.disks.type":            "HDD, SSD or NVME",
		"workers.firmware.date":         "date of the BIOS",
		"nodeSets.count.standby":        "claimed and labelled",
		"nodeSets.selector.matchLabels": "key,value",
		"osImage.metaData":              "metadata",
	} {
		if out := must(t, "", "explain", "provisioning.spec."+field); !strings.Contains(out, want) {
			t.Errorf("output of kubectl explain %s:\n%s\nwant it to contain %q", field, out, want)
		}
	}
}

// TestNodesAreStored checks that a node can be null, as in ICN's samples, that a node or a node set gets its
// defaults, and that disk types can be in lower case.
func TestNodesAreStored(t *testing.T) {
	spec := "masters: [{m: {cpu: 1, disks: [{type: nvme}]}}]\nworkers: [{m: null}]\nnodeSets: [{name: s, count: {active: 2}, topologyKey: rack, nics: [{sriov: true}]}]"
	must(t, manifest("nodes", spec), "apply", "--server-side", "-f", "-")
	got := get(t, "nodes").Normalized().Spec // the defaults in lists are not stored
	hardware := v1alpha1.HostRequirements{CPU: 1, Disks: []v1alpha1.DiskRequirement{{Count: 1, Type: "NVME"}}}
	want := v1alpha1.ProvisioningSpec{
		Masters: []map[string]v1alpha1.Master{{"m": {HostRequirements: hardware}}},
		Workers: []map[string]v1alpha1.Worker{{"m": {}}},
		NodeSets: []v1alpha1.NodeSet{{
			Name: "s", Role: "worker", Count: v1alpha1.NodeCount{Active: 2}, TopologyKey: "rack", MaxSkew: 1, WhenUnsatisfiable: "DoNotSchedule",
			HostRequirements: v1alpha1.HostRequirements{NICs: []v1alpha1.NICRequirement{{Count: 1, SRIOV: true}}},
		}},
	}
	if diff := cmp.Diff(want, v1alpha1.ProvisioningSpec{Masters: got.Masters, Workers: got.Workers, NodeSets: got.NodeSets}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOnlyApplyNeedsTheWebhook checks that no object can be applied without validation while the
// webhook is unavailable. The controller can still write the status and remove finalizers, and
// users can delete objects.
func TestOnlyApplyNeedsTheWebhook(t *testing.T) {
	must(t, manifest("orphan", one), "apply", "-f", "-")
	must(t, "", "patch", "bpa", "orphan", "--type=merge", "-p", `{"metadata": {"finalizers": ["test.bpa.akraino.org/held"]}}`)
	shared.webhook.stop()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := shared.webhook.start(ctx); err != nil {
			t.Error(err)
		}
	})

	if out, err := kubectl(t, manifest("unchecked", one), "apply", "-f", "-"); err == nil || !strings.Contains(out, "failed calling webhook") {
		t.Errorf("apply without the webhook: %v, want it rejected: %s", err, out)
	}
	must(t, "", "patch", "bpa", "orphan", "--subresource=status", "--type=merge", "-p", `{"status": {"apiEndpoint": "https://10.60.0.11:6443"}}`)
	must(t, "", "delete", "bpa", "orphan", "--wait=false")
	must(t, "", "patch", "bpa", "orphan", "--type=merge", "-p", `{"metadata": {"finalizers": null}}`)
	must(t, "", "wait", "--for=delete", "bpa/orphan", "--timeout=20s")
}
