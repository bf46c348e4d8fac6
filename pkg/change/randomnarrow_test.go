package change

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// editVariables changes one variable: one that needs a drain, or one that does not.
func (w *world) editVariables() {
	vars := maps.Clone(w.Wanted.Vars)
	if vars == nil {
		vars = map[string]json.RawMessage{}
	}
	name := "a"
	if w.IntN(4) == 0 {
		name = []string{"dns_memory_limit", "metrics_server_replicas", "local_path_provisioner_debug", "node_labels", "nodelocaldns_memory_limit"}[w.IntN(5)]
	}
	if vars[name] = json.RawMessage(fmt.Sprint(w.IntN(3))); string(vars[name]) == "0" {
		delete(vars, name)
	}
	w.Wanted.Vars = vars
}

// checkConfigure returns what is wrong with a step that applies variables without a drain.
func (w *world) checkConfigure(step Step) string {
	r, n := step.Request, step.Request.Upgrade.Narrow
	differ := changedVars(w.Installed.Request, r.Spec)
	for name := range w.dirty {
		differ = append(differ, name)
	}
	for _, name := range differ {
		if !slices.Contains(n.Variables, name) {
			return fmt.Sprintf("%s is not applied, only %v", name, n.Variables)
		}
	}
	for _, name := range n.Variables {
		if !slices.ContainsFunc(upgrade.NarrowVariables, func(row upgrade.Narrow) bool { return slices.Contains(row.Names, name) }) {
			return name + " needs a drain"
		}
	}
	other := false
	for _, node := range w.Installed.Nodes {
		is := w.runs[node.HostUID]
		other = other || is != runsOf(r, node)
		switch {
		case controlPlane(node.Roles) && w.lost(node), n.On == contract.OnAllNodes && w.lost(node):
			return "the tasks may run on the lost node " + node.Name
		case w.lost(node) && slices.Contains(n.Variables, "nodelocaldns_memory_limit"):
			return "a DaemonSet is changed while node " + node.Name + " is lost"
		case is.version != r.KubernetesVersion:
			return fmt.Sprintf("node %s has %s, and the request %s", node.Name, is.version, r.KubernetesVersion)
		case w.drained[node.HostUID] && !(w.lost(node) && onlyHalfPatched(node)):
			return "node " + node.Name + " is half upgraded"
		case !slices.Contains(step.Upgrade, node.Name):
			return "node " + node.Name + " does not get the variables"
		}
	}
	switch {
	case !other:
		return "every node has the variables"
	case len(step.Upgrade) != len(w.Installed.Nodes) || !slices.Equal(step.Upgrade, r.Upgrade.Nodes) || r.Remove != nil || r.Upgrade.DrainSeconds != 0:
		return fmt.Sprintf("the request is %+v", r.Upgrade)
	case len(n.Tags) == 0 || len(n.Variables) == 0:
		return fmt.Sprintf("the request says %+v", n)
	}
	return ""
}

// configureAll does what the task does. A run that fails in the middle has marked all nodes.
func (w *world) configureAll(step Step, succeeds bool) string {
	request, n := step.Request, step.Request.Upgrade.Narrow
	w.Installed.Nodes = slices.Clone(w.Installed.Nodes)
	for i, node := range w.Installed.Nodes {
		patch := ""
		if halfPatched(node) {
			patch = node.Target.Patch
		}
		if succeeds {
			w.Installed.Nodes[i].Version, w.Installed.Nodes[i].Settings, w.Installed.Nodes[i].Target = "", "", node.Target.Unpatched()
			w.runs[node.HostUID] = runsOf(request, node)
			continue
		}
		w.Installed.Nodes[i].Target = &contract.Target{Version: request.KubernetesVersion, Settings: request.SettingsOf(node), Variables: n.Variables, Patch: patch}
		half := w.runs[node.HostUID]
		half.begun = request.KubernetesVersion
		w.runs[node.HostUID] = half
	}
	w.dirty = map[string]bool{}
	if !succeeds {
		for _, name := range n.Variables {
			w.dirty[name] = true
		}
		return ""
	}
	request.Upgrade = nil
	w.Installed.Request = request.Spec
	return ""
}
