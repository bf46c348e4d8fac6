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

// maxParallel limits how many hosts are changed at the same time. Hosts can be released in any
// order, because no claimant holds one host while it waits for another.
const maxParallel = 4

// Release gives back those of the named hosts that the owner holds, and returns their names. It
// ignores hosts that do not exist or have another holder, and continues after an error. If BPA has
// set an image on a host, the same write removes the image, so that Metal3 deprovisions the host.
func Release(ctx context.Context, c client.Client, owner hosts.Owner, names []string) (released []string, err error) {
	return changeAll(ctx, c, owner, unread(names), "release", free)
}

// unread returns a map with the value nil for each named host. This means that the host has not
// been read yet.
func unread(names []string) map[string]*metal3.BareMetalHost {
	known := map[string]*metal3.BareMetalHost{}
	for _, name := range names {
		known[name] = nil
	}
	return known
}

// ReleaseAll gives back all hosts of the namespace that the owner holds by consumerRef. It finds
// them by the label of the claim, so that the API server need not send all hosts of the namespace.
// Hosts that may have lost this label must be named in further. A caller with a cache can find them
// by consumerRef.
func ReleaseAll(ctx context.Context, c client.Client, owner hosts.Owner, further ...string) (released []string, err error) {
	var list metal3.BareMetalHostList
	if err := c.List(ctx, &list, client.InNamespace(owner.Namespace), client.MatchingLabels{contract.LabelCluster: owner.Name}); err != nil {
		return nil, fmt.Errorf("list the BareMetalHosts of namespace %s: %w", owner.Namespace, err)
	}
	ours := map[string]*metal3.BareMetalHost{}
	for _, name := range further {
		ours[name] = nil
	}
	for i := range list.Items {
		if host := &list.Items[i]; owner.Holds(facts.Of(host, nil)) {
			ours[host.Name] = host
		}
	}
	return changeAll(ctx, c, owner, ours, "release", free)
}

// changeAll edits the hosts whose names are the keys of known, if the owner holds them, and returns
// the names of the hosts that it changed. The values of known are the hosts as last read; nil: not
// read yet. It continues after an error. verb is the word for the edit in error messages.
func changeAll(
	ctx context.Context, c client.Client, owner hosts.Owner, known map[string]*metal3.BareMetalHost, verb string, edit func(*metal3.BareMetalHost),
) (changed []string, err error) {
	names := slices.Sorted(maps.Keys(known))
	failed := make([]error, len(names))
	var lock sync.Mutex
	var all errgroup.Group
	all.SetLimit(maxParallel)
	for i, name := range names {
		all.Go(func() error {
			done, err := change(ctx, c, owner, name, known[name], edit)
			if err != nil {
				failed[i] = fmt.Errorf("%s host %s: %w", verb, name, err)
			}
			if done {
				lock.Lock()
				defer lock.Unlock()
				changed = append(changed, name)
			}
			return nil
		})
	}
	_ = all.Wait() // the functions return no errors: these are in failed
	slices.Sort(changed)
	return changed, errors.Join(failed...)
}

// free removes the holder of a host, and the image that BPA has set on it. Only the controller may
// call free for a host with such an image, because a task may not change the image.
func free(host *metal3.BareMetalHost) {
	imaging.TakeAway(host)
	host.Spec.ConsumerRef = nil
	dropLabels(host)
}

// giveUp returns the edit by which a task releases a host of this Provisioning. A host with an
// image of BPA stays held, but for no node, and gets a label that tells the controller to release
// it. Other holders must not claim the host while Metal3 still has to remove the image.
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
