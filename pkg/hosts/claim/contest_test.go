package claim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
)

// shuffled returns an interceptor that lets other claimants run before and after each write, so
// that the claimants interleave in all possible ways.
func shuffled() interceptor.Funcs {
	return interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
			for range rand.N(4) {
				runtime.Gosched()
			}
			defer runtime.Gosched()
			return c.Patch(ctx, obj, p, opts...)
		},
	}
}

// TestContest lets claimants compete for fewer hosts than all of them need together. No host may
// have two holders, every claimant must get all its hosts or none, and at least one claimant must
// succeed.
func TestContest(t *testing.T) {
	for round := range 150 {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(round), 7))
			c := site(5, shuffled())
			sizes := make([]int, 2+r.IntN(3))
			failed := make([]error, len(sizes))
			var all sync.WaitGroup
			for i := range sizes {
				sizes[i] = 1 + r.IntN(4)
				request := wants()
				request.Provisioning = fmt.Sprintf("edge-%d", i)
				for n := range sizes[i] {
					request.Slots = append(request.Slots, contract.Slot{Name: fmt.Sprintf("n%d", n), Needs: contract.Needs{CPU: 8}})
				}
				// One node of each claimant is pinned to a random host, so that the claimants want
				// different sets of hosts.
				request.Slots[0].MAC = fmt.Sprintf("02:00:00:00:00:%02x", 1+r.IntN(5))
				all.Go(func() { _, failed[i] = Make(t.Context(), c, request) })
			}
			all.Wait()
			checkWinners(t, c, sizes, failed)
		})
	}
}

// checkWinners checks the holders of the hosts after all claims have ended.
func checkWinners(t *testing.T, c client.Client, sizes []int, failed []error) {
	t.Helper()
	got := map[string]int{}
	for _, holder := range holders(t, c) { // a host with one consumerRef counts for one claim only, so the numbers show whether two claims share a host
		name, _, _ := strings.Cut(holder, "/")
		got[name]++
	}
	winners := 0
	for i, want := range sizes {
		name := fmt.Sprintf("edge-%d", i)
		var nofit *assign.NoFit
		switch {
		case failed[i] == nil:
			winners++
			if got[name] != want {
				t.Errorf("%s won %d hosts and holds %d", name, want, got[name])
			}
		case !errors.As(failed[i], &nofit) && !errors.Is(failed[i], ErrContested):
			t.Errorf("%s: %v", name, failed[i])
		case got[name] != 0:
			t.Errorf("%s lost and still holds %d hosts", name, got[name])
		}
	}
	if winners == 0 {
		t.Errorf("no claimant succeeded: %v", failed)
	}
}
