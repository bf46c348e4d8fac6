package cache

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// memory is a cache that reads from a fake API server.
type memory struct {
	cache.Cache
	reader client.Reader
}

func (m memory) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	return m.reader.Get(ctx, key, into, options...)
}

func (m memory) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	return m.reader.List(ctx, into, options...)
}

func heldHost(namespace, name, holder, kind string) *metal3.BareMetalHost {
	h := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if holder != "" {
		h.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "bpa.akraino.org/v1alpha1", Kind: kind, Namespace: namespace, Name: holder}
	}
	return h
}

func site(t *testing.T, meddle interceptor.Funcs, all ...client.Object) *Cache {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := metal3.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).WithIndex(&metal3.BareMetalHost{}, indexHolder, holderOf).
		WithInterceptorFuncs(meddle).Build()
	return &Cache{cache: memory{reader: c}, live: c}
}

func names(all []hosts.Host) []string {
	var list []string
	for _, h := range all {
		list = append(list, h.Name)
	}
	return list
}

func TestHeldAndOrphans(t *testing.T) {
	c := site(t, interceptor.Funcs{},
		heldHost("site", "host-1", "edge-1", "Provisioning"), heldHost("site", "host-2", "edge-1", "Machine"), heldHost("site", "host-3", "edge-9", "Provisioning"),
		heldHost("site", "host-4", "", ""), heldHost("other", "host-5", "edge-1", "Provisioning"))
	held, err := c.Held(t.Context(), hosts.Owner{Namespace: "site", Name: "edge-1"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"host-1"}, names(held)); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	orphans, err := c.Orphans(t.Context(), func(o hosts.Owner) bool { return o == hosts.Owner{Namespace: "site", Name: "edge-1"} })
	if err != nil {
		t.Fatal(err)
	}
	want := map[hosts.Owner][]string{{Namespace: "site", Name: "edge-9"}: {"host-3"}, {Namespace: "other", Name: "edge-1"}: {"host-5"}}
	if diff := cmp.Diff(want, orphans); diff != "" {
		t.Errorf("orphans (-want +got):\n%s", diff)
	}
}

// TestNamesakes: Provisionings of one name in three namespaces share a pool. Each holds only its own hosts, also if a
// host has lost its labels, and an orphan is an orphan of its own namespace.
func TestNamesakes(t *testing.T) {
	held := func(name, tenant string) *metal3.BareMetalHost {
		h := heldHost("pool", name, "edge-1", "Provisioning")
		h.Spec.ConsumerRef.Namespace, h.Labels = tenant, map[string]string{contract.LabelCluster: "edge-1"}
		return h
	}
	c := site(t, interceptor.Funcs{}, held("host-1", "tenant-a"), held("host-2", "tenant-b"), held("host-3", ""), heldHost("tenant-a", "host-1", "edge-1", "Provisioning"))
	for tenant, want := range map[string]string{"tenant-a": "host-1", "tenant-b": "host-2", "pool": "host-3"} {
		owner := hosts.OwnerIn("pool", tenant, "edge-1")
		for what, read := range map[string]func(context.Context, hosts.Owner) ([]hosts.Host, error){"Held": c.Held, "HeldLive": c.HeldLive} {
			got, err := read(t.Context(), owner)
			if diff := cmp.Diff([]string{want}, names(got)); err != nil || diff != "" {
				t.Errorf("%s of %s: %v (-want +got):\n%s", what, tenant, err, diff)
			}
		}
	}
	orphans, err := c.Orphans(t.Context(), func(o hosts.Owner) bool { return o.Namespace != "tenant-a" })
	want := map[hosts.Owner][]string{{Namespace: "tenant-a", Name: "edge-1", Pool: "pool"}: {"host-1"}, {Namespace: "tenant-a", Name: "edge-1"}: {"host-1"}}
	if diff := cmp.Diff(want, orphans); err != nil || diff != "" {
		t.Errorf("orphans: %v (-want +got):\n%s", err, diff)
	}
	if released, _, err := c.Release(t.Context(), hosts.OwnerIn("pool", "tenant-b", "edge-1")); err != nil || cmp.Diff([]string{"host-2"}, released) != "" {
		t.Errorf("tenant-b released %v, %v", released, err)
	}
}

// TestNamed checks that a missing host is left out, and that a missing kind is an error.
func TestNamed(t *testing.T) {
	c := site(t, interceptor.Funcs{}, heldHost("site", "host-1", "edge-1", "Provisioning"))
	for _, by := range []func(context.Context, string, []string) ([]hosts.Host, error){c.Named, c.NamedLive} {
		found, err := by(t.Context(), "site", []string{"host-1", "host-2"})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"host-1"}, names(found)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	away := site(t, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource"}}
	}})
	if found, err := away.NamedLive(t.Context(), "site", []string{"host-1"}); err == nil {
		t.Errorf("found %v and no error while the kind is missing: every host would seem lost", found)
	}
}

// TestReleaseByCacheAndLabel checks that Release finds hosts in two ways. It finds a host without
// the label because the host is in the cache. It finds a host that is not in the cache yet because
// the host has the label.
func TestReleaseByCacheAndLabel(t *testing.T) {
	labelled, other := heldHost("site", "host-2", "edge-1", "Provisioning"), heldHost("site", "host-3", "edge-2", "Provisioning")
	labelled.Labels = map[string]string{contract.LabelCluster: "edge-1"}
	live := site(t, interceptor.Funcs{}, heldHost("site", "host-1", "edge-1", "Provisioning"), labelled, other)
	behind := site(t, interceptor.Funcs{}, heldHost("site", "host-1", "edge-1", "Provisioning"), heldHost("site", "host-3", "edge-1", "Provisioning"))
	c := &Cache{cache: behind.cache, live: live.live}
	released, _, err := c.Release(t.Context(), hosts.Owner{Namespace: "site", Name: "edge-1"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"host-1", "host-2"}, released); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}
