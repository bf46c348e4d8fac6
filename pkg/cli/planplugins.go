package cli

import (
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// plannedPlugin is a plugin that the spec requests, or that such a plugin needs.
type plannedPlugin struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	NeededBy []string `json:"neededBy,omitempty"`
	// Skip is why the plugin is not installed; empty: it is.
	Skip string `json:"skip,omitempty"`
}

// addPlugins adds the requested plugins to the view.
func (v *planView) addPlugins(seen plan.Seen) {
	if problem := seen.Plugins.Problem; problem != "" {
		v.NotApplied = append(v.NotApplied, "plugins: "+problem)
		return
	}
	for _, p := range seen.Request.Plugins {
		v.Plugins = append(v.Plugins, plannedPlugin{Name: p.Name, Version: p.Version, NeededBy: p.NeededBy, Skip: p.Skip})
	}
}

// addPluginChange adds what is done with plugins: by the last operation that adds nodes, or else by one of its
// own.
func (v *planView) addPluginChange(what string) {
	if what == "" {
		return
	}
	for i := range slices.Backward(v.Operations) {
		if contract.OperationOf(v.Operations[i].Operation).Has(contract.TaskInstallPlugins) {
			v.Operations[i].What += "; " + what
			return
		}
	}
	v.Operations = append(v.Operations, plannedStep{Operation: contract.OperationPlugins, What: what})
}

// pluginRows returns the plugins as text.
func (v *planView) pluginRows() string {
	if len(v.Plugins) == 0 {
		return ""
	}
	rows := [][]string{{"PLUGIN", "VERSION", "WHAT"}}
	for _, p := range v.Plugins {
		what := "installed"
		switch {
		case p.Skip != "":
			what = "skipped: " + p.Skip
		case len(p.NeededBy) > 0:
			what += ", because " + strings.Join(p.NeededBy, ", ") + " needs it"
		}
		rows = append(rows, []string{p.Name, dash(p.Version), what})
	}
	return "\n" + columns(rows)
}
