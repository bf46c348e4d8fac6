package claim

import (
	"context"
	"errors"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
)

// mark marks a host as used by edge-1 with this UID.
func mark(uid string) func(*metal3.BareMetalHost) {
	return func(h *metal3.BareMetalHost) {
		h.Annotations = map[string]string{contract.AnnotationUsedBy: contract.User{Namespace: namespace, Name: "edge-1", UID: uid}.String()}
	}
}

// TestClaimOfUsedHosts checks that a host with the cluster of a deleted Provisioning is not claimed,
// even by a Provisioning of the same name, and that the Provisioning's own cluster is no obstacle.
func TestClaimOfUsedHosts(t *testing.T) {
	c := site(2, interceptor.Funcs{})
	edit(t, c, "host-1", mark("p0"))
	if _, err := Make(ctx, c, wants("a")); err != nil {
		t.Fatal(err)
	}
	expectHolders(t, c, map[string]string{"host-2": "edge-1/a"})
	var nofit *assign.NoFit
	if _, err := Make(ctx, c, wants("a", "b")); !errors.As(err, &nofit) {
		t.Fatalf("Make = %v, want a NoFit", err)
	}
	edit(t, c, "host-1", mark("p1"))
	if _, err := Make(ctx, c, wants("a", "b")); err != nil {
		t.Fatal(err)
	}
	expectHolders(t, c, map[string]string{"host-1": "edge-1/b", "host-2": "edge-1/a"})
}

// TestHostIsMarkedDuringTheClaim checks that a host is not claimed if it gets the mark of another
// cluster after it was chosen. The mark of the own cluster does not disturb the claim.
func TestHostIsMarkedDuringTheClaim(t *testing.T) {
	for uid, want := range map[string]string{"p0": "host-2", "p1": "host-1"} {
		marked, writes := false, 0
		c := site(2, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
				writes++
				if !marked && obj.GetName() == "host-1" {
					marked = true
					edit(t, c, "host-1", mark(uid))
				}
				return c.Patch(ctx, obj, p, opts...)
			},
		})
		if _, err := Make(ctx, c, wants("a")); err != nil {
			t.Fatal(err)
		}
		if !marked || writes != 2 {
			t.Errorf("the host was marked: %t, with %d writes", marked, writes)
		}
		expectHolders(t, c, map[string]string{want: "edge-1/a"})
	}
}

// TestImageRemovesTheMark checks that a host with the cluster of a deleted Provisioning is claimed
// if Metal3 will install an operating system on it, and that the write of the image removes the mark.
func TestImageRemovesTheMark(t *testing.T) {
	c, request := bareSite(t, 1, interceptor.Funcs{}, "a-user"), wantsImage("a")
	edit(t, c, "host-1", mark("p0"))
	if _, err := Make(ctx, c, request); err != nil {
		t.Fatal(err)
	}
	changed, err := Image(ctx, c, hosts.OwnerOf(request), *request.OSImage, map[string]string{"host-1": "a"})
	if err != nil || len(changed) != 1 {
		t.Fatalf("Image = %v, %v", changed, err)
	}
	h := get(t, c, "host-1")
	if _, marked := h.Annotations[contract.AnnotationUsedBy]; marked || h.Spec.Image == nil {
		t.Errorf("annotations %v with image %v", h.Annotations, h.Spec.Image)
	}
}

// TestWipedHostsAreNotClaimed checks that a host which Metal3 has wiped under a node of the cluster, and
// which a user has released, is not claimed for another node as long as it has the mark.
func TestWipedHostsAreNotClaimed(t *testing.T) {
	c, request := bareSite(t, 2, interceptor.Funcs{}, "a-user"), wantsImage("a")
	edit(t, c, "host-1", mark(request.UID))
	if _, err := Make(ctx, c, request); err != nil {
		t.Fatal(err)
	}
	expectHolders(t, c, map[string]string{"host-2": "edge-1/a"})
}
