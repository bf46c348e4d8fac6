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

// mostSecrets limits the number of names from one template. mostBytes limits the size of the names
// in one Role, in bytes. The API server stores no object above 1.5 MiB.
const (
	mostSecrets = 20_000
	mostBytes   = 1 << 20
)

// secretsOfTask returns the names, sorted, of the Secrets that select-hosts reads itself: Secrets
// that the hosts which the task may choose could receive with an OS image, and Secrets with
// addresses that the hardware facts may not contain. The task itself makes the final choice of
// hosts.
func (r *Reconciler) secretsOfTask(ctx context.Context, p *v1alpha1.Provisioning, request contract.Request) ([]string, error) {
	all, err := r.hosts.All(ctx, p.Namespace)
	if err != nil {
		return nil, fmt.Errorf("list the hosts of namespace %s: %w", p.Namespace, err)
	}
	var unread []string
	for _, h := range all {
		if h.WantsNetworkData("", request.Access) { // with a pinned MAC address, the data may be unnecessary
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
		return nil, fmt.Errorf("the hosts that fit could need %d Secrets, and their names have %d bytes, more than the limit of %d for one Role: remove $(host) or $(node) from "+
			"spec.osImage, or spread the hosts over several namespaces", len(names), n, mostBytes)
	}
	return names, nil
}

// secretsOfImage returns the names of the image's Secrets, for every possible pair of host and
// node.
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
			return nil, fmt.Errorf("spec.osImage names a Secret %s for each of %d pairs of host and node, more than the limit of %d: remove $(host) or $(node)",
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

// nodeNames returns the names that nodes may get. For a set, these are the lowest numbers that none
// of its claimed hosts has.
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
