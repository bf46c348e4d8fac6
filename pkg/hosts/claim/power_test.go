package claim

import (
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// TestClaimLeavesHostThatIsPoweredOff checks that a claim replaces a held host that was powered
// off, because nothing can be installed on it. If there is no other host, the claim keeps the host.
// After a replacement, the claim does not return to the first host when it is powered on again.
func TestClaimLeavesHostThatIsPoweredOff(t *testing.T) {
	c := site(2, interceptor.Funcs{})
	claimed := func(want map[string]string) {
		t.Helper()
		if _, err := Make(ctx, c, wants("a")); err != nil {
			t.Fatal(err)
		}
		expectHolders(t, c, want)
	}
	power := func(name string, on bool) {
		t.Helper()
		h := &metal3.BareMetalHost{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, h); err != nil {
			t.Fatal(err)
		}
		h.Status.OperationalStatus, h.Status.PoweredOn = metal3.OperationalStatusOK, on
		if err := c.Status().Update(ctx, h); err != nil {
			t.Fatal(err)
		}
	}
	claimed(map[string]string{"host-1": "edge-1/a"})
	power("host-1", false)
	claimed(map[string]string{"host-2": "edge-1/a"})
	power("host-2", false)
	claimed(map[string]string{"host-2": "edge-1/a"})
	power("host-2", true)
	power("host-1", true)
	claimed(map[string]string{"host-2": "edge-1/a"})
}
