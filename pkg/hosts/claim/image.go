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

// Image asks Metal3 to put the image on the owner's hosts of these names, each for the given node, and tells which it asked for. Done twice it
// is done once: a host that is not the owner's, is not that node, or has an operating system or an image is left alone. The client must read from
// the API server.
func Image(ctx context.Context, c client.Client, me hosts.Owner, image contract.OSImage, nodes map[string]string) ([]string, error) {
	return changeAll(ctx, c, me, unread(slices.Collect(maps.Keys(nodes))), "give an operating system to", func(host *metal3.BareMetalHost) {
		node := nodes[host.Name]
		if h := facts.Of(host, nil); h.Bare && h.Node == node {
			imaging.Put(host, image, node)
		}
	})
}

// ReleaseGivenUp releases those of the named hosts that a task has given up and not taken again since.
func ReleaseGivenUp(ctx context.Context, c client.Client, me hosts.Owner, names []string) ([]string, error) {
	return changeAll(ctx, c, me, unread(names), "release", func(host *metal3.BareMetalHost) {
		if host.Labels[contract.LabelRelease] != "" {
			free(host)
		}
	})
}
