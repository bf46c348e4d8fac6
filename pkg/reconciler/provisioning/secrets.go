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

// mostSecrets limits how many names one template of spec.osImage may give. mostBytes limits the
// total size of the names in one Role, in bytes, because the API server stores no object above 1.5
// MiB.
const (
	mostSecrets = 20_000
	mostBytes   = 1 << 20
)

// secretsOfTask returns the names of the Secrets that select-hosts must be able to read.
// There are two kinds: Secrets that a host could receive with its OS image, and Secrets with the
// addresses of hosts. The second kind is needed only for hosts whose hardware details may contain
// no address. The names cover every host that the task may choose, because only the task makes the
// choice.
//
// given are in the namespace of the Provisioning, addresses in that of the hosts.
func (r *Reconciler) secretsOfTask(ctx context.Context, p *v1alpha1.Provisioning, request contract.Request) (given, addresses []string, err error) {
	all, err := r.hosts.All(ctx, p.HostNamespace())
	if err != nil {
		return nil, nil, fmt.Errorf("list the hosts of namespace %s: %w", p.HostNamespace(), err)
	}
	var unread []string
	for _, h := range all {
		if h.WantsNetworkData("", request.Access) { // "": no MAC address is pinned. With a pinned one, the data may be unnecessary
			unread = append(unread, h.Name)
		}
	}
	addresses, err = r.hosts.NetworkDataSecrets(ctx, p.HostNamespace(), unread)
	if err != nil {
		return nil, nil, fmt.Errorf("find the network data of the hosts of namespace %s: %w", p.HostNamespace(), err)
	}
	if request.OSImage != nil {
		if given, err = secretsOfImage(request, all); err != nil {
			return nil, nil, err
		}
	}
	names := append(slices.Clone(given), addresses...)
	if n := len(strings.Join(names, `","`)); n > mostBytes {
		return nil, nil, fmt.Errorf("the hosts that fit could need %d Secrets, whose names have %d bytes in total, but one Role is limited to %d bytes: remove $(host) or $(node) from "+
			"spec.osImage, or spread the hosts over several namespaces", len(names), n, mostBytes)
	}
	return given, addresses, nil
}

// ensureHostAccess gives select-hosts access to hosts in another namespace, and writes into the request how many
// of them the namespace may hold. It returns the names of the Secrets that the task reads in the namespace of the Provisioning.
func (r *Reconciler) ensureHostAccess(ctx context.Context, p *v1alpha1.Provisioning, request *contract.Request) ([]string, error) {
	tenancy, err := r.hosts.Tenancy(ctx, ownerOf(p))
	if err != nil {
		return nil, err
	}
	request.MaxHosts = tenancy.MaxHere()
	given, addresses, err := r.secretsOfTask(ctx, p, *request)
	if err != nil {
		return nil, err
	}
	if p.HostNamespace() == p.Namespace {
		return sorted(append(given, addresses...)), nil
	}
	return sorted(given), r.grantPool(ctx, p, tenancy, sorted(addresses))
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// secretsOfImage returns the names of the Secrets that spec.osImage names, for every possible pair
// of host and node.
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
			return nil, fmt.Errorf("the name %s in spec.osImage stands for %d Secrets, because $(host) and $(node) can have many values, but at most %d are allowed: remove $(host) or $(node)",
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

// nodeNames returns the names that the nodes of the request may get. For a node set, these are the
// names of its claimed hosts, and the lowest free numbers for the other nodes.
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
