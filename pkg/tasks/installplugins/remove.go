package installplugins

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/plugins"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// unwanted returns the plugins of the cluster that the request does not have, each before those that it
// needs.
func (r *run) unwanted(ctx context.Context, wanted []string) ([]string, error) {
	there, err := r.cluster.Plugins(ctx)
	if err != nil {
		return nil, task.Because(kube.Reason(err), err)
	}
	r.there = slices.Clone(there)
	for _, row := range r.record.rows {
		there = append(there, row.Name)
	}
	for name := range r.record.applied {
		there = append(there, name)
	}
	slices.Sort(there)
	there = slices.DeleteFunc(slices.Compact(there), func(name string) bool { return slices.Contains(wanted, name) })
	return dependentsFirst(there, r.needsOf), nil
}

// needsOf returns what a plugin of the cluster needed when it was installed.
func (r *run) needsOf(name string) []string {
	if a, ok := r.record.applied[name]; ok {
		return a.Needs
	}
	return r.ports.Catalog[name].Needs
}

// dependentsFirst sorts names so that each is before those that it needs. In a circle, which a changed
// record could have, the order is that of the names.
func dependentsFirst(names []string, needs func(string) []string) []string {
	var sorted []string
	visited := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		if visited[name] || !slices.Contains(names, name) {
			return
		}
		visited[name] = true
		for _, need := range needs(name) {
			visit(need)
		}
		sorted = append(sorted, name) // after those that it needs
	}
	for _, name := range names {
		visit(name)
	}
	slices.Reverse(sorted)
	return sorted
}

// removeOne removes a plugin that is not requested, and its row of the record. An error ends the task; if
// only this plugin cannot be removed, its row says so.
func (r *run) removeOne(ctx context.Context, name string) error {
	r.step("Remove", name)
	row := r.record.row(name)
	row.Name, row.State, row.Message = name, contract.PluginRemoving, ""
	if err := r.record.set(ctx, row); err != nil {
		return err
	}
	err := r.clear(ctx, name)
	if stop := ended(ctx); stop != nil {
		return stop
	}
	if err != nil {
		row.State, row.Message = contract.PluginFailed, text(fmt.Errorf("it could not be removed: %w", err))
		return r.conclude(ctx, row)
	}
	r.removed++
	fmt.Fprintf(r.ports.Log, "  %s: removed\n", name)
	return r.record.drop(ctx, name)
}

// clear deletes the objects of a plugin and then runs its remove.yml.
func (r *run) clear(ctx context.Context, name string) error {
	kept, err := r.cluster.Remove(ctx, name, r.limits())
	if err != nil {
		return err
	}
	if len(kept) > 0 {
		fmt.Fprintf(r.ports.Log, "  left in the cluster: %s\n", strings.Join(kept, "; "))
	}
	memory, ok := r.record.applied[name]
	switch {
	case ok && !memory.HasRemove:
		return nil // nothing undoes what its configure.yml has done
	case !ok:
		// A restore has brought it back, or a user has deleted the record. A plugin that was never applied
		// has no inventory in the cluster.
		if !slices.Contains(r.there, name) {
			return nil
		}
		if memory.Parameters, err = defaults(r.ports.Catalog[name]); err != nil {
			return err
		}
	}
	definition, err := r.definitionOf(ctx, name, memory)
	if err != nil || !definition.Has(plugin.RemoveFile) {
		return err
	}
	return r.play(ctx, definition, plugin.RemoveFile, memory.Parameters, nil)
}

// definitionOf returns the definition with which a plugin was installed, or that of the same plugin in this
// build.
func (r *run) definitionOf(ctx context.Context, name string, memory applied) (plugin.Plugin, error) {
	if memory.Source == "" {
		return r.ports.Catalog[name], nil // the zero value, without playbooks: this build does not have the plugin
	}
	depot, err := r.openDepot(ctx)
	if err != nil {
		return plugin.Plugin{}, task.Because(contract.ReasonDepotUnavailable, err)
	}
	found, _, err := plugins.Pull(ctx, depot, memory.Source)
	if err != nil {
		return plugin.Plugin{}, fmt.Errorf("read its remove.yml: %w", err)
	}
	return found, nil
}

// defaults returns the parameters of a plugin that a user has not set.
func defaults(p plugin.Plugin) (json.RawMessage, error) {
	parameters, problems := p.Complete(nil)
	if len(problems) > 0 {
		return nil, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("the parameters of its remove.yml are not known: %s", problems[0]))
	}
	return parameters, nil
}
