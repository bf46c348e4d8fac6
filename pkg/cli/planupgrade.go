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
	// Versions lists the nodes by their versions.
	Versions string `json:"versions"`
	// Waits is why the upgrade stops after the operations; empty: it is complete then.
	Waits string `json:"waits,omitempty"`
}

// addUpgrade adds the requested upgrade: its way, and what is left of it after all operations.
func (v *planView) addUpgrade(now, after change.State, steps []change.Step) {
	progress := change.Upgrading(now)
	if progress == nil || progress.Hop == "" {
		return
	}
	v.Upgrade = &plannedUpgrade{From: progress.From, Versions: progress.Versions}
	for _, step := range steps {
		if u := step.Request.Upgrade; u != nil {
			v.Upgrade.From, v.Upgrade.Path = u.From, u.Path
			break
		}
	}
	if rest := change.Upgrading(after); rest != nil {
		v.Upgrade.Waits = rest.Waits
	}
}

// checks returns when a run of the upgrade checks the depot, as text.
func (v *planView) checks() string {
	if v.Upgrade == nil || len(v.Upgrade.Path) == 0 {
		return ""
	}
	return " Each run of the upgrade first checks the depot for all versions that the cluster still gets."
}

// upgrade returns the way of the upgrade, as text.
func (v *planView) upgrade() string {
	u := v.Upgrade
	if u == nil {
		return ""
	}
	text := fmt.Sprintf("\nUpgrade. Versions of the nodes: %s.", u.Versions)
	if len(u.Path) == 1 && u.Path[0] == u.From {
		text = fmt.Sprintf("\nUpgrade: all nodes get the requested settings, at Kubernetes %s.", u.From)
	} else if len(u.Path) > 0 {
		text = fmt.Sprintf("\nUpgrade: %s -> %s. Versions of the nodes: %s.", u.From, strings.Join(u.Path, " -> "), u.Versions)
	}
	if len(u.Path) > 0 {
		text += " Each run upgrades one control plane node or one batch of workers, and checks the whole cluster before and after it.\n"
	} else {
		text += "\n"
	}
	if u.Waits != "" {
		text += "The upgrade then waits: " + u.Waits + ".\n"
	}
	return text
}
