package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// ReasonPlugins means that the plugins that the spec requests cannot be installed. The webhook should have
// rejected such a spec, unless an earlier BPA shipped other plugins.
const ReasonPlugins = "InvalidPlugins"

// Plugins are what is known about the plugins of a cluster.
type Plugins struct {
	// Record is what the task install-plugins has stored; nil: it has stored nothing, so the cluster never had a
	// plugin. It is empty, and not nil, if all plugins were removed.
	Record []contract.PluginStatus
	// Problem explains why the requested plugins cannot be installed, and names the next action. Empty:
	// there is no problem.
	Problem string
}

// row returns the record of a plugin, or nil.
func (p Plugins) row(name string) *contract.PluginStatus {
	for i := range p.Record {
		if p.Record[i].Name == name {
			return &p.Record[i]
		}
	}
	return nil
}

// Holds reports whether the cluster has, or may have, something of a plugin.
func (p Plugins) Holds(name string) bool {
	row := p.row(name)
	return row != nil && row.State != contract.PluginSkipped
}

func hasPlugin(all []contract.Plugin, name string) bool {
	return slices.ContainsFunc(all, func(p contract.Plugin) bool { return p.Name == name })
}

// surplusPlugins returns the names of the plugins that the cluster has and that the spec does not request. The
// order is that of their removal.
func (s Seen) surplusPlugins() (names []string) {
	for _, row := range slices.Backward(s.Plugins.Record) {
		if s.Plugins.Holds(row.Name) && !hasPlugin(s.Request.Plugins, row.Name) {
			names = append(names, row.Name)
		}
	}
	return names
}

// installsPlugins reports whether a run of the operation installs and removes plugins. If the requested
// plugins have a problem, no run does: it would take those for surplus that it does not know. A restore brings
// back plugins that the record does not have any more, so it removes them if the cluster ever had any.
func (s Seen) installsPlugins(operation string) bool {
	some := len(s.Request.Plugins)+len(s.surplusPlugins()) > 0 || operation == contract.OperationRestore && s.Plugins.Record != nil
	return contract.OperationOf(operation).Has(contract.TaskInstallPlugins) && s.Plugins.Problem == "" && some
}

// repairsPlugins reports whether a user requests a run, which then applies all plugins again. If all runs
// were deleted, nobody knows whether the request is new.
func (s Seen) repairsPlugins() bool {
	return s.asked() && s.Newest() != nil && s.installsPlugins(contract.OperationPlugins)
}

// PluginChange describes what a run for plugins would change, in words such as "install multus; remove nfd". It is
// empty if the plugins are as requested, or if there is no cluster.
func (s Seen) PluginChange() string {
	if !s.Complete() || s.Invalid != "" || s.Plugins.Problem != "" || s.pluginsDone() {
		return ""
	}
	parts := map[string][]string{}
	for _, p := range s.Request.Plugins {
		if verb := pluginVerb(p, s.Plugins.row(p.Name)); verb != "" {
			parts[verb] = append(parts[verb], p.Name)
		}
	}
	parts["remove"] = s.surplusPlugins()
	var texts []string
	for _, verb := range []string{"install", "change", "repair", "remove", "skip"} {
		if len(parts[verb]) > 0 {
			texts = append(texts, verb+" "+strings.Join(parts[verb], ", "))
		}
	}
	return strings.Join(texts, "; ")
}

// pluginVerb returns what is to be done with a requested plugin, of which row is the record; empty: nothing.
func pluginVerb(p contract.Plugin, row *contract.PluginStatus) string {
	switch {
	case row == nil && p.Skip != "", row != nil && row.State == contract.PluginSkipped && p.Skip != "" && row.Intent != p.Intent:
		return "skip"
	case row == nil, row.State == contract.PluginSkipped && row.Intent != p.Intent:
		return "install"
	case row.State == contract.PluginFailed:
		return "repair"
	case row.State == contract.PluginInstalling, row.State == contract.PluginRemoving:
		return "install"
	case row.Intent != p.Intent:
		return "change"
	}
	return ""
}

// pluginsDone reports whether the newest run has succeeded and was for the same plugins. The record in the
// cache can be older than the end of the run.
func (s Seen) pluginsDone() bool {
	newest := s.Newest()
	if newest == nil || newest.State != Succeeded {
		return false
	}
	if t := newest.task(contract.TaskInstallPlugins); t == nil || t.State != Succeeded {
		return false
	}
	return newest.Plugins == contract.PluginsDigest(s.Request.Plugins)
}

// built reports whether nodes and kubeconfig of the cluster are what the run was to make of them: it has succeeded, or it
// only has to install plugins, or that has failed. A run that is only for plugins leaves them as they are.
func (r Run) built() bool {
	switch {
	case r.resets():
		return false
	case r.State == Succeeded, r.Operation == contract.OperationPlugins:
		return true
	}
	collect := r.task(contract.TaskCollectKubeconfig)
	return collect != nil && collect.State == Succeeded && contract.OperationOf(r.Operation).Has(contract.TaskInstallPlugins)
}

// works reports whether the cluster is complete apart from its plugins. In contrast to Installed, this can be so
// while a run is active.
func (s Seen) works() bool {
	newest := s.Newest()
	return s.Installed() || newest != nil && newest.State == Active && newest.built() && s.Complete()
}

// storing stores the kubeconfig as soon as the task that collects it has ended, while plugins are
// installed.
func storing(s Seen, now time.Time) (Step, bool) {
	if !s.Collected || s.usable(now) {
		return Step{}, false
	}
	newest, step := s.Newest(), Step{Do: StoreKubeconfig, Reason: ReasonInstalled}
	switch {
	case newest == nil: // it was deleted
	case newest.State == Active:
		step.Reason, step.Message = ReasonRunning, "run "+newest.Name+" is running"
	case newest.State == Failed && !s.settled():
		step.Reason = string(Classify(*newest).Reason)
	}
	return step, true
}

// usable reports whether there is a kubeconfig that works.
func (s Seen) usable(now time.Time) bool {
	return s.Kubeconfig != nil && s.Kubeconfig.Broken == "" && s.Kubeconfig.Expires.After(now)
}

// plugins starts nothing for a new cluster whose plugins cannot be installed. An installed cluster keeps its
// plugins, and other edits of it are applied.
func plugins(s Seen, _ time.Time) (Step, bool) {
	return Step{Do: Stay, Reason: ReasonPlugins, Message: s.Plugins.Problem}, s.Plugins.Problem != "" && !s.Complete()
}

// newerPlugins describes the installed plugins of which this build of BPA ships another version.
func (s Seen) newerPlugins() string {
	var texts []string
	for _, p := range s.Request.Plugins {
		if row := s.Plugins.row(p.Name); row != nil && row.State == contract.PluginInstalled && p.Source == "" && row.Intent == p.Intent && row.Version != p.Version {
			texts = append(texts, fmt.Sprintf("%s %s (installed: %s)", p.Name, p.Version, row.Version))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return fmt.Sprintf("; this BPA ships %s, which `kubectl bpa retry -n %s %s` installs", some(texts, ", "), s.Namespace, s.Name)
}
