package hostfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
)

const before = `nodes:
- name: node1
  bmc: {address: "ipmi://10.0.0.1", username: admin, password: old}
  bootMACAddress: 02:00:00:00:00:01
  labels: {rack: r1, gone: "yes"}
  networkData: {links: []}
`

// TestCompare changes a row after its import, for hosts in several states.
func TestCompare(t *testing.T) {
	claimed := func(h *metal3.BareMetalHost) {
		h.Status.Provisioning.State, h.Spec.ConsumerRef = metal3.StateProvisioned, &corev1.ObjectReference{Name: "edge-1"}
	}
	available := func(h *metal3.BareMetalHost) { h.Status.Provisioning.State = metal3.StateAvailable }
	registering := func(h *metal3.BareMetalHost) { h.Status.Provisioning.State = metal3.StateRegistering }
	for _, tt := range []struct {
		name     string
		host     func(*metal3.BareMetalHost)
		old, now string // parts of the file
		updated  string
		kept     string
	}{
		{"credentials", claimed, "old", "new", "credentials", ""},
		{"label", claimed, "rack: r1", "rack: r2", "label rack", ""},
		{"labels gone and new", claimed, `gone: "yes"`, "zone: a", "label zone, label gone", ""},
		{"label of a person", func(h *metal3.BareMetalHost) { h.Labels["zone"] = "b" }, `gone: "yes"`, "zone: a", "label gone", "label zone stays b: no import has set it"},
		{"label of a person with the value", func(h *metal3.BareMetalHost) { h.Labels["zone"] = "a" }, `gone: "yes"`, "zone: a", "label gone", ""},
		{"label that a person has removed", func(h *metal3.BareMetalHost) { delete(h.Labels, "rack") }, "", "", "label rack", ""},
		{"BMC of a new host", registering, "10.0.0.1", "10.0.0.2", "bmc.address", ""},
		{"BMC of an available host", available, "10.0.0.1", "10.0.0.2", "", "bmc.address stays: the host is available, and Metal3 changes the address only while it registers a host"},
		{"BMC of a claimed host", claimed, "10.0.0.1", "10.0.0.2", "", "bmc.address stays: the host is claimed by edge-1"},
		{"MAC of a claimed host", claimed, "00:01", "00:02", "", "bootMACAddress stays: Metal3 never changes it, and the host is claimed by edge-1"},
		{"MAC of a free host", available, "00:01", "00:02", "", "bootMACAddress stays: Metal3 never changes it. Delete the host and import it again"},
		{"MAC of a host without one", func(h *metal3.BareMetalHost) { h.Spec.BootMACAddress = "" }, "", "", "bootMACAddress", ""},
		{"MAC that the file leaves out", available, "  bootMACAddress: 02:00:00:00:00:01\n", "", "", ""},
		{"boot mode of a free host", available, "  labels", "  bootMode: legacy\n  labels", "bootMode", ""},
		{"boot mode of a claimed host", claimed, "  labels", "  bootMode: legacy\n  labels", "", "bootMode stays: the host is claimed by edge-1"},
		{"hints of a provisioned host", func(h *metal3.BareMetalHost) { h.Status.Provisioning.State = metal3.StateProvisioned }, "  labels", "  rootDeviceHints: {wwn: x}\n  labels", "", "rootDeviceHints stays: the host is provisioned"},
		{"hints of a host with an image", func(h *metal3.BareMetalHost) { available(h); h.Spec.Image = &metal3.Image{} }, "  labels", "  rootDeviceHints: {wwn: x}\n  labels", "", "rootDeviceHints stays: the host is available"},
		{"network data of a free host", available, "{links: []}", "{links: [{id: a}]}", "networkData", ""},
		{"network data of a host with a cluster", func(h *metal3.BareMetalHost) { h.Annotations[contract.AnnotationUsedBy] = "site-a/edge-1" }, "{links: []}", "{links: [{id: a}]}", "", "networkData stays: the host is used by site-a/edge-1"},
		{"network data that the file leaves out", available, "  networkData: {links: []}\n", "", "", ""},
		{"network data of the ramdisk", available, "  labels", "  preprovisioningNetworkData: {links: []}\n  labels", "preprovisioningNetworkData", ""},
		{"power", available, "  labels", "  online: false\n  labels", "", "online stays: an import sets it only in a new host"},
		{"power as it is", available, "  labels", "  online: true\n  labels", "", ""},
		{"installed by others", available, "  labels", "  externallyProvisioned: true\n  labels", "", "externallyProvisioned stays: an import"},
		{"certificate", available, `"ipmi://10.0.0.1"`, `"ipmi://10.0.0.1", disableCertificateVerification: true`, "bmc.disableCertificateVerification", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stored := asSite(parsed(t, "f.yaml", before))
			tt.host(&stored.Hosts[0])
			now := parsed(t, "f.yaml", strings.Replace(before, tt.old, tt.now, 1))
			if findings := Validate(now.Rows, namespace, stored); len(findings) > 0 {
				t.Fatal(findings)
			}
			c := Compare(Render(now.Rows[0], namespace), stored)
			if diff := cmp.Diff(tt.updated, strings.Join(c.Updated, ", ")); diff != "" {
				t.Errorf("updated (-want +got):\n%s", diff)
			}
			if kept := strings.Join(c.Kept, ", "); kept != tt.kept && (tt.kept == "" || !strings.HasPrefix(kept, tt.kept)) {
				t.Errorf("kept %q, want %q", kept, tt.kept)
			}
			stored.after(c)
			if again := Compare(Render(now.Rows[0], namespace), stored); again.HostChanges() || len(again.Write) > 0 || strings.Join(again.Kept, ", ") != strings.Join(c.Kept, ", ") {
				t.Errorf("the next import changes %v, and keeps %v after %v", again.Updated, again.Kept, c.Kept)
			}
		})
	}
}

// after makes the change in the site.
func (s *Site) after(c Change) {
	s.Hosts[0] = *c.Host
	for _, w := range c.Write {
		s.Secrets[w.Name] = w
	}
}

// TestAHostThatSomebodyHasMade: a host without marks of an import is completed, and keeps what it has.
func TestAHostThatSomebodyHasMade(t *testing.T) {
	f := parsed(t, "f.yaml", before)
	own := Render(f.Rows[0], namespace).Host
	own.Annotations, own.Labels, own.Spec.BMC.CredentialsName = nil, nil, "mine"
	c := Compare(Render(f.Rows[0], namespace), Site{Hosts: []metal3.BareMetalHost{*own}})
	if got := strings.Join(c.Updated, ", "); got != "credentials, networkData, bmc.credentialsName, label gone, label rack" || c.Host.Annotations[contract.AnnotationImportedLabels] != "gone,rack" {
		t.Errorf("updated %s, annotations %v", got, c.Host.Annotations)
	}
}

// TestPasswordsAreHidden: also in base64, as in a Secret that a webhook quotes.
func TestPasswordsAreHidden(t *testing.T) {
	r := &Row{Password: secret}
	if got := r.Hide("denied: " + secret + " czNjcjN0LXdvcmQ="); got != "denied: *** ***" {
		t.Error(got)
	}
	if got := (&Row{Password: "a"}).Hide("a text"); got != "a text" {
		t.Error(got)
	}
}
