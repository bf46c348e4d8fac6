package claim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

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
// set an image on a host, Release removes the image, and the host stays held until Metal3 has
// deprovisioned it. leaving lists these hosts: the caller must call Release again later.
func Release(ctx context.Context, c client.Client, owner hosts.Owner, names []string) (released []string, leaving []hosts.Leaving, err error) {
	changed, err := changeAll(ctx, c, owner, unread(names), "release", vacate(owner))
	released, leaving = split(owner, changed)
	return released, leaving, err
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

// ReleaseAll is like Release for all hosts of the namespace that the owner holds by consumerRef. It
// finds them by the label of the claim, so that the API server need not send all hosts of the
// namespace. Hosts that may have lost this label must be named in further. A caller with a cache
// can find them by consumerRef.
func ReleaseAll(ctx context.Context, c client.Client, owner hosts.Owner, further ...string) (released []string, leaving []hosts.Leaving, err error) {
	ours, err := allOf(ctx, c, owner, further)
	if err != nil {
		return nil, nil, err
	}
	changed, err := changeAll(ctx, c, owner, ours, "release", vacate(owner))
	released, leaving = split(owner, changed)
	return released, leaving, err
}

// Retain is like ReleaseAll, but leaves the hosts as they are: it removes only the claim. An image
// of BPA stays on its host and then belongs to the user. Retain waits for nothing, so it also
// releases hosts whose deprovisioning fails.
func Retain(ctx context.Context, c client.Client, owner hosts.Owner, further ...string) (released []string, err error) {
	ours, err := allOf(ctx, c, owner, further)
	if err != nil {
		return nil, err
	}
	changed, err := changeAll(ctx, c, owner, ours, "release", func(host *metal3.BareMetalHost) {
		imaging.Disown(host)
		forgetFence(host)
		free(host)
	})
	released, _ = split(owner, changed)
	return released, err
}

// allOf returns the hosts that the owner holds and that have the label of the claim, and the hosts
// in further with the value nil.
func allOf(ctx context.Context, c client.Client, owner hosts.Owner, further []string) (map[string]*metal3.BareMetalHost, error) {
	var list metal3.BareMetalHostList
	if err := c.List(ctx, &list, client.InNamespace(owner.HostNamespace()), client.MatchingLabels{contract.LabelCluster: owner.Name}); err != nil {
		return nil, fmt.Errorf("list the BareMetalHosts of namespace %s: %w", owner.HostNamespace(), err)
	}
	ours := unread(further)
	for i := range list.Items {
		if host := &list.Items[i]; owner.Holds(facts.Of(host, nil)) {
			ours[host.Name] = host
		}
	}
	return ours, nil
}

// outcome is a host after changeAll.
type outcome struct {
	name    string
	host    *metal3.BareMetalHost // nil: it does not exist, the owner did not hold it, or an error occurred
	changed bool
}

// namesOf returns the names of the hosts that were changed.
func namesOf(all []outcome) (names []string) {
	for _, o := range all {
		if o.changed {
			names = append(names, o.name)
		}
	}
	return names
}

// split returns the hosts that are free now, and the hosts that the owner still holds.
func split(owner hosts.Owner, all []outcome) (released []string, leaving []hosts.Leaving) {
	for _, o := range all {
		switch {
		case o.host == nil:
		case owner.Holds(facts.Of(o.host, nil)):
			leaving = append(leaving, leavingOf(o.host))
		case o.changed:
			released = append(released, o.name)
		}
	}
	return released, leaving
}

func leavingOf(host *metal3.BareMetalHost) hosts.Leaving {
	l := hosts.Leaving{Host: host.Name, State: string(host.Status.Provisioning.State)}
	switch is := facts.Of(host, nil); {
	case paused(host) || detached(host): // Metal3 does not touch it
		l.Error = is.Unusable
	case host.Status.ErrorMessage != "":
		l.Error = is.Trouble
	}
	return l
}

func paused(host *metal3.BareMetalHost) bool {
	_, is := host.Annotations[metal3.PausedAnnotation]
	return is
}

func detached(host *metal3.BareMetalHost) bool {
	_, is := host.Annotations[metal3.DetachedAnnotation]
	return is
}

// changeAll edits the hosts whose names are the keys of known, if the owner holds them, and returns
// all hosts, sorted by name. The values of known are the hosts as last read; nil: not read yet. It
// continues after an error. verb is the word for the edit in error messages.
func changeAll(
	ctx context.Context, c client.Client, owner hosts.Owner, known map[string]*metal3.BareMetalHost, verb string, edit func(*metal3.BareMetalHost),
) ([]outcome, error) {
	names := slices.Sorted(maps.Keys(known))
	failed, all := make([]error, len(names)), make([]outcome, len(names))
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i, name := range names {
		group.Go(func() error {
			host, changed, err := change(ctx, c, owner, name, known[name], edit)
			all[i] = outcome{name, host, changed}
			if err != nil {
				failed[i] = fmt.Errorf("%s host %s: %w", verb, name, err)
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors: these are in failed
	return all, errors.Join(failed...)
}

// free removes the holder of a host.
func free(host *metal3.BareMetalHost) {
	host.Spec.ConsumerRef = nil
	dropLabels(host)
}

// vacate returns the edit by which the controller releases a host. As long as Metal3 has to remove
// an image of BPA, the host stays held, but for no node, and gets a label that tells the controller
// to release it later: another holder must not get a host that Metal3 is about to erase. A task may
// not do this, because it may not change the image (see giveUp).
func vacate(owner hosts.Owner) func(*metal3.BareMetalHost) {
	return func(host *metal3.BareMetalHost) {
		imaged := imaging.Ours(host)
		if imaged && detached(host) {
			setAside(host, owner.Name, contract.ReleaseUnused)
			return
		}
		imaging.TakeAway(host)
		forgetFence(host)
		_, marked := host.Labels[contract.LabelRelease]
		if facts.Leaving(host) && (imaged || marked) {
			setAside(host, owner.Name, contract.ReleaseUnused)
			return
		}
		free(host)
	}
}

// giveUp returns the edit by which a task releases a host of this Provisioning. The controller must
// release a host with an image of BPA, a host that Metal3 still deprovisions, and a host whose
// failure it has not recorded yet. Such a host stays held for no node and gets the label for that.
func giveUp(provisioning string) func(*metal3.BareMetalHost) {
	return func(host *metal3.BareMetalHost) {
		reason := host.Labels[contract.LabelRelease]
		if imaging.Ours(host) || facts.Leaving(host) && reason != "" || reason == contract.ReleaseImageFailed {
			setAside(host, provisioning, contract.ReleaseUnused)
			return
		}
		free(host)
	}
}

// setAside removes the node of a held host and marks the host for its release. An earlier mark
// keeps its reason.
func setAside(host *metal3.BareMetalHost, provisioning, reason string) {
	if earlier := host.Labels[contract.LabelRelease]; earlier != "" {
		reason = earlier
	}
	dropLabels(host)
	setLabel(host, contract.LabelCluster, provisioning)
	setLabel(host, contract.LabelRelease, reason)
}
