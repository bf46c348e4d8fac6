package inventory

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Inventory is the rendered result.
type Inventory struct {
	HostsINI  []byte
	GroupVars []byte // JSON, keys sorted
	// Notes are remarks for the user, such as a node that is left out of etcd.
	Notes []string
}

// Digest returns a digest of the two files, sha256:hex.
func (i Inventory) Digest() string {
	sum := sha256.Sum256(slices.Concat(i.HostsINI, []byte{0}, i.GroupVars))
	return fmt.Sprintf("sha256:%x", sum)
}

// Render renders the inventory of a request. The nodes are all nodes of the cluster during the run:
// those that stay, those that are new and those that leave. An error names the wrong field and, for
// a field of a node, the node.
func Render(request contract.Request, nodes []contract.Node) (Inventory, error) {
	return RenderPinned(request, nodes, nil)
}

// RenderPinned is like Render and adds variables with which kubespray verifies the pinned files of
// the depot.
func RenderPinned(request contract.Request, nodes []contract.Node, pins Pins) (Inventory, error) {
	checked, err := check(request, nodes)
	if err != nil {
		return Inventory{}, err
	}
	if err := checked.checkPins(pins); err != nil {
		return Inventory{}, err
	}
	vars, err := groupVars(checked, pins)
	if err != nil {
		return Inventory{}, err
	}
	etcd, notes := etcdGroup(request, checked.ordered)
	return Inventory{HostsINI: hostsINI(checked, etcd, notes), GroupVars: vars, Notes: notes}, nil
}

// hostsINI writes hosts.ini with kubespray's groups. All values in it have been checked.
func hostsINI(c checked, etcd, notes []string) []byte {
	var b bytes.Buffer
	b.WriteString("# Rendered by BPA from a Provisioning. Changes here are lost.\n")
	for _, note := range notes {
		fmt.Fprintf(&b, "# %s.\n", note)
	}
	b.WriteString("[all]\n")
	for _, node := range c.ordered {
		ip := c.addresses[node.Name]
		fmt.Fprintf(&b, "%s ansible_host=%s ip=%s access_ip=%s", node.Name, ip, ip, ip)
		if second, ok := c.second[node.Name]; ok { // kubespray uses this address only if the cluster has IPv4 and IPv6
			fmt.Fprintf(&b, " ip6=%s access_ip6=%s", second, second)
		}
		if node.Etcd != "" {
			fmt.Fprintf(&b, " etcd_member_name=%s", node.Etcd)
		}
		if version := ownVersion(c.request, node); version != "" {
			fmt.Fprintf(&b, " kube_version=%s", version)
		}
		if taints := c.request.TaintsOf(node); len(taints) > 0 { // before the network plugin makes the node Ready, so that no pod comes first
			fmt.Fprintf(&b, ` node_taints="['%s']"`, strings.Join(taints, "','"))
		}
		own, _ := c.ownVars(node) // checkOwnVars has seen that there is no error
		for _, variable := range own {
			b.WriteString(" " + variable)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\n[all:vars]\nansible_user=%s\nansible_port=%d\n", c.request.SSHUser, c.request.SSHPort)
	section(&b, "kube_control_plane", withRole(c.ordered, contract.RoleControlPlane))
	section(&b, "etcd", etcd)
	section(&b, "kube_node", withRole(c.ordered, contract.RoleWorker))
	section(&b, "k8s_cluster:children", []string{"kube_control_plane", "kube_node"})
	for _, group := range pluginGroups(c.request) {
		section(&b, group, membersOf(c, group))
	}
	return b.Bytes()
}

func section(b *bytes.Buffer, name string, lines []string) {
	fmt.Fprintf(b, "\n[%s]\n", name)
	if len(lines) > 0 {
		b.WriteString(strings.Join(lines, "\n") + "\n")
	}
}

func withRole(nodes []contract.Node, role string) []string {
	var names []string
	for _, node := range nodes {
		if slices.Contains(node.Roles, role) {
			names = append(names, node.Name)
		}
	}
	return names
}

// odd returns an odd number of items. If the number is even, it omits the last one. Without items it
// returns none.
func odd[T any](items []T) []T {
	return items[:max(0, len(items)-(1-len(items)%2))]
}
