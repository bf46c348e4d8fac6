package claim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
)

// wantsSet returns a request of edge-1 for a set of workers.
func wantsSet(active, standby int) contract.Request {
	r := wants()
	r.Sets = []contract.Set{{Name: "w", Roles: []string{contract.RoleWorker}, Active: active, Standby: standby}}
	return r
}

func get(t *testing.T, c client.Client, name string) *metal3.BareMetalHost {
	t.Helper()
	h := &metal3.BareMetalHost{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, h); err != nil {
		t.Fatal(err)
	}
	return h
}

// edit changes a host, as a user could do.
func edit(t *testing.T, c client.Client, name string, change func(*metal3.BareMetalHost)) {
	t.Helper()
	h := get(t, c, name)
	change(h)
	if err := c.Update(ctx, h); err != nil {
		t.Fatal(err)
	}
}

func expectLabels(t *testing.T, c client.Client, host string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, get(t, c, host).Labels); diff != "" {
		t.Errorf("labels of %s (-want +got):\n%s", host, diff)
	}
}

func setLabels(node string, standby bool) map[string]string {
	labels := map[string]string{"rack": "r1", contract.LabelCluster: "edge-1", contract.LabelNode: node, contract.LabelSet: "w", contract.LabelRolePrefix + "worker": "true"}
	if standby {
		labels[contract.LabelStandby] = "true"
	}
	return labels
}

func TestLabelsOfSets(t *testing.T) {
	c := site(2, interceptor.Funcs{})
	claim, err := Make(ctx, c, wantsSet(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	active, standby := claim.Nodes[0], claim.Nodes[1]
	if active.Standby || !standby.Standby || standby.Set != "w" {
		t.Errorf("nodes %+v; want an active one and a standby of set w", claim.Nodes)
	}
	expectLabels(t, c, active.Host, setLabels(active.Name, false))
	expectLabels(t, c, standby.Host, setLabels(standby.Name, true))
	if _, _, err := ReleaseAll(ctx, c, hosts.Owner{Namespace: namespace, Name: "edge-1"}); err != nil {
		t.Fatal(err)
	}
	expectLabels(t, c, standby.Host, map[string]string{"rack": "r1"})
}

// TestMakeFailsIfAHeldHostCannotBeWritten: a host that is already held needs other labels, and each write
// meets a conflict with a writer whose changes do not matter. The claim must not report success with the
// old labels.
func TestMakeFailsIfAHeldHostCannotBeWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the claim waits between its attempts
		var touching atomic.Bool
		n := 0
		c := site(2, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if touching.Load() {
					n++
					edit(t, c, o.GetName(), func(h *metal3.BareMetalHost) { h.Annotations = map[string]string{"noise": fmt.Sprint(n)} })
				}
				return c.Patch(ctx, o, patch, opts...)
			},
		})
		if _, err := Make(ctx, c, wantsSet(1, 1)); err != nil {
			t.Fatal(err)
		}
		touching.Store(true)
		claimed, err := Make(ctx, c, wantsSet(2, 0)) // the standby host becomes active
		if err == nil {
			t.Errorf("the claim reports success with %+v, although no write succeeded", claimed.Nodes)
		}
	})
}

// TestLostHostStaysOurs checks what happens if an installed worker loses its host. The standby
// takes the place of the worker and is no longer a standby. The lost host stays held and is no
// longer a node.
func TestLostHostStaysOurs(t *testing.T) {
	c := site(2, interceptor.Funcs{})
	first, err := Make(ctx, c, wantsSet(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	lost, standby := first.Nodes[0], first.Nodes[1]
	edit(t, c, lost.Host, func(h *metal3.BareMetalHost) {
		h.Annotations = map[string]string{contract.AnnotationQuarantine: "burnt"}
	})
	request := wantsSet(1, 1)
	request.Installed = []string{lost.Host}
	second, err := Make(ctx, c, request)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{lost.Host}, second.Kept); diff != "" || len(second.Nodes) != 1 || second.Nodes[0].Host != standby.Host {
		t.Errorf("nodes %+v, kept (-want +got):\n%s", second.Nodes, diff)
	}
	expectLabels(t, c, standby.Host, setLabels(standby.Name, false))
	expectLabels(t, c, lost.Host, map[string]string{"rack": "r1", contract.LabelCluster: "edge-1"})
	if got := holders(t, c); len(got) != 2 {
		t.Errorf("holders %v; the lost host must stay held", got)
	}
	again, err := Make(ctx, c, request)
	if err != nil || len(again.Kept) != 1 || again.Nodes[0].Name != standby.Name {
		t.Errorf("a second claim: %v, %+v; want the same", err, again)
	}

	// A user has repaired the host and ends its quarantine. The host then becomes the missing
	// standby.
	edit(t, c, lost.Host, func(h *metal3.BareMetalHost) { h.Annotations = nil })
	request.Installed = nil
	third, err := Make(ctx, c, request)
	if err != nil || len(third.Kept) != 0 || len(third.Nodes) != 2 {
		t.Fatalf("after the quarantine: %v, %+v", err, third)
	}
	if third.Nodes[0].Host != standby.Host || !third.Nodes[1].Standby {
		t.Errorf("after the quarantine the nodes are %+v", third.Nodes)
	}
}

// TestMakeKeepsWhatWasNotReset: a host from which its node was removed, and that did not answer when it was to be reset, gets
// no node, also if the request has a node of the same name. It stays held.
func TestMakeKeepsWhatWasNotReset(t *testing.T) {
	c := site(4, interceptor.Funcs{})
	if _, err := Make(ctx, c, wants("a", "b")); err != nil {
		t.Fatal(err)
	}
	for _, request := range []contract.Request{wants("a", "c"), wants("a", "b")} {
		request.Installed, request.Unreset = []string{"host-1"}, []string{"host-2"}
		claim, err := Make(ctx, c, request)
		if err != nil || !cmp.Equal([]string{"host-2"}, claim.Kept) {
			t.Errorf("Make: %v, kept %v; want host-2 kept", err, claim.Kept)
		}
		expectHolders(t, c, map[string]string{"host-1": "edge-1/a", "host-2": "edge-1/", "host-3": "edge-1/" + request.Slots[1].Name})
	}
}

func TestMakeKeepsWhatMayBeInstalled(t *testing.T) {
	c := site(3, interceptor.Funcs{})
	if _, err := Make(ctx, c, wants("a", "b")); err != nil {
		t.Fatal(err)
	}
	request := wants("a")
	request.Installed = []string{"host-2"}
	claim, err := Make(ctx, c, request)
	if err != nil || !cmp.Equal([]string{"host-2"}, claim.Kept) {
		t.Errorf("Make: %v, kept %v; want host-2 kept", err, claim.Kept)
	}
	expectHolders(t, c, map[string]string{"host-1": "edge-1/a", "host-2": "edge-1/"})

	request.Installed = []string{"host-1"} // the request of the next run lists only the hosts that are nodes after this run
	claim, err = Make(ctx, c, request)
	if err != nil || !cmp.Equal([]string{"host-2"}, claim.Kept) {
		t.Errorf("the second Make: %v, kept %v; want host-2 kept", err, claim.Kept)
	}
	expectLabels(t, c, "host-2", map[string]string{"rack": "r1", contract.LabelCluster: "edge-1", contract.LabelFormerNode: "b"})

	if _, err = Make(ctx, c, wants("a", "b")); err != nil { // a host of a former node can become a node again
		t.Error(err)
	}
	expectHolders(t, c, map[string]string{"host-1": "edge-1/a", "host-2": "edge-1/b"})
}

// TestMakeOnAnOldSnapshot checks a decision that was based on an outdated cache of the API server.
// The writes and the list after them must correct it.
func TestMakeOnAnOldSnapshot(t *testing.T) {
	for _, tc := range []struct {
		name   string
		hosts  int
		before func(t *testing.T, c client.Client) // this is the state that the cache contains
		since  func(t *testing.T, c client.Client)
		want   map[string]string // nil: NoFit
	}{
		{"taken since", 2, nil, func(t *testing.T, c client.Client) { expectNoError(t, seize(c, "host-1", "machine-1")) },
			map[string]string{"host-1": "machine-1/", "host-2": "edge-1/a"}},
		{"all taken since", 1, nil, func(t *testing.T, c client.Client) { expectNoError(t, seize(c, "host-1", "machine-1")) }, nil},
		{"free since", 1, func(t *testing.T, c client.Client) { expectNoError(t, seize(c, "host-1", "machine-1")) },
			func(t *testing.T, c client.Client) {
				edit(t, c, "host-1", func(h *metal3.BareMetalHost) { h.Spec.ConsumerRef = nil })
			},
			map[string]string{"host-1": "edge-1/a"}},
		{"ours, and lost since", 2, claimsA, func(t *testing.T, c client.Client) {
			expectNoError(t, seize(c, "host-1", "machine-1"))
		}, map[string]string{"host-1": "machine-1/a", "host-2": "edge-1/a"}},
		{"ours, and still", 2, claimsA, func(*testing.T, client.Client) {}, map[string]string{"host-1": "edge-1/a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := site(tc.hosts, interceptor.Funcs{})
				if tc.before != nil {
					tc.before(t, c)
				}
				late := lagging(t, c)
				tc.since(t, c)
				_, err := Make(t.Context(), late, wants("a"))
				var nofit *assign.NoFit
				if (tc.want == nil) != errors.As(err, &nofit) || tc.want != nil && err != nil {
					t.Fatalf("Make: %v", err)
				}
				if tc.want != nil {
					expectHolders(t, c, tc.want)
				}
			})
		})
	}
}

func claimsA(t *testing.T, c client.Client) {
	t.Helper()
	_, err := Make(ctx, c, wants("a"))
	expectNoError(t, err)
}

func expectNoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lagging returns an API server with an outdated cache. The first list of hosts that accepts data
// from the cache gets the hosts as they were when lagging was called.
func lagging(t *testing.T, c client.WithWatch) client.WithWatch {
	t.Helper()
	var list metal3.BareMetalHostList
	expectNoError(t, c.List(ctx, &list))
	var asked atomic.Bool
	return interceptor.NewClient(c, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, into client.ObjectList, opts ...client.ListOption) error {
			var options client.ListOptions
			options.ApplyOptions(opts)
			all, ok := into.(*metal3.BareMetalHostList)
			if ok && options.Raw != nil && options.Raw.ResourceVersion == "0" && !asked.Swap(true) {
				list.DeepCopyInto(all)
				return nil
			}
			return c.List(ctx, into, opts...)
		},
	})
}

// TestMakeBearsLabels changes a label of a host while the host is claimed. The claim must choose
// another host only if the request uses the label, and must not list all hosts again for this.
// Otherwise, claims would often fail, because users and Metal3 write to hosts at any time.
func TestMakeBearsLabels(t *testing.T) {
	for label, host := range map[string]string{"theirs": "host-2", "rack": "host-3"} {
		t.Run(label, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var count atomic.Int32
				meddle := onPatch(2, func(c client.WithWatch, name string) error {
					h := &metal3.BareMetalHost{}
					if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, h); err != nil {
						return err
					}
					h.Labels[label] = "r2"
					return c.Update(ctx, h)
				})
				meddle.List = func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
					count.Add(1)
					return c.List(ctx, list, opts...)
				}
				c := site(3, meddle)
				request := wants("a", "b")
				for i := range request.Slots {
					request.Slots[i].Labels = []contract.LabelTerm{{Key: "rack", Operator: "In", Values: []string{"r1"}}}
				}
				if _, err := Make(t.Context(), c, request); err != nil {
					t.Fatal(err)
				}
				if got := count.Load(); got != 3 {
					t.Errorf("%d lists; want 3: the hardware, the hosts, and the held hosts at the end", got)
				}
				expectHolders(t, c, map[string]string{"host-1": "edge-1/a", host: "edge-1/b"})
			})
		})
	}
}

// bareSite returns an API server with hosts in state "available", and with the named Secrets.
func bareSite(t *testing.T, n int, meddle interceptor.Funcs, secrets ...string) client.WithWatch {
	t.Helper()
	c := site(n, meddle)
	for i := range n {
		h := get(t, c, fmt.Sprintf("host-%d", i+1))
		h.Status.Provisioning.State = metal3.StateAvailable
		expectNoError(t, c.Status().Update(ctx, h))
	}
	for _, name := range secrets {
		expectNoError(t, c.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}))
	}
	return c
}

func wantsImage(names ...string) contract.Request {
	r := wants(names...)
	r.OSImage = &contract.OSImage{URL: "http://depot/jammy.qcow2", UserData: "$(node)-user"}
	return r
}

// TestBareHostsGetTheImageAfterTheClaim checks that only the controller sets and removes an image,
// and that the claim changes nothing in spec but consumerRef.
func TestBareHostsGetTheImageAfterTheClaim(t *testing.T) {
	var patches atomic.Int32
	c := bareSite(t, 2, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			patches.Add(1)
			return c.Patch(ctx, obj, p, opts...)
		},
	}, "a-user", "b-user")
	for range 2 { // the second call must change nothing
		if _, err := Make(ctx, c, wantsImage("a", "b")); err != nil {
			t.Fatal(err)
		}
	}
	if patches.Load() != 2 {
		t.Errorf("%d patches; want one per host", patches.Load())
	}
	h := get(t, c, "host-1")
	if spec := (metal3.BareMetalHostSpec{ConsumerRef: h.Spec.ConsumerRef}); !cmp.Equal(spec, h.Spec) || len(h.Annotations) > 0 {
		t.Fatalf("the claim wrote other fields: %+v, annotations %v", h.Spec, h.Annotations)
	}
	me, image := hosts.Owner{Namespace: namespace, Name: "edge-1"}, *wantsImage().OSImage
	for _, want := range [][]string{{"host-1", "host-2"}, nil} { // the second call must change nothing
		// host-9 is gone.
		given, err := Image(ctx, c, me, image, map[string]string{"host-1": "a", "host-2": "b", "host-9": "c"})
		if err != nil || !cmp.Equal(want, given) {
			t.Fatalf("Image: %v, %v; want %v", given, err, want)
		}
	}
	h = get(t, c, "host-1")
	if h.Spec.Image == nil || h.Spec.Image.URL != "http://depot/jammy.qcow2" || h.Spec.UserData.Name != "a-user" || !h.Spec.Online || h.Spec.ConsumerRef == nil {
		t.Errorf("host-1 is %+v", h.Spec)
	}
	if released, _, err := Release(ctx, c, me, []string{"host-1"}); err != nil || len(released) != 1 {
		t.Fatal(released, err)
	}
	if diff := cmp.Diff(metal3.BareMetalHostSpec{}, get(t, c, "host-1").Spec); diff != "" || patches.Load() != 5 {
		t.Errorf("%d patches, spec after release (-before +after):\n%s", patches.Load(), diff)
	}
}

// TestImageLeavesOtherHostsAlone checks that Image does not change hosts that the Provisioning does
// not hold, that are held for another node, or that have an operating system.
func TestImageLeavesOtherHostsAlone(t *testing.T) {
	c := bareSite(t, 3, interceptor.Funcs{}, "a-user", "b-user")
	if _, err := Make(ctx, c, wantsImage("a", "b")); err != nil {
		t.Fatal(err)
	}
	edit(t, c, "host-2", func(h *metal3.BareMetalHost) { h.Spec.CustomDeploy = &metal3.CustomDeploy{Method: "theirs"} })
	given, err := Image(ctx, c, hosts.Owner{Namespace: namespace, Name: "edge-1"}, *wantsImage().OSImage,
		map[string]string{"host-1": "b", "host-2": "b", "host-3": "c"})
	if err != nil || len(given) > 0 {
		t.Errorf("Image: %v, %v; want no host", given, err)
	}
}

// TestGivenUpHostsAreTheControllers checks that a task does not release a host with an image. After a
// failure, the host keeps its claim for the next attempt. A host that is given up is released by the
// controller. Until the controller has released the host, the task can claim it
// again.
func TestGivenUpHostsAreTheControllers(t *testing.T) {
	c, me := bareSite(t, 2, interceptor.Funcs{}, "a-user", "b-user"), hosts.Owner{Namespace: namespace, Name: "edge-1"}
	claim, err := Make(ctx, c, wantsImage("a", "b"))
	expectNoError(t, err)
	_, err = Image(ctx, c, me, *wantsImage().OSImage, map[string]string{"host-1": "a"})
	expectNoError(t, err)
	imaged := get(t, c, "host-1").Spec
	expectNoError(t, claim.Undo(ctx))
	expectHolders(t, c, map[string]string{"host-1": "edge-1/a"}) // host-2 is free
	if diff := cmp.Diff(imaged, get(t, c, "host-1").Spec); diff != "" {
		t.Errorf("the task changed the spec of a host with an image (-before +after):\n%s", diff)
	}
	_, err = Make(ctx, c, wantsImage("a"))
	expectNoError(t, err)
	released, err := ReleaseGivenUp(ctx, c, me, []string{"host-1", "host-2"})
	if err != nil || len(released) > 0 {
		t.Errorf("released %v, %v: host-1 was claimed again", released, err)
	}
	edit(t, c, "host-1", giveUp("edge-1"))
	released, err = ReleaseGivenUp(ctx, c, me, []string{"host-1", "host-2"})
	if err != nil || !cmp.Equal([]string{"host-1"}, released) {
		t.Errorf("released %v, %v; want host-1", released, err)
	}
	if h := get(t, c, "host-1"); !cmp.Equal(metal3.BareMetalHostSpec{}, h.Spec) || h.Labels[contract.LabelRelease] != "" || h.Labels["rack"] != "r1" {
		t.Errorf("host-1 is left with %+v, labels %v", h.Spec, h.Labels)
	}
}

// TestReleaseWaitsForDeprovisioning checks that a host with an image of BPA stays held until Metal3
// has removed the image, and that the failure of Metal3 is reported.
func TestReleaseWaitsForDeprovisioning(t *testing.T) {
	c, me := bareSite(t, 2, interceptor.Funcs{}, "a-user"), hosts.Owner{Namespace: namespace, Name: "edge-1"}
	_, err := Make(ctx, c, wantsImage("a"))
	expectNoError(t, err)
	_, err = Image(ctx, c, me, *wantsImage().OSImage, map[string]string{"host-1": "a"})
	expectNoError(t, err)
	state := func(s metal3.ProvisioningState, problem string) {
		h := get(t, c, "host-1")
		h.Status.Provisioning.State, h.Status.ErrorMessage = s, problem
		expectNoError(t, c.Status().Update(ctx, h))
	}
	state(metal3.StateProvisioned, "")
	for _, step := range []struct {
		state    metal3.ProvisioningState
		problem  string
		leaving  []hosts.Leaving
		released []string
	}{
		{metal3.StateProvisioned, "", []hosts.Leaving{{Host: "host-1", State: "provisioned"}}, nil},
		{metal3.StateDeprovisioning, "", []hosts.Leaving{{Host: "host-1", State: "deprovisioning"}}, nil},
		{metal3.StateDeprovisioning, "no agent", []hosts.Leaving{{Host: "host-1", State: "deprovisioning", Error: "in error state: no agent"}}, nil},
		{metal3.StateAvailable, "", nil, []string{"host-1"}},
	} {
		state(step.state, step.problem)
		if step.leaving != nil { // a task must not free the host either
			_, err := Make(ctx, c, wants())
			expectNoError(t, err)
		}
		released, leaving, err := ReleaseAll(ctx, c, me)
		expectNoError(t, err)
		if !cmp.Equal(step.leaving, leaving) || !cmp.Equal(step.released, released) {
			t.Errorf("%s: released %v, leaving %v; want %v and %v", step.state, released, leaving, step.released, step.leaving)
		}
		if h := get(t, c, "host-1"); h.Spec.Image != nil || (h.Spec.ConsumerRef != nil) != (step.leaving != nil) || h.Labels[contract.LabelNode] != "" {
			t.Errorf("%s: %+v, labels %v", step.state, h.Spec, h.Labels)
		}
	}
	expectHolders(t, c, map[string]string{})
}

// TestReleaseLeavesTheImageOfADetachedHost: when somebody attaches the host, Metal3 would erase it. A later release takes
// the image away.
func TestReleaseLeavesTheImageOfADetachedHost(t *testing.T) {
	c, me := bareSite(t, 1, interceptor.Funcs{}, "a-user"), hosts.Owner{Namespace: namespace, Name: "edge-1"}
	_, err := Make(ctx, c, wantsImage("a"))
	expectNoError(t, err)
	_, err = Image(ctx, c, me, *wantsImage().OSImage, map[string]string{"host-1": "a"})
	expectNoError(t, err)
	h := get(t, c, "host-1")
	h.Status.Provisioning.State = metal3.StateProvisioned
	expectNoError(t, c.Status().Update(ctx, h))
	edit(t, c, "host-1", func(h *metal3.BareMetalHost) { h.Annotations[metal3.DetachedAnnotation] = "" })
	before := get(t, c, "host-1").Spec
	for range 2 {
		released, leaving, err := ReleaseAll(ctx, c, me)
		expectNoError(t, err)
		if want := []hosts.Leaving{{Host: "host-1", State: "provisioned", Error: "detached"}}; len(released) > 0 || !cmp.Equal(want, leaving) {
			t.Errorf("released %v, leaving %v", released, leaving)
		}
		if diff := cmp.Diff(before, get(t, c, "host-1").Spec); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	}
	edit(t, c, "host-1", func(h *metal3.BareMetalHost) { delete(h.Annotations, metal3.DetachedAnnotation) })
	_, leaving, err := ReleaseAll(ctx, c, me)
	if expectNoError(t, err); len(leaving) != 1 || get(t, c, "host-1").Spec.Image != nil {
		t.Errorf("after it was attached: leaving %v, %+v", leaving, get(t, c, "host-1").Spec)
	}
}

// TestRetainLeavesTheImage checks that Retain releases a host as it is, and that a later release by
// another Provisioning does not remove the image.
func TestRetainLeavesTheImage(t *testing.T) {
	c, me := bareSite(t, 1, interceptor.Funcs{}, "a-user"), hosts.Owner{Namespace: namespace, Name: "edge-1"}
	_, err := Make(ctx, c, wantsImage("a"))
	expectNoError(t, err)
	_, err = Image(ctx, c, me, *wantsImage().OSImage, map[string]string{"host-1": "a"})
	expectNoError(t, err)
	released, err := Retain(ctx, c, me)
	if h := get(t, c, "host-1"); err != nil || !cmp.Equal([]string{"host-1"}, released) || h.Spec.ConsumerRef != nil || h.Spec.Image == nil || imaging.Ours(h) {
		t.Errorf("Retain: %v, %v; %+v", released, err, h.Spec)
	}
}

// TestPowerOn checks that only hosts are switched on that the owner holds for a node.
func TestPowerOn(t *testing.T) {
	c, me := site(4, interceptor.Funcs{}), hosts.Owner{Namespace: namespace, Name: "edge-1"}
	for n := range 4 {
		edit(t, c, fmt.Sprintf("host-%d", n+1), func(h *metal3.BareMetalHost) { h.Spec.Online = false })
	}
	_, err := Make(ctx, c, wants("a", "b", "c"))
	expectNoError(t, err)
	edit(t, c, "host-2", func(h *metal3.BareMetalHost) { h.Annotations = map[string]string{metal3.PausedAnnotation: ""} })
	names := []string{"host-1", "host-2", "host-3", "host-4"}
	for _, want := range [][]string{{"host-1", "host-3"}, nil} { // twice equals once
		changed, err := PowerOn(ctx, c, me, names)
		if err != nil || !cmp.Equal(want, changed) {
			t.Errorf("PowerOn: %v, %v; want %v", changed, err, want)
		}
	}
	if get(t, c, "host-4").Spec.Online || get(t, c, "host-2").Spec.Online || !get(t, c, "host-1").Spec.Online {
		t.Error("the wrong hosts are on")
	}
}

func TestHostsWithAnOSKeepIt(t *testing.T) {
	c := site(1, interceptor.Funcs{}) // externally provisioned
	if _, err := Make(ctx, c, wantsImage("a")); err != nil {
		t.Fatal(err)
	}
	if h := get(t, c, "host-1"); h.Spec.Image != nil || h.Annotations[contract.AnnotationOSImage] != "" {
		t.Errorf("host-1 has an operating system and gets another: %+v", h.Spec)
	}
}

func TestMissingSecretsTouchNothing(t *testing.T) {
	c := bareSite(t, 3, interceptor.Funcs{}, "b-user")
	_, err := Make(ctx, c, wantsImage("a", "b", "c"))
	var missing *MissingSecrets
	if !errors.As(err, &missing) || !strings.HasSuffix(err.Error(), "create a-user, c-user") {
		t.Errorf("Make: %v; want both missing Secrets named", err)
	}
	expectHolders(t, c, map[string]string{})
}

// This is fault 6 of SIP: one host without its network Secret blocked a request, although other
// hosts met the request.
func TestFault_SIP_4_5_6_NetworkSecretMissing(t *testing.T) {
	c := site(2, interceptor.Funcs{})
	for n, name := range []string{"host-1", "host-2"} {
		edit(t, c, name, func(h *metal3.BareMetalHost) {
			h.Spec.NetworkData = &corev1.SecretReference{Name: fmt.Sprintf("net-%d", n+1)}
		})
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "net-2", Namespace: namespace}, Data: map[string][]byte{"networkData": []byte(
		`{"links":[{"id":"l","type":"phy","ethernet_mac_address":"02:00:00:00:00:02"}],"networks":[{"id":"oam","type":"ipv4","link":"l","ip_address":"10.9.0.2","netmask":"255.255.255.0"}]}`)}}
	expectNoError(t, c.Create(ctx, secret))
	request := wants("a")
	request.Access.Interface = "oam"
	claim, err := Make(ctx, c, request)
	if err != nil || claim.Nodes[0].Host != "host-2" || claim.Nodes[0].Address != "10.9.0.2" {
		t.Fatalf("Make: %v, %+v; want host-2 at its address from the network data", err, claim)
	}
	if err := claim.Refresh(ctx); err != nil || claim.Nodes[0].Address != "10.9.0.2" {
		t.Errorf("Refresh: %v, %+v", err, claim.Nodes)
	}
}

// TestNetworkDataBeforeTheLeaseOfTheInspection checks which addresses are preferred. If Metal3 has
// installed the operating system, those of the network data are preferred to those of the
// inspection, because the addresses of the inspection were those of a ramdisk. If others have
// installed it, those of the inspection are preferred, because Metal3 does not apply the network
// data to such a host.
func TestNetworkDataBeforeTheLeaseOfTheInspection(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*metal3.BareMetalHost)
		want   string
	}{
		"provisioned by Metal3": {func(h *metal3.BareMetalHost) { h.Spec.Image = &metal3.Image{URL: h.Status.Provisioning.Image.URL} }, "10.9.0.1"},
		"provisioned by others": {func(h *metal3.BareMetalHost) {
			h.Spec.ExternallyProvisioned = true
			h.Status.Provisioning.State = metal3.StateExternallyProvisioned
		}, "10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			c := site(1, interceptor.Funcs{})
			edit(t, c, "host-1", func(h *metal3.BareMetalHost) {
				h.Spec.NetworkData = &corev1.SecretReference{Name: "net-1"}
				h.Spec.BootMACAddress = "02:00:00:00:00:01"
				tc.change(h)
			})
			expectNoError(t, c.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "net-1", Namespace: namespace}, Data: map[string][]byte{"networkData": []byte(
				`{"links":[{"id":"l","type":"phy","ethernet_mac_address":"02:00:00:00:00:01"}],"networks":[{"id":"oam","type":"ipv4","link":"l","ip_address":"10.9.0.1/24"}]}`)}}))
			claim, err := Make(ctx, c, wants("a"))
			if err != nil || claim.Nodes[0].Address != tc.want {
				t.Fatalf("Make: %v, %+v; want the address %s", err, claim, tc.want)
			}
		})
	}
}

// TestImagedHostWithoutItsNetworkSecretIsPassedOver checks a host whose network data are missing.
// The address of its inspection must not be used instead.
func TestImagedHostWithoutItsNetworkSecretIsPassedOver(t *testing.T) {
	c := site(2, interceptor.Funcs{})
	edit(t, c, "host-1", func(h *metal3.BareMetalHost) {
		h.Spec.NetworkData, h.Spec.Image = &corev1.SecretReference{Name: "gone"}, &metal3.Image{URL: h.Status.Provisioning.Image.URL}
	})
	claim, err := Make(ctx, c, wants("a"))
	if err != nil || claim.Nodes[0].Host != "host-2" {
		t.Fatalf("Make: %v, %+v; want host-2", err, claim)
	}
}
