package plan

import (
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	sitehosts "github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/plugin"
)

// Qualify decides which of the requested plugins the cluster gets, from the hosts of its nodes. It never
// decides to skip a plugin of which something may be in the cluster: the facts of a host can be missing
// for a while, such as during an inspection. A retired plugin that is in the cluster is a problem, which a
// user must solve.
func (s *Seen) Qualify(spec *v1alpha1.ProvisioningSpec, nodes []sitehosts.Host) {
	if s.Invalid != "" || len(spec.KUDPlugins) == 0 {
		return
	}
	chosen, found := from.Plugins(spec, func(d plugin.Definition) from.Fit {
		fit := fitOf(d, nodes)
		if s.Plugins.Holds(d.Name) {
			fit.Skip = ""
		}
		return fit
	})
	if len(found) > 0 {
		return // see Plugins.Problem
	}
	for _, p := range chosen {
		if why := plugin.Shipped()[p.Name].WhyRetired(); why != "" && s.Plugins.Holds(p.Name) {
			s.Plugins.Problem = fmt.Sprintf("plugin %s is in the cluster, and %s. Remove it from spec.KUDPlugins, and BPA removes it from the cluster", p.Name, why)
			return
		}
	}
	s.Request.Plugins = chosen
	s.Request.AddPlugins(chosen)
}

// fitOf returns for which of these hosts a plugin is.
func fitOf(d plugin.Definition, nodes []sitehosts.Host) (fit from.Fit) {
	text := assign.Needs(contract.Slot{Needs: d.Nodes})
	if text == "" {
		return fit
	}
	for _, h := range nodes {
		if assign.Meets(d.Nodes, h) {
			fit.Hosts = append(fit.Hosts, h.Name)
		}
	}
	slices.Sort(fit.Hosts)
	if len(fit.Hosts) == 0 {
		fit.Skip = "no node has " + text
	}
	return fit
}

// InstalledOn returns those of the hosts on which a node of the cluster is installed. Without a record of the
// cluster, the labels of the hosts say this.
func (s *Seen) InstalledOn(all []sitehosts.Host) (nodes []sitehosts.Host) {
	for _, h := range all {
		installed := h.Node != "" && !h.Standby
		if s.Memory != nil {
			installed = slices.ContainsFunc(s.Memory.Nodes, func(n contract.Node) bool { return n.Host == h.Name })
		}
		if installed {
			nodes = append(nodes, h)
		}
	}
	return nodes
}

// AssignedTo returns the hosts that an assignment gives to nodes, without standby hosts.
func AssignedTo(found assign.Assignment, all []sitehosts.Host) (nodes []sitehosts.Host) {
	for _, h := range all {
		if slices.ContainsFunc(found, func(p assign.Placed) bool { return p.Host == h.Name && !p.Standby }) {
			nodes = append(nodes, h)
		}
	}
	return nodes
}
