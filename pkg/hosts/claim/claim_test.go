package claim

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
)

const namespace = "site"

var ctx = context.Background()

// host returns a usable host with 8 CPUs and 16Gi.
func host(n int) *metal3.BareMetalHost {
	return &metal3.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("host-%d", n), Namespace: namespace, Labels: map[string]string{"rack": "r1"}},
		Status: metal3.BareMetalHostStatus{
			Provisioning: metal3.ProvisionStatus{State: metal3.StateExternallyProvisioned},
			HardwareDetails: &metal3.HardwareDetails{
				CPU: metal3.CPU{Count: 8}, RAMMebibytes: 16 << 10,
				NIC: []metal3.NIC{{Name: "eth0", MAC: fmt.Sprintf("02:00:00:00:00:%02x", n), IP: fmt.Sprintf("10.0.0.%d", n)}},
			},
		},
	}
}

// site returns a fake API server with n hosts. meddle intercepts its calls.
func site(n int, meddle interceptor.Funcs) client.WithWatch {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{metal3.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	b := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&metal3.BareMetalHost{}).WithInterceptorFuncs(meddle)
	for i := range n {
		b.WithObjects(host(i + 1))
	}
	return b.Build()
}

// wants returns a request of edge-1. Each of the named nodes requires 8 CPUs.
func wants(names ...string) contract.Request {
	r := contract.Request{Spec: contract.Spec{Provisioning: "edge-1", Namespace: namespace, UID: "p1"}}
	for _, name := range names {
		r.Slots = append(r.Slots, contract.Slot{Name: name, Roles: []string{contract.RoleControlPlane, contract.RoleWorker}, Needs: contract.Needs{CPU: 8}})
	}
	return r
}

// holders maps each held host to "holder/node".
func holders(t *testing.T, c client.Client) map[string]string {
	t.Helper()
	var list metal3.BareMetalHostList
	if err := c.List(ctx, &list); err != nil {
		t.Fatal(err)
	}
	held := map[string]string{}
	for _, h := range list.Items {
		if ref := h.Spec.ConsumerRef; ref != nil {
			held[h.Name] = ref.Name + "/" + h.Labels[contract.LabelNode]
		}
	}
	return held
}

func expectHolders(t *testing.T, c client.Client, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, holders(t, c)); diff != "" {
		t.Errorf("holders (-want +got):\n%s", diff)
	}
}

// seize sets the holder of a host without checking whether there is one, as some clients do.
func seize(c client.Client, name, holder string) error {
	h := &metal3.BareMetalHost{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, h); err != nil {
		return err
	}
	h.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "cluster.x-k8s.io/v1beta1", Kind: "Machine", Name: holder, Namespace: namespace}
	return c.Update(ctx, h)
}

func TestMake(t *testing.T) {
	var writes atomic.Int32
	c := site(3, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			writes.Add(1)
			return c.Patch(ctx, obj, p, opts...)
		},
	})
	claim, err := Make(ctx, c, wants("master-1", "worker-1"))
	if err != nil {
		t.Fatal(err)
	}
	roles := []string{contract.RoleControlPlane, contract.RoleWorker}
	nodes := []contract.Node{
		{Name: "master-1", Roles: roles, Host: "host-1", Address: "10.0.0.1", MACs: []string{"02:00:00:00:00:01"}},
		{Name: "worker-1", Roles: roles, Host: "host-2", Address: "10.0.0.2", MACs: []string{"02:00:00:00:00:02"}},
	}
	if diff := cmp.Diff(nodes, claim.Nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	got := &metal3.BareMetalHost{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "host-1"}, got); err != nil {
		t.Fatal(err)
	}
	ref := &corev1.ObjectReference{APIVersion: "bpa.akraino.org/v1alpha1", Kind: "Provisioning", Namespace: namespace, Name: "edge-1", UID: "p1"}
	if diff := cmp.Diff(ref, got.Spec.ConsumerRef); diff != "" {
		t.Errorf("consumerRef (-want +got):\n%s", diff)
	}
	labels := map[string]string{
		"rack": "r1", "bpa.akraino.org/cluster": "edge-1", "bpa.akraino.org/node": "master-1",
		"role.bpa.akraino.org/control-plane": "true", "role.bpa.akraino.org/worker": "true",
	}
	if diff := cmp.Diff(labels, got.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}

	before := writes.Load()
	again, err := Make(ctx, c, wants("master-1", "worker-1"))
	if err != nil || !cmp.Equal(nodes, again.Nodes) || writes.Load() != before {
		t.Errorf("second claim: %v, nodes %v, %d writes; want the same nodes and no write", err, again, writes.Load()-before)
	}
	if err := again.Undo(ctx); err != nil || len(holders(t, c)) != 2 {
		t.Errorf("undo of a claim that took nothing: %v, holders %v", err, holders(t, c))
	}
}

func TestMakeWithoutHardwareData(t *testing.T) {
	c := site(1, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*metal3.HardwareDataList); ok {
				return &meta.NoKindMatchError{GroupKind: metal3.GroupVersion.WithKind("HardwareData").GroupKind()}
			}
			return c.List(ctx, list, opts...)
		},
	})
	if _, err := Make(ctx, c, wants("a")); err != nil {
		t.Error(err)
	}
}

func TestMakeReleasesExcess(t *testing.T) {
	c := site(3, interceptor.Funcs{})
	for _, request := range []contract.Request{wants("a", "b", "c"), wants("b")} {
		if _, err := Make(ctx, c, request); err != nil {
			t.Fatal(err)
		}
	}
	expectHolders(t, c, map[string]string{"host-2": "edge-1/b"})
}

func TestMakeWithoutFitChangesNothing(t *testing.T) {
	c := site(2, interceptor.Funcs{})
	if _, err := Make(ctx, c, wants("a")); err != nil {
		t.Fatal(err)
	}
	_, err := Make(ctx, c, wants("a", "b", "c"))
	var nofit *assign.NoFit
	if !errors.As(err, &nofit) {
		t.Errorf("Make: %v; want a NoFit", err)
	}
	expectHolders(t, c, map[string]string{"host-1": "edge-1/a"})
}

// onPatch calls the function first before one patch. number is the number of this patch, counted
// from 1. If the function returns an error, the patch fails with this error.
func onPatch(number int32, first func(c client.WithWatch, host string) error) interceptor.Funcs {
	var count atomic.Int32
	return interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			if count.Add(1) == number {
				if err := first(c, obj.GetName()); err != nil {
					return err
				}
			}
			return c.Patch(ctx, obj, p, opts...)
		},
	}
}

func TestMakeBearsOtherWriters(t *testing.T) {
	status := func(c client.WithWatch, name string) error { // as Metal3 does at any time
		h := &metal3.BareMetalHost{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, h); err != nil {
			return err
		}
		h.Status.PoweredOn = true
		return c.Status().Update(ctx, h)
	}
	taken := func(c client.WithWatch, name string) error { return seize(c, name, "machine-1") }
	gone := func(c client.WithWatch, name string) error { return c.Delete(ctx, host(2)) }
	for _, tc := range []struct {
		name   string
		hosts  int
		meddle func(c client.WithWatch, host string) error // at the second write
		want   map[string]string                           // nil: Make must fail, because no sufficient host is left
	}{
		{"a change of status", 2, status, map[string]string{"host-1": "edge-1/a", "host-2": "edge-1/b"}},
		{"a host is taken, there is another", 3, taken, map[string]string{"host-1": "edge-1/a", "host-2": "machine-1/", "host-3": "edge-1/b"}},
		{"a host is taken, there is no other", 2, taken, nil},
		{"a host is deleted, there is another", 3, gone, map[string]string{"host-1": "edge-1/a", "host-3": "edge-1/b"}},
		{"a host is deleted, there is no other", 2, gone, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := site(tc.hosts, onPatch(2, tc.meddle))
				_, err := Make(t.Context(), c, wants("a", "b"))
				if tc.want != nil {
					if err != nil {
						t.Fatal(err)
					}
					expectHolders(t, c, tc.want)
					return
				}
				var nofit *assign.NoFit
				if !errors.As(err, &nofit) {
					t.Errorf("Make: %v; want a NoFit", err)
				}
				expectNothingHeld(t, c)
			})
		})
	}
}

func expectNothingHeld(t *testing.T, c client.Client) {
	t.Helper()
	for host, holder := range holders(t, c) {
		if holder != "machine-1/" {
			t.Errorf("%s is still held by %s", host, holder)
		}
	}
}

func TestMakeGivesBackOnFailure(t *testing.T) {
	denied := apierrors.NewForbidden(metal3.GroupVersion.WithResource("baremetalhosts").GroupResource(), "host-2", errors.New("no"))
	broken := errors.New("connection reset")
	cancelled, cancel := context.WithCancel(ctx)
	for _, tc := range []struct {
		name   string
		ctx    context.Context
		meddle interceptor.Funcs
		want   error
	}{
		{"denied", ctx, onPatch(2, func(client.WithWatch, string) error { return denied }), denied},
		{"broken before", ctx, onPatch(2, func(client.WithWatch, string) error { return broken }), broken},
		{"cancelled", cancelled, onPatch(2, func(client.WithWatch, string) error { cancel(); return cancelled.Err() }), context.Canceled},
		{"broken after", ctx, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
				err := c.Patch(ctx, obj, p, opts...)
				if obj.GetName() == "host-2" && obj.(*metal3.BareMetalHost).Spec.ConsumerRef != nil {
					return broken
				}
				return err
			},
		}, broken},
		{"the final list fails", ctx, onList(3, func(client.WithWatch) error { return broken }), broken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := site(3, tc.meddle)
			if _, err := Make(tc.ctx, c, wants("a", "b", "c")); !errors.Is(err, tc.want) {
				t.Errorf("Make: %v; want %v", err, tc.want)
			}
			expectHolders(t, c, map[string]string{})
		})
	}
}

// onList is like onPatch, but for lists. Lists 1 and 2 read the hosts and their hardware. List 3
// reads the held hosts after the claim.
func onList(number int32, first func(c client.WithWatch) error) interceptor.Funcs {
	var count atomic.Int32
	return interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if count.Add(1) == number {
				if err := first(c); err != nil {
					return err
				}
			}
			return c.List(ctx, list, opts...)
		},
	}
}

func TestMakeNoticesTheft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := site(3, onList(3, func(c client.WithWatch) error { return seize(c, "host-1", "machine-1") }))
		if _, err := Make(t.Context(), c, wants("a", "b")); err != nil {
			t.Fatal(err)
		}
		expectHolders(t, c, map[string]string{"host-1": "machine-1/a", "host-2": "edge-1/a", "host-3": "edge-1/b"})
	})
}

func TestUndoGivesBackOnlyWhatIsNew(t *testing.T) {
	c := site(3, interceptor.Funcs{})
	if _, err := Make(ctx, c, wants("a")); err != nil {
		t.Fatal(err)
	}
	claim, err := Make(ctx, c, wants("a", "b", "c"))
	if err != nil {
		t.Fatal(err)
	}
	if err := claim.Undo(ctx); err != nil {
		t.Fatal(err)
	}
	expectHolders(t, c, map[string]string{"host-1": "edge-1/a"})
}

func TestReleaseAll(t *testing.T) {
	c := site(4, onPatch(5, func(c client.WithWatch, name string) error {
		h := &metal3.BareMetalHost{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, h); err != nil {
			return err
		}
		h.Annotations = map[string]string{"touched": "yes"}
		return c.Update(ctx, h)
	}))
	if _, err := Make(ctx, c, wants("a", "b", "c")); err != nil {
		t.Fatal(err)
	}
	if err := seize(c, "host-4", "machine-1"); err != nil {
		t.Fatal(err)
	}
	released, _, err := ReleaseAll(ctx, c, hosts.Owner{Namespace: namespace, Name: "edge-1"})
	if err != nil || !cmp.Equal([]string{"host-1", "host-2", "host-3"}, released) {
		t.Errorf("ReleaseAll = %v, %v; want the three hosts", released, err)
	}
	expectHolders(t, c, map[string]string{"host-4": "machine-1/"})
	got := &metal3.BareMetalHost{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "host-1"}, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"rack": "r1"}, got.Labels); diff != "" {
		t.Errorf("labels after release (-want +got):\n%s", diff)
	}
	if again, _, err := ReleaseAll(ctx, c, hosts.Owner{Namespace: namespace, Name: "edge-1"}); err != nil || len(again) > 0 {
		t.Errorf("second ReleaseAll = %v, %v; want nothing to do", again, err)
	}
}

func TestReleaseGoesOnAfterAFailure(t *testing.T) {
	c := site(3, interceptor.Funcs{})
	if _, err := Make(ctx, c, wants("a", "b", "c")); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("connection reset")
	failing := interceptor.NewClient(c, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			if obj.GetName() == "host-2" {
				return broken
			}
			return c.Patch(ctx, obj, p, opts...)
		},
	})
	released, _, err := Release(ctx, failing, hosts.Owner{Namespace: namespace, Name: "edge-1"}, []string{"host-1", "host-2", "gone", "host-3"})
	if !errors.Is(err, broken) || !cmp.Equal([]string{"host-1", "host-3"}, released) {
		t.Errorf("Release = %v, %v; want host-1 and host-3, and the error reported", released, err)
	}
	expectHolders(t, c, map[string]string{"host-2": "edge-1/b"})
}
