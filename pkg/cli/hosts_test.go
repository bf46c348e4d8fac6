package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// bareMetal returns a usable host with the number of CPUs.
func bareMetal(n, cpus int, changes ...func(*metal3.BareMetalHost)) *metal3.BareMetalHost {
	h := &metal3.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("host-%d", n), Namespace: "site-a", UID: "u"},
		Status: metal3.BareMetalHostStatus{
			Provisioning: metal3.ProvisionStatus{State: metal3.StateExternallyProvisioned},
			PoweredOn:    true, OperationalStatus: metal3.OperationalStatusOK,
			HardwareDetails: &metal3.HardwareDetails{
				SystemVendor: metal3.HardwareSystemVendor{Manufacturer: "Dell Inc."},
				CPU:          metal3.CPU{Count: cpus, Arch: "x86_64"}, RAMMebibytes: 64 << 10,
				NIC: []metal3.NIC{{Name: "eth0", MAC: fmt.Sprintf("02:00:00:00:00:%02x", n), IP: fmt.Sprintf("10.0.0.%d", n)}},
			},
		},
	}
	h.Spec.ExternallyProvisioned = true
	for _, change := range changes {
		change(h)
	}
	return h
}

func heldBy(provisioning, node string) func(*metal3.BareMetalHost) {
	return func(h *metal3.BareMetalHost) {
		h.Spec.ConsumerRef = &corev1.ObjectReference{
			APIVersion: "bpa.akraino.org/v1alpha1", Kind: "Provisioning", Namespace: "site-a", Name: provisioning,
		}
		h.Labels = map[string]string{contract.LabelCluster: provisioning, contract.LabelNode: node, "role.bpa.akraino.org/worker": "true", "rack": "r1"}
	}
}

func sickHost(h *metal3.BareMetalHost) {
	h.Status.OperationalStatus, h.Status.ErrorType, h.Status.ErrorMessage = metal3.OperationalStatusError, metal3.PowerManagementError, "BMC is away\x1b"
}

// wanting returns a Provisioning with master-1 (8 CPUs), worker-1 (pinned by its MAC address), and
// a set of one large worker.
func wanting(name string) *v1alpha1.Provisioning {
	p := provisioning(name)
	p.TypeMeta = metav1.TypeMeta{APIVersion: "bpa.akraino.org/v1alpha1", Kind: "Provisioning"}
	mac := v1alpha1.MAC("02:00:00:00:00:02")
	p.Spec.Masters = []map[string]v1alpha1.Master{{"master-1": {HostRequirements: v1alpha1.HostRequirements{CPU: 8}}}}
	p.Spec.Workers = []map[string]v1alpha1.Worker{{"worker-1": {MACAddress: &mac}}}
	p.Spec.NodeSets = []v1alpha1.NodeSet{{Name: "large", Count: v1alpha1.NodeCount{Active: 1}, HostRequirements: v1alpha1.HostRequirements{CPU: 32}}}
	return p
}

func TestHosts(t *testing.T) {
	w := newTerminal(t, provisioning("edge-2"), bareMetal(1, 8), bareMetal(2, 16, heldBy("edge-2", "worker-1")),
		bareMetal(3, 32, heldBy("edge-9", "worker-2"), sickHost), bareMetal(4, 64, func(h *metal3.BareMetalHost) {
			h.Spec.ExternallyProvisioned, h.Status = false, metal3.BareMetalHostStatus{Provisioning: metal3.ProvisionStatus{State: metal3.StateInspecting}}
		}), usedHost(5), usedHost(6, heldBy("edge-2", "worker-3")), usedHost(7, isAvailable))
	code := w.run(t.Context(), "hosts")
	w.expect(code, codeDone)
	golden(t, "testdata/hosts/list.txt", w.text())
	if strings.Contains(w.text(), "\x1b") {
		t.Error("an escape sequence of the BMC's message reaches the terminal")
	}
}

func TestHostsForAProvisioning(t *testing.T) {
	all := []*metal3.BareMetalHost{bareMetal(1, 8), bareMetal(2, 16), bareMetal(3, 32), bareMetal(4, 4), bareMetal(5, 64, sickHost)}
	w := newTerminal(t, wanting("edge-1"), all[0], all[1], all[2], all[3], all[4])
	w.expect(w.run(t.Context(), "hosts", "--for", "edge-1"), codeDone)
	golden(t, "testdata/hosts/fits.txt", w.text())

	w = newTerminal(t, wanting("edge-1"), all[0], all[1], all[3], all[4])
	w.expect(w.run(t.Context(), "hosts", "--for", "edge-1"), codeNotYet, "no assignment exists for edge-1")
	golden(t, "testdata/hosts/nofit.txt", w.text())
}

// A host that is powered off fits, but a host that is powered on is preferred.
func TestHostsForPrefersHostsThatAreOn(t *testing.T) {
	off := func(h *metal3.BareMetalHost) { h.Status.PoweredOn = false }
	w := newTerminal(t, wanting("edge-1"), bareMetal(1, 8, off), bareMetal(2, 16), bareMetal(3, 32), bareMetal(4, 16))
	w.expect(w.run(t.Context(), "hosts", "--for", "edge-1"), codeDone)
	golden(t, "testdata/hosts/powered-off.txt", w.text())
}

// An uploaded OS image is in the depot. If the Provisioning names no depot, the dry run uses the
// depot of the site's settings.
func TestHostsForAnUploadedImage(t *testing.T) {
	p := wanting("edge-1")
	p.Spec.NodeSets, p.Spec.OSImage = nil, &v1alpha1.OSImageSpec{Upload: "c1/edge-1/image.raw"}
	config := func(data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}, Data: data}
	}
	for name, test := range map[string]struct {
		config *corev1.ConfigMap
		depot  string // spec.depot.url of the Provisioning
		code   int
		says   string
	}{
		"the site has a depot":       {config(map[string]string{"depot-url": "https://10.60.0.1:5443"}), "", codeDone, "master-1"},
		"the site has none":          {config(map[string]string{"depot-url": "internet"}), "", codeFailed, "no depot is configured that can hold c1/edge-1/image.raw"},
		"the settings are wrong":     {config(map[string]string{"depot-uri": "https://10.60.0.1:5443"}), "", codeFailed, "kubectl patch configmap config-bpa"},
		"the settings are not there": {config(nil), "", codeFailed, "setting depot-url: it is missing"},
		"the Provisioning has one":   {config(map[string]string{"depot-url": "internet"}), "https://10.60.0.1:5443", codeDone, "master-1"},
	} {
		t.Run(name, func(t *testing.T) {
			wanted := p.DeepCopy()
			wanted.Spec.Depot.URL = test.depot
			objects := []client.Object{wanted, bareMetal(1, 8), bareMetal(2, 16)}
			if test.config != nil {
				objects = append(objects, test.config)
			}
			w := newTerminal(t, objects...)
			w.expect(w.run(t.Context(), "hosts", "--for", "edge-1"), test.code, test.says)
		})
	}
}

func TestHostsAsJSONForAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "edge-1.yaml")
	manifest := "apiVersion: bpa.akraino.org/v1alpha1\nkind: Provisioning\nmetadata: {name: edge-1}\nspec:\n  masters: [{master-1: {cpu: 8}}]\n"
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(manifest)
	w := newTerminal(t, bareMetal(1, 8), bareMetal(2, 4))
	w.expect(w.run(t.Context(), "hosts", "-f", file, "-o", "json"), codeDone)
	var view struct {
		Hosts []struct {
			Name string
			CPUs int
		}
		DryRun struct {
			Assignment []struct{ Node, Host string }
			Hosts      []struct {
				Host string
				Why  map[string]string
			}
		}
	}
	if err := json.Unmarshal([]byte(w.text()), &view); err != nil {
		t.Fatalf("%v in:\n%s", err, w.text())
	}
	if len(view.Hosts) != 2 || view.Hosts[0].CPUs != 8 || len(view.DryRun.Assignment) != 1 || view.DryRun.Assignment[0].Host != "host-1" ||
		view.DryRun.Hosts[1].Why["master-1"] != "below 8 CPUs" {
		t.Errorf("view %+v", view)
	}
	for text, want := range map[string]string{
		manifest + "  colour: red\n":                                 "unknown field",
		strings.Replace(manifest, "cpu: 8", "cpu: -8", 1):            "the webhook would reject",
		strings.Replace(manifest, "Provisioning", "Deployment", 1):   `the kind "Deployment"`,
		strings.Replace(manifest, "{name", "{namespace: x, name", 1): "add -n x",
	} {
		write(text)
		w := newTerminal(t, bareMetal(1, 8))
		w.expect(w.run(t.Context(), "hosts", "-f", file), codeFailed, want)
	}
}

func TestHostsOfNone(t *testing.T) {
	w := newTerminal(t)
	w.expect(w.run(t.Context(), "hosts"), codeDone, "There is no BareMetalHost in namespace site-a")
}

// TestUndoing checks that the patch removes the fields of a claim, restores the replaced values,
// and changes nothing else.
func TestUndoing(t *testing.T) {
	imaged := func(h *metal3.BareMetalHost) {
		h.Annotations = map[string]string{"other": "stays"}
		h.Spec.NetworkData = &corev1.SecretReference{Name: "the site's"}
		imaging.Put(h, contract.OSImage{URL: "http://site/os.raw", UserData: "u", NetworkData: "n"}, "a")
	}
	for want, host := range map[string]*metal3.BareMetalHost{
		`{"metadata":{"labels":{"bpa.akraino.org/cluster":null,"bpa.akraino.org/node":null,"role.bpa.akraino.org/worker":null}},"spec":{"consumerRef":null}}`: bareMetal(1, 8, heldBy("edge-9", "a")),
		`{"metadata":{"annotations":{"bpa.akraino.org/os-image":null,"bpa.akraino.org/os-image-before":null}},` +
			`"spec":{"image":null,"networkData":{"name":"the site\u0027s","namespace":null},"online":false,"userData":null}}`: bareMetal(1, 8, imaged),
	} {
		if got := undoing(host); got != want {
			t.Errorf("undoing = %s\nwant %s", got, want)
		}
	}
}

// TestStatusShowsHosts checks that the page has the problem of a host, and that standby and lost
// hosts are not counted as nodes to wait for.
func TestStatusShowsHosts(t *testing.T) {
	p := provisioning("edge-1")
	isReady(p)
	p.Status.MarkHostsHealthy(corev1.ConditionFalse, "HostProblems", "w-2: host-3 is in quarantine (disk)")
	p.Status.Nodes = []v1alpha1.NodeStatus{
		{Name: "m-1", Host: "host-1", State: v1alpha1.NodeReady}, {Name: "w-1", Host: "host-2", State: v1alpha1.NodeInstalling},
		{Name: "w-2", Host: "host-3", State: v1alpha1.NodeLost, Problem: "in quarantine (disk)"}, {Name: "w-3", Host: "host-4", State: v1alpha1.NodeStandby},
	}
	if ready, all := countNodes(p); ready != 1 || all != 2 {
		t.Errorf("%d of %d nodes are ready, want 1 of 2", ready, all)
	}
	w := newTerminal(t, p)
	w.expect(w.run(t.Context(), "status", "edge-1"), codeDone, "PROBLEM", "Lost        in quarantine (disk)", "Standby", "HostsHealthy", "w-2: host-3 is in quarantine (disk)")
}

// TestStatusShowsTheUpgrade checks that the page says how far an upgrade is, and why it has stopped.
func TestStatusShowsTheUpgrade(t *testing.T) {
	for want, u := range map[string]*v1alpha1.UpgradeStatus{
		"upgrade   1.33.5 to 1.35.4: 2 of 3 nodes have 1.34.7\n  versions  1.34.7: m, v; 1.33.5: w. It waits: for w\n": {
			From: "1.33.5", To: "1.35.4", Hop: "1.34.7", Newest: "1.34.7", Done: 2, Total: 3, Message: "1.34.7: m, v; 1.33.5: w. It waits: for w"},
		"settings  1 of 3 nodes have the requested settings\n":             {From: "1.35.4", To: "1.35.4", Hop: "1.35.4", Newest: "1.35.4", Done: 1, Total: 3},
		"versions  1.35.4: m; 1.34.3: w. It does not go on: a downgrade\n": {From: "1.34.3", To: "1.34.3", Newest: "1.35.4", Total: 2, Message: "1.35.4: m; 1.34.3: w. It does not go on: a downgrade"},
	} {
		p := provisioning("edge-1")
		isReady(p)
		p.Status.Upgrade = u
		w := newTerminal(t, p)
		w.expect(w.run(t.Context(), "status", "edge-1"), codeDone, want)
	}
}
