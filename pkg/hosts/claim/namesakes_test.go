package claim

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// The namesakes are two Provisionings of the name edge-1 in different namespaces, with hosts in a third one.
var tenantA, tenantB = hosts.OwnerIn(namespace, "tenant-a", "edge-1"), hosts.OwnerIn(namespace, "tenant-b", "edge-1")

// wantsFor returns a request like that of wants for one of the namesakes.
func wantsFor(owner hosts.Owner, names ...string) contract.Request {
	r := wants(names...)
	r.Namespace, r.Pool, r.UID = owner.Namespace, owner.Pool, "uid-of-"+owner.Namespace
	return r
}

// tenants maps each held host to the namespace of its holder.
func tenants(t *testing.T, c client.Client) map[string]string {
	t.Helper()
	var list metal3.BareMetalHostList
	if err := c.List(ctx, &list); err != nil {
		t.Fatal(err)
	}
	held := map[string]string{}
	for _, h := range list.Items {
		if h.Spec.ConsumerRef != nil {
			held[h.Name] = h.Spec.ConsumerRef.Namespace
		}
	}
	return held
}

func expectTenants(t *testing.T, c client.Client, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, tenants(t, c)); diff != "" {
		t.Errorf("holders (-want +got):\n%s", diff)
	}
}

// TestNamesakesShareAPool: of two Provisionings of one name, each claims, keeps, shrinks and releases only its own
// hosts, although the labels of all these hosts name the same cluster and the same nodes.
func TestNamesakesShareAPool(t *testing.T) {
	c := site(5, interceptor.Funcs{})
	for _, owner := range []hosts.Owner{tenantA, tenantB} {
		for range 2 { // twice equals once
			claimed, err := Make(ctx, c, wantsFor(owner, "a", "b"))
			if err != nil || len(claimed.Nodes) != 2 {
				t.Fatalf("%s: %v, %v", owner.Namespace, claimed, err)
			}
		}
	}
	expectTenants(t, c, map[string]string{"host-1": "tenant-a", "host-2": "tenant-a", "host-3": "tenant-b", "host-4": "tenant-b"})

	if _, err := Make(ctx, c, wantsFor(tenantA, "a")); err != nil { // its excess is one host, and not those of its namesake
		t.Fatal(err)
	}
	if held := tenants(t, c); len(held) != 3 || held["host-3"] != "tenant-b" || held["host-4"] != "tenant-b" {
		t.Errorf("after tenant-a has shrunk: %v", held)
	}
	names := []string{"host-1", "host-2", "host-3", "host-4", "host-5"}
	if released, _, err := Release(ctx, c, tenantA, []string{"host-3", "host-4"}); err != nil || len(released) > 0 {
		t.Errorf("tenant-a released %v of its namesake, %v", released, err)
	}
	if marked, err := Mark(ctx, c, tenantA, contract.User{Namespace: "tenant-a", Name: "edge-1", UID: "uid-of-tenant-a"}, names); err != nil || len(marked) != 1 {
		t.Errorf("tenant-a marked %v, %v; want its host", marked, err)
	}
	if released, _, err := ReleaseAll(ctx, c, tenantA, names...); err != nil || len(released) != 1 {
		t.Errorf("tenant-a released %v, %v; want its host", released, err)
	}
	expectTenants(t, c, map[string]string{"host-3": "tenant-b", "host-4": "tenant-b"})
	if released, err := Retain(ctx, c, hosts.OwnerIn(namespace, namespace, "edge-1"), names...); err != nil || len(released) > 0 {
		t.Errorf("the namesake in the namespace of the hosts released %v, %v", released, err)
	}
	if released, err := Retain(ctx, c, tenantB); err != nil || len(released) != 2 {
		t.Errorf("tenant-b released %v, %v; want its two hosts", released, err)
	}
}

// TestReferenceWithoutNamespace: such a reference means an object in the namespace of the host, so no namesake of
// another namespace holds the host.
func TestReferenceWithoutNamespace(t *testing.T) {
	c := site(1, interceptor.Funcs{})
	edit(t, c, "host-1", func(h *metal3.BareMetalHost) {
		h.Labels = map[string]string{contract.LabelCluster: "edge-1", contract.LabelNode: "a"}
		h.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: "bpa.akraino.org/v1alpha1", Kind: "Provisioning", Name: "edge-1"}
	})
	if released, _, err := ReleaseAll(ctx, c, tenantA, "host-1"); err != nil || len(released) > 0 {
		t.Errorf("tenant-a released %v, %v", released, err)
	}
	if _, err := Make(ctx, c, wantsFor(tenantA, "a")); err == nil || !strings.Contains(err.Error(), "held by") {
		t.Errorf("tenant-a claims the host: %v", err)
	}
	if released, _, err := ReleaseAll(ctx, c, hosts.OwnerIn(namespace, namespace, "edge-1")); err != nil || len(released) != 1 {
		t.Errorf("its holder released %v, %v", released, err)
	}
}

// limited returns the request of a Provisioning of tenant-a that may hold most hosts together with the others.
func limited(name string, most int, nodes ...string) contract.Request {
	r := wantsFor(hosts.OwnerIn(namespace, "tenant-a", name), nodes...)
	r.Provisioning, r.MaxHosts = name, &most
	return r
}

// TestLimitOfANamespace: the hosts of all Provisionings of a namespace count, but those of its namesakes in other
// namespaces do not. Without the new hosts, everything stays allowed.
func TestLimitOfANamespace(t *testing.T) {
	c := site(8, interceptor.Funcs{})
	claimed := func(r contract.Request) {
		t.Helper()
		if _, err := Make(ctx, c, r); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(r contract.Request, want string) {
		t.Helper()
		before := tenants(t, c)
		_, err := Make(ctx, c, r)
		var limit *hosts.OverLimit
		if !errors.As(err, &limit) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		expectTenants(t, c, before)
	}
	claimed(wantsFor(tenantB, "a", "b"))
	claimed(limited("edge-1", 3, "a", "b"))
	refused(limited("edge-2", 3, "a", "b"), "namespace tenant-a may hold at most 3 hosts (annotation bpa.akraino.org/max-hosts of the namespace): its other Provisionings hold 2, and this one would hold 2")
	claimed(limited("edge-2", 3, "a"))
	refused(limited("edge-1", 3, "a", "b", "c"), "its other Provisionings hold 1, and this one would hold 3")
	claimed(limited("edge-1", 0, "a", "b")) // takes nothing
	edit(t, c, "host-3", func(h *metal3.BareMetalHost) {
		h.Annotations = map[string]string{contract.AnnotationQuarantine: "fan"}
	})
	claimed(limited("edge-1", 3, "a", "b")) // replaces a lost host
	if held := tenants(t, c); len(held) != 6 {
		t.Errorf("held: %v; want 2 of tenant-b, 3 and a lost one of tenant-a", held)
	}
}

// TestLimitBetweenClaims: Provisionings of one namespace that claim hosts at the same time never hold more than they may
// together after that, and one of them gets its hosts.
func TestLimitBetweenClaims(t *testing.T) {
	for range 40 {
		synctest.Test(t, func(t *testing.T) {
			c, failed := site(9, shuffled()), make([]error, 3)
			var all sync.WaitGroup
			for i := range failed {
				all.Go(func() { _, failed[i] = Make(t.Context(), c, limited(fmt.Sprintf("edge-%d", i), 5, "a", "b", "c")) })
			}
			all.Wait()
			if held := tenants(t, c); len(held) != 3 {
				t.Errorf("held: %v, errors %v; want the 3 hosts of one", held, failed)
			}
		})
	}
}
