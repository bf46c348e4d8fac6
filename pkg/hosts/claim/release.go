package claim

import (
	"context"
	"errors"
	"fmt"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// Release gives back those of the named hosts that are the owner's own, and tells which it did. A host that is gone or somebody else's is
// none of our business. It tries all, whatever fails on the way.
func Release(ctx context.Context, c client.Client, me hosts.Owner, names []string) (released []string, err error) {
	var failed []error
	for _, name := range names {
		did, err := releaseOne(ctx, c, me, name)
		if err != nil {
			failed = append(failed, fmt.Errorf("release host %s: %w", name, err))
		}
		if did {
			released = append(released, name)
		}
	}
	return released, errors.Join(failed...)
}

// ReleaseAll gives back every host of the namespace that is the owner's own.
func ReleaseAll(ctx context.Context, c client.Client, me hosts.Owner) (released []string, err error) {
	var list metal3.BareMetalHostList
	if err := c.List(ctx, &list, client.InNamespace(me.Namespace)); err != nil {
		return nil, fmt.Errorf("list the BareMetalHosts of namespace %s: %w", me.Namespace, err)
	}
	var ours []string
	for i := range list.Items {
		if me.Holds(facts.Of(&list.Items[i], nil)) {
			ours = append(ours, list.Items[i].Name)
		}
	}
	return Release(ctx, c, me, ours)
}

func releaseOne(ctx context.Context, c client.Client, me hosts.Owner, name string) (bool, error) {
	var err error
	for range rereads {
		host := &metal3.BareMetalHost{}
		if err = c.Get(ctx, client.ObjectKey{Namespace: me.Namespace, Name: name}, host); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		if !me.Holds(facts.Of(host, nil)) {
			return false, nil
		}
		changed := host.DeepCopy()
		changed.Spec.ConsumerRef = nil
		dropLabels(changed)
		if err = patch(ctx, c, host, changed); !apierrors.IsConflict(err) {
			return err == nil, client.IgnoreNotFound(err)
		}
	}
	return false, err
}
