package claim

import (
	"context"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// Mark writes the annotation contract.AnnotationUsedBy to those of the named hosts that the owner
// holds. It returns the names of the hosts that it changed. The mark of an earlier user stays,
// because the host was not reset since.
func Mark(ctx context.Context, c client.Client, owner hosts.Owner, user contract.User, names []string) ([]string, error) {
	all, err := changeAll(ctx, c, owner, unread(names), "mark", func(host *metal3.BareMetalHost) {
		if _, used := host.Annotations[contract.AnnotationUsedBy]; used {
			return
		}
		if host.Annotations == nil {
			host.Annotations = map[string]string{}
		}
		host.Annotations[contract.AnnotationUsedBy] = user.String()
	})
	return namesOf(all), err
}

// Unmark removes the annotation contract.AnnotationUsedBy from those of the named hosts that the
// owner holds. It returns the names of the hosts that it changed.
func Unmark(ctx context.Context, c client.Client, owner hosts.Owner, names []string) ([]string, error) {
	all, err := changeAll(ctx, c, owner, unread(names), "remove the mark of", func(host *metal3.BareMetalHost) {
		delete(host.Annotations, contract.AnnotationUsedBy)
	})
	return namesOf(all), err
}
