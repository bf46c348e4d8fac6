package selecthosts

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"text/tabwriter"

	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/claim"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// tell prints which host has become which node.
func tell(log io.Writer, slots []contract.Slot, claimed *claim.Claim) {
	byName := map[string]hosts.Host{}
	for _, host := range claimed.Hosts {
		byName[host.Name] = host
	}
	fmt.Fprintf(log, "Hosts held for it: %d\n\n", len(claimed.Nodes))
	t := table(log, "NODE", "ROLES", "NEEDS", "HOST", "CPUS", "MEMORY", "ADDRESS")
	for i, node := range claimed.Nodes {
		host := byName[node.Host]
		row(t, node.Name, strings.Join(node.Roles, ","), needs(slots[i]), node.Host, fmt.Sprint(host.CPU), hosts.Memory(host.Memory), node.Address)
	}
	t.Flush()
}

func needs(slot contract.Slot) string {
	parts := []string{}
	for _, part := range []string{slot.MAC, hosts.Needs(slot)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "any")
}

// Bounds of the explanation: a site can have very many hosts.
const (
	explained = 3   // slots
	shown     = 200 // hosts per slot
)

// explain prints, if no assignment exists, for each host why it cannot be the one.
func explain(log io.Writer, err error) {
	var nofit *hosts.NoFit
	if !errors.As(err, &nofit) {
		return
	}
	for i, unmet := range nofit.Unmet {
		if i == explained {
			fmt.Fprintf(log, "\n%d more nodes have no host either.\n", len(nofit.Unmet)-explained)
			return
		}
		fmt.Fprintf(log, "\nNo host for %s (%s):\n\n", unmet.Slot, cmp.Or(unmet.Needs, unmet.Why))
		explainSlot(log, nofit.Hosts, unmet)
	}
}

func explainSlot(log io.Writer, all []hosts.Host, unmet hosts.Unmet) {
	t := table(log, "HOST", "CPUS", "MEMORY", "ADDRESS", "WHY NOT")
	defer t.Flush()
	n := 0
	for _, host := range all {
		why, ok := unmet.Obstacles[host.Name]
		if !ok {
			continue // a pinned slot tells only of the hosts with its address
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
