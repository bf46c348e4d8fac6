package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// The functions of this file read only the BareMetalHost of a host. They do not read its
// HardwareData, because their callers do not need the hardware.

// Held returns the hosts that an owner holds.
func (c *Cache) Held(ctx context.Context, owner hosts.Owner) ([]hosts.Host, error) {
	var held []hosts.Host
	err := c.each(ctx, func(host *metal3.BareMetalHost) {
		if h := facts.Of(host, nil); owner.Holds(h) {
			held = append(held, h)
		}
	}, client.InNamespace(owner.HostNamespace()), client.MatchingFields{indexHolder: owner.Namespace + "/" + owner.Name})
	return held, err
}

// Orphans returns, by owner, the names of the hosts that are held for a Provisioning that does not
// exist.
func (c *Cache) Orphans(ctx context.Context, exists func(hosts.Owner) bool) (map[hosts.Owner][]string, error) {
	orphans := map[hosts.Owner][]string{}
	err := c.each(ctx, func(host *metal3.BareMetalHost) {
		h := facts.Of(host, nil)
		if owner := ownerOf(host.Namespace, h); owner.Holds(h) && !exists(owner) {
			orphans[owner] = append(orphans[owner], h.Name)
		}
	})
	return orphans, err
}

// ownerOf returns the holder of a host of a namespace in the form of an owner. The result does not tell whether
// the holder is a Provisioning.
func ownerOf(namespace string, h hosts.Host) hosts.Owner {
	if h.Holder == nil {
		return hosts.Owner{}
	}
	return hosts.OwnerIn(namespace, h.Holder.Namespace, h.Holder.Name)
}

// NetworkDataSecrets returns the names of the Secrets with the network data of the named hosts. A
// name can occur twice.
func (c *Cache) NetworkDataSecrets(ctx context.Context, namespace string, names []string) ([]string, error) {
	var secrets []string
	for _, name := range names {
		host := &metal3.BareMetalHost{}
		if err := c.cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, host); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get BareMetalHost %s: %w", name, err)
		}
		if secret := facts.NetworkDataSecret(host); secret != "" {
			secrets = append(secrets, secret)
		}
	}
	return secrets, nil
}

// each calls the function do for every host of the cache that the options select. The hosts are not
// copied and must not be changed.
func (c *Cache) each(ctx context.Context, do func(*metal3.BareMetalHost), options ...client.ListOption) error {
	var list metal3.BareMetalHostList
	if err := c.cache.List(ctx, &list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return fmt.Errorf("list BareMetalHosts: %w", err)
	}
	for i := range list.Items {
		do(&list.Items[i])
	}
	return nil
}

// Named returns hosts by name. Hosts that do not exist are left out.
func (c *Cache) Named(ctx context.Context, namespace string, names []string) ([]hosts.Host, error) {
	return named(ctx, c.cache, namespace, names)
}

// NamedLive is like Named, but reads from the API server instead of the cache.
func (c *Cache) NamedLive(ctx context.Context, namespace string, names []string) ([]hosts.Host, error) {
	return named(ctx, c.live, namespace, names)
}

// HeldLive is like Held, but reads from the API server itself. Like Release, it finds the hosts by
// the label of the claim, and those that the cache shows without this label.
func (c *Cache) HeldLive(ctx context.Context, owner hosts.Owner) ([]hosts.Host, error) {
	held, err := c.Held(ctx, owner)
	if err != nil {
		return nil, err
	}
	var list metal3.BareMetalHostList
	if err := c.live.List(ctx, &list, client.InNamespace(owner.HostNamespace()), client.MatchingLabels{contract.LabelCluster: owner.Name}); err != nil {
		return nil, fmt.Errorf("list the BareMetalHosts of namespace %s: %w", owner.HostNamespace(), err)
	}
	var all []hosts.Host
	for i := range list.Items {
		if h := facts.Of(&list.Items[i], nil); owner.Holds(h) {
			all = append(all, h)
		}
	}
	var others []string
	for _, h := range held {
		if !slices.ContainsFunc(all, func(a hosts.Host) bool { return a.Name == h.Name }) {
			others = append(others, h.Name)
		}
	}
	further, err := c.NamedLive(ctx, owner.HostNamespace(), others)
	for _, h := range further {
		if owner.Holds(h) {
			all = append(all, h)
		}
	}
	return all, err
}

func named(ctx context.Context, reader client.Reader, namespace string, names []string) ([]hosts.Host, error) {
	var found []hosts.Host
	for _, name := range names {
		host := &metal3.BareMetalHost{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, host)
		switch {
		case isGone(err, name):
		case err != nil:
			return nil, fmt.Errorf("get BareMetalHost %s: %w", name, err)
		default:
			found = append(found, facts.Of(host, nil))
		}
	}
	return found, nil
}

// isGone reports whether an error means that this one host does not exist. The API server also
// answers 404 if the whole kind is missing for a moment; this does not mean that the host is lost.
func isGone(err error, name string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name == name
}
