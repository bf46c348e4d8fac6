package claim

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

var (
	edge1 = hosts.Owner{Namespace: namespace, Name: "edge-1"}
	user1 = contract.User{Namespace: namespace, Name: "edge-1", UID: "p1"}
	nine  = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
)

// fencedSite returns a site in which edge-1 holds host-1 for node a, which is lost, and host-2 for node
// b, which is not. Both have a BMC and are on.
func fencedSite(t *testing.T) client.WithWatch {
	t.Helper()
	c := site(3, interceptor.Funcs{})
	for _, name := range []string{"host-1", "host-2", "host-3"} {
		edit(t, c, name, func(h *metal3.BareMetalHost) { h.Spec.BMC.Address, h.Spec.Online = "redfish://10.9.1.1/1", true })
	}
	if _, err := Make(ctx, c, wants("a", "b")); err != nil {
		t.Fatal(err)
	}
	quarantine(t, c, "host-1")
	return c
}

func quarantine(t *testing.T, c client.Client, name string) {
	t.Helper()
	edit(t, c, name, func(h *metal3.BareMetalHost) { h.Annotations = map[string]string{contract.AnnotationQuarantine: "fan"} })
}

// TestFence: of all hosts, only the lost host of the Provisioning is powered off. It stays off while
// it is lost, for every claimant, and is on again after that.
func TestFence(t *testing.T) {
	c := fencedSite(t)
	quarantine(t, c, "host-3") // of nobody
	all := []string{"host-1", "host-2", "host-3", "no-host"}
	fence := func(user contract.User, want ...string) {
		t.Helper()
		got, err := Fence(ctx, c, hosts.Owner{Namespace: user.Namespace, Name: user.Name}, user, all, nine)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("fenced (-want +got), %v:\n%s", err, diff)
		}
	}
	fence(contract.User{Namespace: namespace, Name: "edge-2", UID: "p2"})
	fence(contract.User{Namespace: namespace, Name: "edge-1", UID: "another"})
	fence(user1, "host-1")
	fence(user1) // twice equals once
	h := get(t, c, "host-1")
	if h.Spec.Online || h.Annotations[contract.AnnotationFenced] != "2026-11-21T09:00:00Z site/edge-1 p1" || h.Annotations[facts.AnnotationPowerOff] != facts.PowerOffHard {
		t.Errorf("online %t, annotations %v", h.Spec.Online, h.Annotations)
	}
	for what, on := range map[string]func() ([]string, error){
		"PowerOn": func() ([]string, error) { return PowerOn(ctx, c, edge1, all) },
		"Unfence": func() ([]string, error) { return Unfence(ctx, c, edge1, all) },
	} {
		if got, err := on(); err != nil || len(got) > 0 {
			t.Errorf("%s changes %v while the host is lost: %v", what, got, err)
		}
	}
	edit(t, c, "host-1", func(h *metal3.BareMetalHost) { delete(h.Annotations, contract.AnnotationQuarantine) })
	got, err := Unfence(ctx, c, edge1, all)
	if h := get(t, c, "host-1"); err != nil || cmp.Diff([]string{"host-1"}, got) != "" || !h.Spec.Online || len(h.Annotations) > 0 {
		t.Errorf("after the quarantine: changed %v, %v; online %t, annotations %v", got, err, h.Spec.Online, h.Annotations)
	}
}

// TestFenceLeavesOtherHosts: Metal3 does not act on a paused host, and cannot power off a host without
// a BMC. A request would only be left over there.
func TestFenceLeavesOtherHosts(t *testing.T) {
	for what, change := range map[string]func(*metal3.BareMetalHost){
		"no BMC":   func(h *metal3.BareMetalHost) { h.Spec.BMC.Address = "" },
		"paused":   func(h *metal3.BareMetalHost) { h.Annotations[metal3.PausedAnnotation] = "" },
		"detached": func(h *metal3.BareMetalHost) { h.Annotations[metal3.DetachedAnnotation] = "" },
		"taken":    func(h *metal3.BareMetalHost) { h.Spec.ConsumerRef.Name = "edge-9" },
		"freed":    func(h *metal3.BareMetalHost) { h.Spec.ConsumerRef = nil },
	} {
		c := fencedSite(t)
		edit(t, c, "host-1", change)
		if got, err := Fence(ctx, c, edge1, user1, []string{"host-1"}, nine); err != nil || len(got) > 0 || !get(t, c, "host-1").Spec.Online {
			t.Errorf("%s: fenced %v, %v", what, got, err)
		}
	}
}

// TestUnfenceLeavesHostsOfOthers: a restored bootstrap machine, or a user, has detached or paused the host. Nothing may
// switch it on before a person agrees.
func TestUnfenceLeavesHostsOfOthers(t *testing.T) {
	for _, annotation := range []string{metal3.DetachedAnnotation, metal3.PausedAnnotation} {
		c := fencedSite(t)
		if _, err := Fence(ctx, c, edge1, user1, []string{"host-1"}, nine); err != nil {
			t.Fatal(err)
		}
		edit(t, c, "host-1", func(h *metal3.BareMetalHost) {
			delete(h.Annotations, contract.AnnotationQuarantine)
			h.Annotations[annotation] = ""
		})
		if got, err := Unfence(ctx, c, edge1, []string{"host-1"}); err != nil || len(got) > 0 || get(t, c, "host-1").Spec.Online {
			t.Errorf("%s: powered on %v, %v", annotation, got, err)
		}
		edit(t, c, "host-1", func(h *metal3.BareMetalHost) { delete(h.Annotations, annotation) })
		if got, err := Unfence(ctx, c, edge1, []string{"host-1"}); err != nil || len(got) != 1 || !get(t, c, "host-1").Spec.Online {
			t.Errorf("%s: after it is gone: powered on %v, %v", annotation, got, err)
		}
	}
}

// TestReleasedHostIsPoweredOnByTheNextClaim: a host that is released while it is off stays off, and has
// no record of the fence. The next claim powers it on.
func TestReleasedHostIsPoweredOnByTheNextClaim(t *testing.T) {
	for what, release := range map[string]func(c client.Client) error{
		"release": func(c client.Client) error { _, _, err := ReleaseAll(ctx, c, edge1); return err },
		"retain":  func(c client.Client) error { _, err := Retain(ctx, c, edge1); return err },
	} {
		t.Run(what, func(t *testing.T) {
			c := fencedSite(t)
			if _, err := Fence(ctx, c, edge1, user1, []string{"host-1"}, nine); err != nil {
				t.Fatal(err)
			}
			if err := release(c); err != nil {
				t.Fatal(err)
			}
			h := get(t, c, "host-1")
			if _, fenced := h.Annotations[contract.AnnotationFenced]; fenced || h.Annotations[facts.AnnotationPowerOff] != "" || h.Spec.Online {
				t.Fatalf("released: online %t, annotations %v", h.Spec.Online, h.Annotations)
			}
			edit(t, c, "host-1", func(h *metal3.BareMetalHost) { h.Annotations = nil })
			next := wants("c")
			next.Provisioning, next.UID, next.Slots[0].MAC = "edge-2", "p2", "02:00:00:00:00:01"
			if _, err := Make(ctx, c, next); err != nil {
				t.Fatal(err)
			}
			got, err := PowerOn(ctx, c, hosts.OwnerOf(next), []string{"host-1"})
			if err != nil || len(got) != 1 || !get(t, c, "host-1").Spec.Online {
				t.Errorf("powered on %v, %v", got, err)
			}
		})
	}
}
