package selecthosts

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/assign"
	"github.com/akraino-icn/bpa/pkg/hosts/claim"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// logClaim prints the host of each node, how many standby hosts are missing, and the claimed hosts
// that are not used by a node any more.
func logClaim(log io.Writer, request contract.Request, claimed *claim.Claim) {
	byName := map[string]hosts.Host{}
	for _, host := range claimed.Hosts {
		byName[host.Name] = host
	}
	fmt.Fprintf(log, "Claimed hosts: %d\n\n", len(claimed.Nodes)+len(claimed.Kept))
	heads := []string{"NODE", "ROLES", "NEEDS", "HOST", "CPUS", "MEMORY", "ADDRESS"}
	if len(request.Sets) > 0 {
		heads = append(heads, "DOMAIN", "STATE")
	}
	t := table(log, heads...)
	for _, node := range claimed.Nodes {
		host := byName[node.Host]
		cells := []string{node.Name, strings.Join(node.Roles, ","), needs(request, node), node.Host, fmt.Sprint(host.CPU), hosts.Memory(host.Memory), cmp.Or(node.Address, "-")}
		if len(request.Sets) > 0 {
			cells = append(cells, domain(request, node, host), state(node))
		}
		row(t, cells...)
	}
	t.Flush()
	for _, set := range request.Sets {
		if n := claimed.MissingStandby()[set.Name]; n > 0 {
			fmt.Fprintf(log, "\nMissing standby hosts of set %s: %d, because no more hosts fit\n", set.Name, n)
		}
	}
	for _, name := range claimed.Kept {
		fmt.Fprintf(log, "\nHost %s stays claimed, although it is no longer a node (%s). To release it, make sure that nothing runs on it. "+
			"Then end its quarantine, or remove its spec.consumerRef.\n",
			name, cmp.Or(byName[name].Unusable, "the cluster may already be installed on it"))
	}
}

func needs(request contract.Request, node contract.Node) string {
	parts := []string{}
	for _, slot := range request.Slots {
		if slot.Name == node.Name {
			parts = append(parts, slot.MAC, assign.Needs(slot))
		}
	}
	if set := setOf(request, node); set != nil {
		parts = append(parts, assign.Needs(contract.Slot{Needs: set.Needs}))
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	return cmp.Or(strings.Join(parts, ", "), "any")
}

func setOf(request contract.Request, node contract.Node) *contract.Set {
	for i := range request.Sets {
		if request.Sets[i].Name == node.Set {
			return &request.Sets[i]
		}
	}
	return nil
}

// domain returns the failure domain of a node's host, such as its rack. It returns "-" if the
// node's set is not spread over domains.
func domain(request contract.Request, node contract.Node, host hosts.Host) string {
	if set := setOf(request, node); set != nil && set.Spread != nil {
		return cmp.Or(host.Labels[set.Spread.TopologyKey], "none")
	}
	return "-"
}

func state(node contract.Node) string {
	if node.Standby {
		return "standby"
	}
	return "active"
}

// Limits of the explanation in the log. A site can have very many hosts.
const (
	explained = 3   // slots
	shown     = 200 // hosts per slot
)

// explain prints why hosts do not fit, if err reports that there is no possible assignment of
// hosts. For any other error it prints nothing.
func explain(log io.Writer, err error) {
	var nofit *assign.NoFit
	if !errors.As(err, &nofit) {
		return
	}
	for i, unmet := range nofit.Unmet {
		if i == explained {
			fmt.Fprintf(log, "\n%d more kinds of nodes are affected; they are not explained here.\n", len(nofit.Unmet)-explained)
			break
		}
		fmt.Fprintf(log, "\nNo host for %s (%s):\n\n", nodesOf(unmet), cmp.Or(unmet.Needs, unmet.Why))
		explainSlot(log, nofit.Hosts, unmet)
	}
	for _, uneven := range nofit.Spread {
		fmt.Fprintf(log, "\nThe spread of set %s prevents an assignment: maxSkew %d allows at most %d nodes.\n\n", uneven.Set, uneven.MaxSkew, uneven.Most)
		t := table(log, strings.ToUpper(uneven.TopologyKey), "HOSTS THAT FIT")
		for _, d := range uneven.Domains {
			row(t, d.Name, fmt.Sprint(d.Hosts))
		}
		t.Flush()
	}
	if len(nofit.Fitting) > 0 {
		fmt.Fprintf(log, "\nHosts that fit at least one of them: %s\n", task.Cut(strings.Join(nofit.Fitting, ", "), contract.MaxText))
	}
	if len(nofit.Also) > 0 {
		fmt.Fprintf(log, "\nOther nodes without a host: %s\n", task.Cut(strings.Join(nofit.Also, ", "), contract.MaxText))
	}
}

// nodesOf returns the name of the slot. For a node set, it returns how many nodes of the set have
// no host.
func nodesOf(unmet assign.Unmet) string {
	if unmet.Of <= 1 {
		return unmet.Slot
	}
	return fmt.Sprintf("%d of %d nodes of %s", unmet.Nodes, unmet.Of, unmet.Slot)
}

func explainSlot(log io.Writer, all []hosts.Host, unmet assign.Unmet) {
	t := table(log, "HOST", "CPUS", "MEMORY", "ADDRESS", "WHY NOT")
	defer t.Flush()
	n := 0
	for _, host := range all {
		why, ok := unmet.Obstacles[host.Name]
		if !ok {
			continue // for a slot with a pinned MAC address, only the hosts with that address are listed
		}
		if n++; n > shown {
			row(t, fmt.Sprintf("and %d more", len(unmet.Obstacles)-shown))
			return
		}
		address := "-"
		if ip := host.Address("", contract.Access{}); ip != (netip.Addr{}) {
			address = ip.String()
		}
		row(t, host.Name, fmt.Sprint(host.CPU), hosts.Memory(host.Memory), address, why)
	}
}

func table(log io.Writer, heads ...string) *tabwriter.Writer {
	t := tabwriter.NewWriter(log, 0, 0, 2, ' ', 0)
	row(t, heads...)
	return t
}

func row(t io.Writer, cells ...string) {
	fmt.Fprintf(t, "  %s\n", strings.Join(cells, "\t"))
}
