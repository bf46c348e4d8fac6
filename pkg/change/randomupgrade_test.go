package change

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// checkUpgrade returns what is wrong with a step that upgrades nodes.
func (w *world) checkUpgrade(step Step) string {
	r := step.Request
	planes := 0
	for _, n := range w.Installed.Nodes {
		switch {
		case controlPlane(n.Roles) && w.lost(n):
			return "a node is upgraded while control plane node " + n.Name + " is lost"
		case !slices.Contains(step.Upgrade, n.Name):
			continue
		case w.lost(n):
			return "the lost node " + n.Name + " is upgraded"
		case w.says(n) == runsOf(r, n) && w.level(n).patch == patched:
			return "node " + n.Name + " is upgraded twice"
		case w.runs[n.HostUID] == runsOf(w.Wanted, n) && w.level(n).patch == patched:
			return "node " + n.Name + " is drained although no edit concerns it"
		}
		planes += oneIf(controlPlane(n.Roles))
	}
	var begun []string
	for _, n := range w.Installed.Nodes {
		if w.drained[n.HostUID] && !controlPlane(n.Roles) && !w.lost(n) && upgrade.Compare(w.level(n).version, r.KubernetesVersion) <= 0 {
			begun = append(begun, n.Name)
		}
	}
	outside := slices.ContainsFunc(step.Upgrade, func(name string) bool { return !slices.Contains(begun, name) })
	switch {
	case !slices.Equal(r.Upgrade.Nodes, step.Upgrade) || len(step.Upgrade) == 0:
		return fmt.Sprintf("the request upgrades %v", r.Upgrade.Nodes)
	case r.Remove != nil || len(step.Add)+len(step.Remove)+len(step.Replace) > 0:
		return "an upgrade changes the number of nodes"
	case (planes > 0) != (step.Operation == contract.OperationUpgradeControlPlane) || planes > 1 || planes == 1 && len(step.Upgrade) > 1:
		return fmt.Sprintf("%s upgrades %d control planes of %v", step.Operation, planes, step.Upgrade)
	case len(step.Upgrade) > max(1, w.Rollout.MaxUnavailable):
		return fmt.Sprintf("%d nodes are upgraded at once, and %d may be unavailable", len(step.Upgrade), w.Rollout.MaxUnavailable)
	case planes == 0 && len(begun) > 0 && outside:
		return fmt.Sprintf("%v is upgraded, although of %v a run has failed", step.Upgrade, begun)
	case w.Wanted.Patched == "" && r.Upgrade.Patch != "" && slices.ContainsFunc(w.Installed.Nodes, func(n contract.Node) bool { return slices.Contains(step.Upgrade, n.Name) && w.half[n.HostUID] == "" }):
		return "a node is patched that was not touched before the request was taken back"
	case r.OnlyPatches() && !w.hasLevel(step):
		return "a playbook is needed"
	case r.KubernetesVersion != r.Upgrade.Path[0] || r.Upgrade.Path[len(r.Upgrade.Path)-1] != w.Wanted.KubernetesVersion:
		return fmt.Sprintf("the path of version %s is %v", r.KubernetesVersion, r.Upgrade.Path)
	case w.Rollout.PauseAfterControlPlane && planes == 0 && outside:
		return "the workers are upgraded in spite of the pause"
	}
	return ""
}

// hasLevel reports whether all nodes of the step really have its version and variables.
func (w *world) hasLevel(step Step) bool {
	return !slices.ContainsFunc(w.Installed.Nodes, func(n contract.Node) bool {
		return slices.Contains(step.Upgrade, n.Name) && w.runs[n.HostUID] != runsOf(step.Request, n)
	})
}

// upgradeSome does what the task does. A run that fails in the middle has upgraded some of the nodes, and
// may leave another one cordoned. If it has begun to change them, the other nodes are half changed.
func (w *world) upgradeSome(step Step, succeeds bool) string {
	nodes := step.Upgrade
	request := step.Request
	begun := !succeeds && w.IntN(3) > 0
	if !succeeds {
		if nodes = nodes[:0]; begun {
			nodes = step.Upgrade[:w.IntN(len(step.Upgrade)+1)]
		}
		if len(nodes) < len(step.Upgrade) && w.IntN(2) == 0 {
			w.Installed.Draining = step.Upgrade[len(nodes) : len(nodes)+1]
		}
	}
	w.Installed.Nodes = slices.Clone(w.Installed.Nodes)
	for i, n := range w.Installed.Nodes {
		if !slices.Contains(step.Upgrade, n.Name) || !begun && !slices.Contains(nodes, n.Name) {
			continue
		}
		lacksLevel, lacksPatch := w.Installed.Lacks(n, request)
		bad := w.begin(&w.Installed.Nodes[i], request, lacksLevel, lacksPatch)
		if left := w.Installed.Nodes[i].Target; !slices.Contains(nodes, n.Name) {
			w.ended["half changed"] += oneIf(left.Version != "")
			w.ended["half patched"] += oneIf(left.Patch != "")
		} else if bad == "" {
			bad = w.finish(&w.Installed.Nodes[i], request, lacksLevel, lacksPatch)
		}
		if bad != "" {
			return bad
		}
	}
	w.Installed.Draining = slices.DeleteFunc(slices.Clone(w.Installed.Draining), func(name string) bool { return slices.Contains(nodes, name) })
	same := !slices.ContainsFunc(w.Installed.Nodes, func(n contract.Node) bool { return w.says(n) != runsOf(request, n) })
	if same && succeeds {
		request.Upgrade = nil
		w.Installed.Request, w.dirty = request.Spec, map[string]bool{}
		for i := range w.Installed.Nodes {
			w.Installed.Nodes[i].Version, w.Installed.Nodes[i].Settings = "", ""
		}
		w.Installed.SettlePatched()
	}
	return ""
}

// begin starts the playbook, and sometimes the patch, on a node.
func (w *world) begin(n *contract.Node, request contract.Request, lacksLevel, lacksPatch bool) string {
	target := contract.Target{}
	if n.Target != nil {
		target = *n.Target
	}
	half := w.runs[n.HostUID]
	if upgrade.Compare(request.KubernetesVersion, half.begun) < 0 {
		return fmt.Sprintf("node %s is half changed to %s and gets %s", n.Name, half.begun, request.KubernetesVersion)
	}
	if lacksLevel {
		target.Version, target.Settings = request.KubernetesVersion, request.SettingsOf(*n)
		half.begun = request.KubernetesVersion
		w.runs[n.HostUID] = half
	}
	if lacksPatch && (!lacksLevel || w.IntN(2) == 0) {
		target.Patch, w.half[n.HostUID] = request.Upgrade.Patch, request.Upgrade.Patch
	}
	if target.Variables = nil; lacksLevel || lacksPatch {
		w.drained[n.HostUID] = true
	}
	n.Target = &target
	return ""
}

// finish completes the playbook and the patch of a node.
func (w *world) finish(n *contract.Node, request contract.Request, lacksLevel, lacksPatch bool) string {
	version := request.KubernetesVersion
	if was := w.runs[n.HostUID].version; minorOf(version)-minorOf(was) > 1 || upgrade.Compare(version, was) < 0 {
		return fmt.Sprintf("node %s goes from %s to %s", n.Name, was, version)
	}
	if lacksLevel {
		n.Version, n.Settings = version, request.SettingsOf(*n)
		w.runs[n.HostUID] = runsOf(request, *n)
	}
	if lacksPatch {
		n.Patched, w.systems[n.HostUID] = request.Upgrade.Patch, request.Upgrade.Patch
		delete(w.half, n.HostUID)
	}
	n.Target, w.drained[n.HostUID] = nil, false
	if half := w.half[n.HostUID]; half != "" {
		return fmt.Sprintf("the patch %s of node %s is not completed", half, n.Name)
	}
	return ""
}

// join notes what new nodes run: what the request of their run says.
func (w *world) join(fresh []contract.Node) {
	for _, n := range fresh {
		w.runs[n.HostUID] = runsOf(contract.Request{Spec: w.Installed.Request}, n)
		w.systems[n.HostUID] = w.Installed.PatchOf(n)
		delete(w.half, n.HostUID)
	}
}

// skew returns which node the record does not describe, and which node is too new for the others.
func (w *world) skew() string {
	oldest, newest := "", ""
	half := slices.ContainsFunc(w.Installed.Nodes, func(n contract.Node) bool {
		return w.runs[n.HostUID].begun != "" || w.half[n.HostUID] != ""
	})
	if half && Upgrading(w.State) == nil {
		return "a node is half changed, and no upgrade is reported"
	}
	for _, n := range w.Installed.Nodes {
		says := w.says(n)
		if is := w.runs[n.HostUID]; is != says {
			return fmt.Sprintf("node %s runs %v, and the record says %v", n.Name, is, says)
		}
		if is := w.systems[n.HostUID]; is != w.Installed.PatchOf(n) || (w.half[n.HostUID] != "") != (w.level(n).patch == patching) {
			return fmt.Sprintf("node %s has patch %q, half %q, and the record says %+v", n.Name, is, w.half[n.HostUID], n)
		}
		if version := w.level(n).version; controlPlane(n.Roles) {
			if oldest == "" || upgrade.Compare(version, oldest) < 0 {
				oldest = version
			}
			if upgrade.Compare(version, newest) > 0 {
				newest = version
			}
		}
	}
	if minorOf(newest)-minorOf(oldest) > 1 {
		return fmt.Sprintf("control planes have %s and %s", oldest, newest)
	}
	for _, n := range w.Installed.Nodes {
		if version := w.level(n).version; upgrade.Compare(version, oldest) > 0 && !controlPlane(n.Roles) {
			return fmt.Sprintf("worker %s has %s, and a control plane node %s", n.Name, version, oldest)
		}
	}
	return ""
}

func minorOf(version string) (minor int) {
	_, _ = fmt.Sscan(strings.Split(version, ".")[1], &minor)
	return minor
}
