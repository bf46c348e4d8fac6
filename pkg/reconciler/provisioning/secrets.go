package provisioning

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/imaging"
)

// mostSecrets bounds what one template is filled in for, and mostBytes the names in one Role in all: the API server stores no object above 1.5 MiB.
const (
	mostSecrets = 20_000
	mostBytes   = 1 << 20
)

// secretsOfTask are the names, sorted, of the Secrets that select-hosts reads by itself: those that the hosts which it may choose could be given
// with an OS image, and those that tell of addresses that the hardware facts may not tell of. Which hosts it chooses it decides anew.
func (r *Reconciler) secretsOfTask(ctx context.Context, p *v1alpha1.Provisioning, request contract.Request) ([]string, error) {
	all, err := r.hosts.All(ctx, p.Namespace)
	if err != nil {
		return nil, fmt.Errorf("list the hosts of namespace %s: %w", p.Namespace, err)
	}
	var unread []string
	for _, h := range all {
		if h.WantsNetworkData("", request.Access) { // a pin can only make it unnecessary
			unread = append(unread, h.Name)
		}
	}
	names, err := r.hosts.NetworkDataSecrets(ctx, p.Namespace, unread)
	if err != nil {
		return nil, fmt.Errorf("find the network data of the hosts of namespace %s: %w", p.Namespace, err)
	}
	if request.OSImage != nil {
		given, err := secretsOfImage(request, all)
		if err != nil {
			return nil, err
		}
		names = append(names, given...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if n := len(strings.Join(names, `","`)); n > mostBytes {
		return nil, fmt.Errorf("the hosts that fit could need %d Secrets, whose names of %d bytes fit into no Role, %d are the most: leave $(host) or $(node) out of "+
			"spec.osImage, or spread the hosts over several namespaces", len(names), n, mostBytes)
	}
	return names, nil
}

// secretsOfImage are the names that go with the image, for every host and node that may come together.
func secretsOfImage(request contract.Request, all []hosts.Host) ([]string, error) {
	me := hosts.OwnerOf(request)
	var bare []string
	for _, h := range all {
		if h.Bare && h.Unusable == "" && (h.Holder == nil || me.Holds(h)) {
			bare = append(bare, h.Name)
		}
	}
	nodes := nodeNames(request, all)
	found := map[string]bool{}
	for _, template := range []string{request.OSImage.UserData, request.OSImage.NetworkData, request.OSImage.MetaData} {
		ofHosts, ofNodes := []string{""}, []string{""}
		if strings.Contains(template, "$(host)") {
			ofHosts = bare
		}
		if strings.Contains(template, "$(node)") {
			ofNodes = nodes
		}
		if n := len(ofHosts) * len(ofNodes); template == "" {
			continue
		} else if n > mostSecrets {
			return nil, fmt.Errorf("spec.osImage names a Secret %s for each of %d pairs of host and node, and %d names are the most: leave $(host) or $(node) out",
				template, n, mostSecrets)
		}
		for _, host := range ofHosts {
			for _, node := range ofNodes {
				found[imaging.Expand(template, host, node)] = true
			}
		}
	}
	return slices.Collect(maps.Keys(found)), nil
}

// nodeNames are the names that nodes may get: of a set the lowest numbers that none of its held hosts has.
func nodeNames(request contract.Request, all []hosts.Host) []string {
	var names []string
	for _, s := range request.Slots {
		names = append(names, s.Name)
	}
	for _, set := range request.Sets {
		most := set.Active + set.Standby
		for _, h := range all {
			if hosts.OwnerOf(request).Holds(h) && h.Set == set.Name {
				names = append(names, h.Node)
				most++
			}
		}
		for n := range most {
			names = append(names, fmt.Sprintf("%s-%d", set.Name, n+1))
		}
	}
	return names
}
