package cli

import (
	"cmp"
	"fmt"
	"strings"
)

// page returns the view as text.
func (v *planView) page() string {
	var b strings.Builder
	switch {
	case len(v.Operations) == 0 && len(v.NotApplied) == 0 && len(v.Lost) == 0 && v.Note == "" && v.Upgrade == nil:
		fmt.Fprintf(&b, "%s: the cluster has the requested nodes. Nothing is to be done.\n", v.Provisioning)
	case !v.Installed:
		fmt.Fprintf(&b, "%s: no cluster is installed.\n\n", v.Provisioning)
	case len(v.Operations) == 0 && (len(v.Lost) > 0 || v.Note != "" || v.Upgrade != nil):
		fmt.Fprintf(&b, "%s: no operation starts now.\n", v.Provisioning)
	case len(v.Operations) == 0:
		fmt.Fprintf(&b, "%s: no operation is to be done.\n", v.Provisioning)
	default:
		fmt.Fprintf(&b, "%s: operations that make the cluster the requested one: %d\n\n", v.Provisioning, len(v.Operations))
	}
	if len(v.Operations) > 0 {
		rows := [][]string{{"STEP", "OPERATION", "WHAT", "HOSTS", "LEAVE", "DRAIN"}}
		for i, s := range v.Operations {
			rows = append(rows, []string{
				fmt.Sprint(i + 1), s.Operation, s.What, dash(strings.Join(s.Hosts, ", ")), dash(strings.Join(s.Leave, "; ")), dash(s.Drain),
			})
		}
		b.WriteString(columns(rows))
		b.WriteString(v.pluginRows())
	}
	if v.Active != "" {
		fmt.Fprintf(&b, "\nRun %s is active. The operations start after it, one at a time.\n", v.Active)
	}
	b.WriteString(v.upgrade())
	b.WriteString(v.secrets())
	b.WriteString(v.nodeVars())
	b.WriteString(v.losses())
	if len(v.NotApplied) > 0 {
		fmt.Fprintf(&b, "\nNot applied to the installed cluster:\n  %s\n", strings.Join(v.NotApplied, "\n  "))
	}
	if v.NoFit != "" {
		fmt.Fprintf(&b, "\nNo host for a new node: %s\n", clean(v.NoFit))
	}
	if len(v.Operations) > 0 {
		b.WriteString("\nArtifacts: " + cmp.Or(v.Artifacts, "not checked yet") + ". A run that adds nodes checks the depot before it claims a host." + v.checks() + "\n")
	}
	if v.Moves {
		fmt.Fprintf(&b, "\nThe API servers are at %s, which moves between the control planes.\n", v.Endpoint)
	} else if v.Endpoint != "" {
		fmt.Fprintf(&b, "\nThe API servers are behind the load balancer at %s.\n", v.Endpoint)
	}
	if v.Note != "" {
		fmt.Fprintf(&b, "\nNote: %s.\n", v.Note)
	}
	return b.String()
}

// losses returns the lost nodes that stay lost, as text.
func (v *planView) losses() string {
	if len(v.Lost) == 0 {
		return ""
	}
	text := fmt.Sprintf("\nLost nodes that no operation replaces now: %s. `kubectl bpa status %s` shows what to do.\n", strings.Join(v.Lost, ", "), v.Provisioning)
	if v.AddsWait {
		text += "Until they are replaced or removed, no node is added.\n"
	}
	return text
}
