package cli

import (
	"strings"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// TestHostsOfTenants: hosts of several namespaces' Provisionings are in one namespace. The holder is looked up in its own
// namespace: a namesake beside the hosts, or in a third namespace, is another Provisioning.
func TestHostsOfTenants(t *testing.T) {
	of := func(tenant string) func(*metal3.BareMetalHost) {
		return func(h *metal3.BareMetalHost) {
			heldBy("edge-1", "w")(h)
			h.Spec.ConsumerRef.Namespace = tenant
		}
	}
	there := provisioning("edge-1")
	there.Namespace, there.Spec.HostNamespace = "tenant-a", "site-a"
	elsewhere := provisioning("edge-1")
	elsewhere.Namespace = "tenant-b" // with hosts of its own namespace
	w := newTerminal(t, provisioning("edge-1"), there, elsewhere, bareMetal(1, 8, of("site-a")), bareMetal(2, 8, of("tenant-a")), bareMetal(3, 8, of("tenant-b")), bareMetal(4, 8, of("tenant-c")))
	for _, args := range [][]string{{"hosts"}, {"hosts", "-A"}} {
		w.expect(w.run(t.Context(), args...), codeDone)
		text := w.text()
		for _, want := range []string{"Provisioning edge-1  ", "Provisioning edge-1 of tenant-a  ", "Provisioning edge-1 of tenant-b (does not exist)", "Provisioning edge-1 of tenant-c (does not exist)",
			"Hosts of Provisioning edge-1 of tenant-c, which does not exist: 1.", "patch baremetalhost host-4", "patch baremetalhost host-3"} {
			if !strings.Contains(text, want) {
				t.Errorf("%v lacks %q:\n%s", args, want, text)
			}
		}
		for _, host := range []string{"patch baremetalhost host-1", "patch baremetalhost host-2"} {
			if strings.Contains(text, host) {
				t.Errorf("%v: the command takes a host from its holder:\n%s", args, text)
			}
		}
	}
}

// TestDryRunElsewhere: the dry run is about the hosts that the Provisioning can claim.
func TestDryRunElsewhere(t *testing.T) {
	p := wanting("edge-3")
	p.Spec.Workers, p.Spec.NodeSets, p.Spec.HostNamespace = nil, nil, "pool"
	host := bareMetal(1, 8)
	host.Namespace = "pool"
	w := newTerminal(t, p, host)
	w.expect(w.run(t.Context(), "hosts", "--for", "edge-3"), codeDone)
	if text := w.text(); !strings.Contains(text, "master-1") || !strings.Contains(text, "host-1") {
		t.Errorf("the dry run:\n%s", text)
	}
}
