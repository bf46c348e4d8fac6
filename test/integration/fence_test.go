//go:build integration

package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/cache"
)

const (
	fenceNamespace = "fence" // namespace of this file's hosts
	fenceWait      = 4 * time.Minute
	// unregistered is the name of a host whose BMC never answers Metal3 in demo mode.
	unregistered = "demo-registration-error"
)

// TestLostHostIsPoweredOff runs the real Metal3 in demo mode, and the controller's cache of hosts with
// the controller's rights. A lost host is powered off, stays off although it is to be powered on, and
// is on again after its quarantine. Each step waits for the cache to report a change. A host whose BMC
// does not answer has Metal3's error.
func TestLostHostIsPoweredOff(t *testing.T) {
	metal3Program := buildMetal3(t)
	ctx, stop := context.WithTimeout(t.Context(), fenceWait)
	defer stop()
	c, err := accountClient(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	must(t, "", "create", "namespace", fenceNamespace)
	must(t, "", "apply", "--server-side", "-n", "bpa-system", "-f", "../../config/200-controller.yaml")
	startMetal3(t, ctx, metal3Program, fenceNamespace, nil, "-demo-mode")
	controller, changed := fencingController(t, ctx)
	enroll(t, ctx, c, fenceNamespace, 1, "host-1", "02:00:00:00:07:01", "redfish://10.9.7.1/1")
	enroll(t, ctx, c, fenceNamespace, 2, unregistered, "02:00:00:00:07:02", "redfish://10.9.7.2/1")
	for _, name := range []string{"host-1", unregistered} {
		editHost(t, ctx, c, name, fmt.Sprintf(`{"metadata":{"labels":{%q:"worker-1"}},"spec":{"online":true,"externallyProvisioned":true,"consumerRef":
			{"apiVersion":"bpa.akraino.org/v1alpha1","kind":"Provisioning","namespace":%q,"name":"edge-1","uid":"u"}}}`, contract.LabelNode, fenceNamespace))
	}
	user := contract.User{Namespace: fenceNamespace, Name: "edge-1", UID: "u"}
	owner, names := hosts.Owner{Namespace: fenceNamespace, Name: "edge-1"}, []string{"host-1", unregistered}
	await := func(what, name string, is func(hosts.Host) bool) {
		t.Helper()
		awaitFenced(t, ctx, controller, changed, what, name, is)
	}
	change := func(what string, want int, got []string, err error) {
		t.Helper()
		if err != nil || len(got) != want {
			t.Fatalf("%s: changed %v, %v; want %d hosts", what, got, err, want)
		}
	}

	await("on", "host-1", func(h hosts.Host) bool { return h.PowerManaged && h.Unusable == "" && h.Trouble == "" })
	got, err := controller.Fence(ctx, owner, user, names, time.Now())
	change("fence hosts that are not lost", 0, got, err)
	for _, name := range names {
		editHost(t, ctx, c, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:"fan"}}}`, contract.AnnotationQuarantine))
	}
	asked := time.Now()
	got, err = controller.Fence(ctx, owner, user, names, asked)
	change("fence", 2, got, err)
	await("off", "host-1", func(h hosts.Host) bool { return h.SwitchedOff && h.Lost })
	await("in error", unregistered, func(h hosts.Host) bool { return h.Fence.Failed != "" && !h.SwitchedOff })
	got, err = controller.PowerOn(ctx, owner, names)
	change("power on a lost host", 0, got, err)

	found, err := controller.NamedLive(ctx, fenceNamespace, []string{"host-1"})
	if err != nil || found[0].Fence != (hosts.Fence{At: asked.UTC().Truncate(time.Second), By: user}) {
		t.Errorf("the stored request is %+v, %v", found, err)
	}
	editHost(t, ctx, c, "host-1", fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, contract.AnnotationQuarantine))
	await("not lost", "host-1", func(h hosts.Host) bool { return !h.Lost })
	got, err = controller.Unfence(ctx, owner, names)
	change("power on after the quarantine", 1, got, err)
	await("on again", "host-1", func(h hosts.Host) bool { return !h.Offline && h.Trouble == "" && h.Fence == hosts.Fence{} })
}

// awaitFenced waits until the cache shows that the host is as wanted. It looks again only after a change
// that the cache reports.
func awaitFenced(t *testing.T, ctx context.Context, controller *cache.Cache, changed chan struct{}, what, name string, is func(hosts.Host) bool) {
	t.Helper()
	for {
		found, err := controller.Named(ctx, fenceNamespace, []string{name})
		if err != nil {
			t.Fatal(err)
		}
		if len(found) == 1 && is(found[0]) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("timeout: waiting until %s is %s: %+v", name, what, found)
		}
	}
}

// fencingController returns the controller's cache of hosts, with the rights of the controller's
// account. A value is in changed after each change that the cache reports.
func fencingController(t *testing.T, ctx context.Context) (controller *cache.Cache, changed chan struct{}) {
	t.Helper()
	config, _, err := accountConfig(shared.kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate.UserName, config.Impersonate.Groups = "system:serviceaccount:bpa-system:bpa-controller", []string{"system:authenticated"}
	if controller, err = cache.New(ctx, config); err != nil {
		t.Fatal(err)
	}
	changed = make(chan struct{}, 1)
	err = controller.Watch(ctx, func(string, string, ...types.NamespacedName) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	if err == nil {
		err = controller.Start(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	return controller, changed
}

func editHost(t *testing.T, ctx context.Context, c client.Client, name, patch string) {
	t.Helper()
	h := &metal3.BareMetalHost{}
	h.Namespace, h.Name = fenceNamespace, name
	if err := c.Patch(ctx, h, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
}
