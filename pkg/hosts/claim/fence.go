package claim

import (
	"context"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// Fence asks Metal3 to power off those of the named hosts that the owner holds, that
// are lost, and that Metal3 can power off. It records the time and the user on the host, and returns
// the names of the hosts that it changed. It never changes a host that has another holder or none.
func Fence(ctx context.Context, c client.Client, owner hosts.Owner, user contract.User, names []string, at time.Time) ([]string, error) {
	all, err := changeAll(ctx, c, owner, unread(names), "power off", func(host *metal3.BareMetalHost) {
		h := facts.Of(host, nil)
		if !h.Lost || !h.PowerManaged || h.Holder.UID != user.UID {
			return
		}
		if host.Annotations == nil {
			host.Annotations = map[string]string{}
		}
		host.Spec.Online = false
		host.Annotations[contract.AnnotationFenced] = at.UTC().Format(time.RFC3339) + " " + user.String()
		host.Annotations[facts.AnnotationPowerOff] = facts.PowerOffHard
	})
	return namesOf(all), err
}

// Unfence asks Metal3 to power on those of the named hosts that the owner holds, that Fence has
// powered off, and that are not lost any more. It returns the names of the hosts that it changed. It
// changes no paused and no detached host.
func Unfence(ctx context.Context, c client.Client, owner hosts.Owner, names []string) ([]string, error) {
	all, err := changeAll(ctx, c, owner, unread(names), "power on", func(host *metal3.BareMetalHost) {
		if h := facts.Of(host, nil); h.Fence != (hosts.Fence{}) && !h.Lost && !paused(host) && !detached(host) {
			host.Spec.Online = true
			forgetFence(host)
		}
	})
	return namesOf(all), err
}

// forgetFence removes the record of Fence. The host stays off as long as its spec requests so.
func forgetFence(host *metal3.BareMetalHost) {
	delete(host.Annotations, contract.AnnotationFenced)
	delete(host.Annotations, facts.AnnotationPowerOff)
}
