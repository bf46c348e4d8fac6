package cli

import (
	"fmt"
	"strings"

	"github.com/akraino-icn/bpa/pkg/change"
)

// plannedUpgrade describes an upgrade.
type plannedUpgrade struct {
	From string `json:"from"` // the oldest Kubernetes version of a node
	// Path has the versions that the nodes get one after the other. It is empty if the upgrade cannot
	// begin now.
	Path []string `json:"path,omitempty"`
	// Patch is the requested patch of the operating systems; empty: all nodes have it. OnlyPatch reports
	// that nothing else is requested.
	Patch     string `json:"patch,omitempty"`
	OnlyPatch bool   `json:"onlyPatch,omitempty"`
	// Versions lists the nodes by their versions.
	Versions string `json:"versions"`
	// Variables are the names of the variables that are applied without a drain. It is empty if the nodes
	// are upgraded.
	Variables []string `json:"variables,omitempty"`
	// Waits is the reason why the upgrade pauses after the operations; empty: they complete it.
	Waits string `json:"waits,omitempty"`
}

// addUpgrade adds the requested upgrade: its way, and what is left of it after all operations.
func (v *planView) addUpgrade(now, after change.State, steps []change.Step) {
	progress := change.Upgrading(now)
	if progress == nil || progress.Hop == "" {
		return
	}
	v.Upgrade = &plannedUpgrade{From: progress.From, Versions: progress.Versions, Patch: progress.Patch, OnlyPatch: progress.OnlyPatch}
	for _, step := range steps {
		if u := step.Request.Upgrade; u != nil {
			if v.Upgrade.From, v.Upgrade.Path = u.From, u.Path; u.Narrow != nil {
				v.Upgrade.Variables = u.Narrow.Variables
			}
			break
		}
	}
	if rest := change.Upgrading(after); rest != nil {
		v.Upgrade.Waits = rest.Waits
	}
}

// checks returns when a run of the upgrade checks the depot, as text.
func (v *planView) checks() string {
	if v.Upgrade == nil || len(v.Upgrade.Path) == 0 || v.Upgrade.OnlyPatch {
		return ""
	}
	if len(v.Upgrade.Variables) > 0 {
		return " The run that applies variables checks it before that."
	}
	return " Each run of the upgrade first checks the depot for all versions that the cluster still gets."
}

// upgrade returns the way of the upgrade, as text.
func (v *planView) upgrade() string {
	u := v.Upgrade
	if u == nil {
		return ""
	}
	whose := "all nodes"
	if len(v.NodeVars) > 0 {
		whose = "the nodes above"
	}
	text, verb := fmt.Sprintf("\nUpgrade. Versions of the nodes: %s.", u.Versions), "upgrades"
	switch {
	case len(u.Variables) > 0:
		return fmt.Sprintf("\nSettings: %s can be applied to the running cluster, at Kubernetes %s. No node is drained, and the run checks the cluster before and after it.\n", strings.Join(u.Variables, ", "), u.From)
	case u.OnlyPatch:
		verb = "patches"
		text = fmt.Sprintf("\nPatch %s: all nodes get newer OS packages, and reboot if they need it. Versions of the nodes: %s.", clean(u.Patch), u.Versions)
	case len(u.Path) == 1 && u.Path[0] == u.From:
		text = fmt.Sprintf("\nUpgrade: %s get the requested settings, at Kubernetes %s.", whose, u.From)
	case len(u.Path) > 0:
		text = fmt.Sprintf("\nUpgrade: %s -> %s. Versions of the nodes: %s.", u.From, strings.Join(u.Path, " -> "), u.Versions)
	}
	if u.Patch != "" && !u.OnlyPatch {
		text += fmt.Sprintf(" Patch %s: each node also gets newer OS packages, and reboots if it needs that.", clean(u.Patch))
	}
	if len(u.Path) > 0 {
		text += " Each run " + verb + " one control plane node or one batch of workers, and checks the whole cluster before and after it.\n"
	} else {
		text += "\n"
	}
	if u.Waits != "" {
		what := "upgrade"
		if u.OnlyPatch {
			what = "patch"
		}
		text += "The " + what + " then waits: " + u.Waits + ".\n"
	}
	return text
}
