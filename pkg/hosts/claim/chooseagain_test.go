package claim

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/hosts"
)

// TestALossCostsOneHost checks a claimant that loses one host. It must keep its other hosts and
// take another host instead. It must not give back hosts or list all hosts again.
func TestALossCostsOneHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var patches, lists atomic.Int32
		meddle := interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
				if patches.Add(1) == 2 {
					expectNoError(t, seize(c, "host-2", "machine-1"))
				}
				return c.Patch(ctx, obj, p, opts...)
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				lists.Add(1)
				return c.List(ctx, list, opts...)
			},
		}
		c := site(5, meddle)
		if _, err := Make(t.Context(), c, wants("a", "b", "c")); err != nil {
			t.Fatal(err)
		}
		if patches.Load() != 4 || lists.Load() != 3 {
			t.Errorf("%d patches and %d lists; want one failed patch and one for each of three hosts, and as many lists as without the loss", patches.Load(), lists.Load())
		}
		mine := 0
		for name, holder := range holders(t, c) {
			if name != "host-2" && holder != "machine-1/" {
				mine++
			}
		}
		if mine != 3 {
			t.Errorf("holders %v; want three hosts ours and host-2 theirs", holders(t, c))
		}
	})
}

// TestLossesEnd checks that a claim ends even if another client always takes the host that the
// claim tries, and gives back the previous one. At any time there is a sufficient host, but the
// claim never gets it.
func TestLossesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		last := ""
		c := site(4, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
				if last != "" && last != obj.GetName() {
					h := get(t, c, last)
					h.Spec.ConsumerRef = nil
					expectNoError(t, c.Update(ctx, h))
				}
				last = obj.GetName()
				expectNoError(t, seize(c, last, "machine-1"))
				return c.Patch(ctx, obj, p, opts...)
			},
		})
		if _, err := Make(t.Context(), c, wants("a")); err == nil {
			t.Error("claimed a host of another holder")
		}
		expectNothingHeld(t, c)
	})
}

// TestClose checks that a claimant that must keep to the order of names keeps the hosts that it
// holds.
func TestClose(t *testing.T) {
	me := hosts.Owner{Namespace: namespace, Name: "edge-1"}
	ours := hosts.Host{Name: "host-1", Holder: &hosts.Holder{Group: hosts.Group, Kind: hosts.Kind, Namespace: namespace, Name: "edge-1"}}
	w := snapshot{facts: []hosts.Host{ours, {Name: "host-2"}, {Name: "host-3"}, {Name: "host-4"}}}
	w.excludeUpTo("host-3", me)
	for i, closed := range []bool{false, true, true, false} {
		if h := w.facts[i]; (h.Unusable != "") != closed {
			t.Errorf("%s is %q", h.Name, h.Unusable)
		}
	}
}
