package claim

import (
	"context"
	"reflect"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// change edits a host that the owner holds, and reports whether the host was changed. known is the
// host as last read; nil: change reads the host first. After a conflict it reads the host again and
// repeats the edit. It does not change a host that does not exist or has another holder. now is the
// host after that; nil: it does not exist, the owner did not hold it, or an error occurred.
func change(
	ctx context.Context, c client.Client, owner hosts.Owner, name string, known *metal3.BareMetalHost, edit func(*metal3.BareMetalHost),
) (now *metal3.BareMetalHost, done bool, err error) {
	host := known
	for range rereads {
		if host == nil {
			host = &metal3.BareMetalHost{}
			if err = c.Get(ctx, client.ObjectKey{Namespace: owner.HostNamespace(), Name: name}, host); err != nil {
				return nil, false, client.IgnoreNotFound(err)
			}
		}
		if !owner.Holds(facts.Of(host, nil)) {
			return nil, false, nil
		}
		changed := host.DeepCopy()
		if edit(changed); same(host, changed) {
			return host, false, nil
		}
		if err = write(ctx, c, host, changed); err == nil {
			return changed, true, nil
		}
		if !apierrors.IsConflict(err) {
			return nil, false, client.IgnoreNotFound(err)
		}
		host = nil
	}
	return nil, false, err
}

// write sends the changes of a host, unless another client has changed the host since it was read.
// It sends a patch instead of an update, so that fields that only newer versions of Metal3 know are
// kept. The patch contains the resourceVersion. Therefore, the API server rejects it after a change
// by another client, like an update. If write succeeds, changed is the host as stored by the API
// server.
func write(ctx context.Context, c client.Client, host, changed *metal3.BareMetalHost) error {
	return c.Patch(ctx, changed, client.MergeFromWithOptions(host, client.MergeFromWithOptimisticLock{}))
}

func same(host, changed *metal3.BareMetalHost) bool {
	return reflect.DeepEqual(host.Labels, changed.Labels) && reflect.DeepEqual(host.Annotations, changed.Annotations) &&
		reflect.DeepEqual(host.Spec, changed.Spec)
}
