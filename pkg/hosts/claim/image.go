package claim

import (
	"context"
	"maps"
	"slices"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
)

// Image asks Metal3 to install the image on those of the named hosts that the owner holds. nodes
// maps the name of each host to its node. Image returns the names of the hosts that it changed.
//
// A second call changes nothing: Image does not change a host that the owner does not hold, that is
// held for another node, or that has an operating system or an image. The client must read from the
// API server.
func Image(ctx context.Context, c client.Client, owner hosts.Owner, image contract.OSImage, nodes map[string]string) ([]string, error) {
	all, err := changeAll(ctx, c, owner, unread(slices.Collect(maps.Keys(nodes))), "set the image of", func(host *metal3.BareMetalHost) {
		node := nodes[host.Name]
		if h := facts.Of(host, nil); h.Bare && h.Node == node {
			imaging.Put(host, image, node)
		}
	})
	return namesOf(all), err
}

// PowerOn asks Metal3 to switch on those of the named hosts that the owner holds for a node. It
// returns the names of the hosts that it changed. It does not record the earlier state, so a
// release leaves the hosts on. It changes no paused and no detached host.
func PowerOn(ctx context.Context, c client.Client, owner hosts.Owner, names []string) ([]string, error) {
	all, err := changeAll(ctx, c, owner, unread(names), "switch on", func(host *metal3.BareMetalHost) {
		if h := facts.Of(host, nil); h.Offline && h.Node != "" {
			host.Spec.Online = true
			forgetFence(host)
		}
	})
	return namesOf(all), err
}

// ReleaseGivenUp is like Release for those of the named hosts that a task has given up and that
// were not claimed again since. It returns the names of the hosts that are free now.
func ReleaseGivenUp(ctx context.Context, c client.Client, owner hosts.Owner, names []string) ([]string, error) {
	release := vacate(owner)
	all, err := changeAll(ctx, c, owner, unread(names), "release", func(host *metal3.BareMetalHost) {
		if host.Labels[contract.LabelRelease] != "" {
			release(host)
		}
	})
	released, _ := split(owner, all)
	return released, err
}
