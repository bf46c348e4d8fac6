package inventory

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Values of contract.PluginGroup.Members.
const (
	membersAll           = "all"
	membersControlPlanes = "control-planes"
	membersWorkers       = "workers"
	membersFitting       = "fitting"
)

// kubesprayGroups are the groups that hosts.ini has in any case. Ansible adds the members of two sections
// with the same name, so a plugin could put nodes into them.
var kubesprayGroups = []string{"all", "ungrouped", "kube_control_plane", "etcd", "kube_node", "k8s_cluster"}

var groupPattern = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// checkPluginGroups checks what the request says about the groups of plugins.
func checkPluginGroups(request contract.Request) error {
	known := []string{membersAll, membersControlPlanes, membersWorkers, membersFitting}
	for _, g := range request.PluginGroups {
		switch {
		case !groupPattern.MatchString(g.Name) || slices.Contains(kubesprayGroups, g.Name):
			return fmt.Errorf("pluginGroups: %.100q cannot be the name of a group of a plugin", g.Name)
		case !slices.Contains(known, g.Members):
			return fmt.Errorf("pluginGroups: group %s: %.100q is not one of %s", g.Name, g.Members, strings.Join(known, ", "))
		}
	}
	return nil
}

// pluginGroups returns the names of the groups of plugins, sorted. Two plugins can add the same group.
func pluginGroups(request contract.Request) []string {
	var names []string
	for _, g := range request.PluginGroups {
		names = append(names, g.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// membersOf returns the nodes of a group: those of each plugin that adds it, in the order of the inventory.
func membersOf(c checked, group string) []string {
	var names []string
	for _, node := range c.ordered {
		if slices.ContainsFunc(c.request.PluginGroups, func(g contract.PluginGroup) bool { return g.Name == group && isMemberOf(g, node) }) {
			names = append(names, node.Name)
		}
	}
	return names
}

func isMemberOf(g contract.PluginGroup, node contract.Node) bool {
	switch g.Members {
	case membersControlPlanes:
		return slices.Contains(node.Roles, contract.RoleControlPlane)
	case membersWorkers:
		return slices.Contains(node.Roles, contract.RoleWorker)
	case membersFitting:
		return slices.Contains(g.Hosts, node.Host)
	}
	return true
}
