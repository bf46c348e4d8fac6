package claim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
)

// atOnce bounds how many hosts are changed at the same time. Their order does not matter: nobody waits for the second to give back the first.
const atOnce = 4

// Release gives back those of the named hosts that are the owner's own, and tells which it did. A host that is gone or somebody else's is
// none of our business. It tries all, whatever fails on the way. What we put on a host, Metal3 takes off: that is in the same write.
func Release(ctx context.Context, c client.Client, me hosts.Owner, names []string) (released []string, err error) {
	return changeAll(ctx, c, me, unread(names), "release", free)
}

// unread are hosts by name of which nothing is known yet.
func unread(names []string) map[string]*metal3.BareMetalHost {
	known := map[string]*metal3.BareMetalHost{}
	for _, name := range names {
		known[name] = nil
	}
	return known
}

// ReleaseAll gives back every host of the namespace that is the owner's own by its consumerRef and has the label of its claim, and those of the further
// names: by them a cache tells of hosts whose label somebody took away. So the API server need not send all hosts to tell of a few.
func ReleaseAll(ctx context.Context, c client.Client, me hosts.Owner, further ...string) (released []string, err error) {
	var list metal3.BareMetalHostList
	if err := c.List(ctx, &list, client.InNamespace(me.Namespace), client.MatchingLabels{contract.LabelCluster: me.Name}); err != nil {
		return nil, fmt.Errorf("list the BareMetalHosts of namespace %s: %w", me.Namespace, err)
	}
	ours := map[string]*metal3.BareMetalHost{}
	for _, name := range further {
		ours[name] = nil
	}
	for i := range list.Items {
		if host := &list.Items[i]; me.Holds(facts.Of(host, nil)) {
			ours[host.Name] = host
		}
	}
	return changeAll(ctx, c, me, ours, "release", free)
}

// changeAll edits those of the hosts that are the owner's own, of which some are known as they last were (nil: not known), and tells which it
// changed. It tries all, whatever fails on the way; what is the verb of the errors.
func changeAll(
	ctx context.Context, c client.Client, me hosts.Owner, known map[string]*metal3.BareMetalHost, what string, edit func(*metal3.BareMetalHost),
) (changed []string, err error) {
	names := slices.Sorted(maps.Keys(known))
	failed := make([]error, len(names))
	var lock sync.Mutex
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i, name := range names {
		all.Go(func() error {
			did, err := change(ctx, c, me, name, known[name], edit)
			if err != nil {
				failed[i] = fmt.Errorf("%s host %s: %w", what, name, err)
			}
			if did {
				lock.Lock()
				defer lock.Unlock()
				changed = append(changed, name)
			}
			return nil
		})
	}
	_ = all.Wait() // the errors are in failed
	slices.Sort(changed)
	return changed, errors.Join(failed...)
}

// free makes a host nobody's, and bare again if it was before. It is the controller's: a task may not touch the image.
func free(host *metal3.BareMetalHost) {
	imaging.TakeAway(host)
	host.Spec.ConsumerRef = nil
	dropLabels(host)
}

// giveUp is how a task releases a host of this Provisioning. A host with an image of ours stays held, for no node, and is marked for the controller:
// it must not be free, and somebody else's, while Metal3 still has our image to remove.
func giveUp(provisioning string) func(*metal3.BareMetalHost) {
	return func(host *metal3.BareMetalHost) {
		if !imaging.Ours(host) {
			free(host)
			return
		}
		dropLabels(host)
		setLabel(host, contract.LabelCluster, provisioning)
		setLabel(host, contract.LabelRelease, "true")
	}
}
