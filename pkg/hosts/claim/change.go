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

// change edits a host that is the owner's, and tells whether there was anything to change. It starts from the host as it is known, if it is, and
// reads it again after a conflict. A host that is gone or somebody else's is left alone.
func change(ctx context.Context, c client.Client, me hosts.Owner, name string, known *metal3.BareMetalHost, edit func(*metal3.BareMetalHost)) (bool, error) {
	host, err := known, error(nil)
	for range rereads {
		if host == nil {
			host = &metal3.BareMetalHost{}
			if err = c.Get(ctx, client.ObjectKey{Namespace: me.Namespace, Name: name}, host); err != nil {
				return false, client.IgnoreNotFound(err)
			}
		}
		changed := host.DeepCopy()
		if edit(changed); !me.Holds(facts.Of(host, nil)) || same(host, changed) {
			return false, nil
		}
		if err = write(ctx, c, host, changed); !apierrors.IsConflict(err) {
			return err == nil, client.IgnoreNotFound(err)
		}
		host = nil
	}
	return false, err
}

// write sends what has changed, if nobody has changed the host since it was read. It is a patch, so that fields of newer versions of Metal3 are
// kept, with the resourceVersion in it, so that it fails where an update would. Then changed is the host as the API server has it.
func write(ctx context.Context, c client.Client, host, changed *metal3.BareMetalHost) error {
	return c.Patch(ctx, changed, client.MergeFromWithOptions(host, client.MergeFromWithOptimisticLock{}))
}

func same(host, changed *metal3.BareMetalHost) bool {
	return reflect.DeepEqual(host.Labels, changed.Labels) && reflect.DeepEqual(host.Annotations, changed.Annotations) &&
		reflect.DeepEqual(host.Spec, changed.Spec)
}
