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
	target := level{version: r.KubernetesVersion, settings: r.Settings()}
	for _, n := range w.Installed.Nodes {
		switch {
		case controlPlane(n.Roles) && w.lost(n):
			return "a node is upgraded while control plane node " + n.Name + " is lost"
		case !slices.Contains(step.Upgrade, n.Name):
			continue
		case w.lost(n):
			return "the lost node " + n.Name + " is upgraded"
		case w.level(n) == target:
			return "node " + n.Name + " is upgraded twice"
		}
		planes += oneIf(controlPlane(n.Roles))
	}
	var begun []string
	for _, n := range w.Installed.Nodes {
		if w.runs[n.HostUID].begun != "" && !controlPlane(n.Roles) && !w.lost(n) && upgrade.Compare(w.level(n).version, target.version) <= 0 {
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
	case r.KubernetesVersion != r.Upgrade.Path[0] || r.Upgrade.Path[len(r.Upgrade.Path)-1] != w.Wanted.KubernetesVersion:
		return fmt.Sprintf("the path of version %s is %v", r.KubernetesVersion, r.Upgrade.Path)
	case w.Rollout.PauseAfterControlPlane && planes == 0 && outside:
		return "the workers are upgraded in spite of the pause"
	}
	return ""
}

// upgradeSome does what the task does. A run that fails in the middle has upgraded some of the nodes, and
// may leave another one cordoned. If its playbook has begun, the other nodes are half changed.
func (w *world) upgradeSome(step Step, succeeds bool) string {
	nodes := step.Upgrade
	request := step.Request
	target := level{version: request.KubernetesVersion, settings: request.Settings()}
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
	same := true
	for i, n := range w.Installed.Nodes {
		if was := w.runs[n.HostUID].begun; slices.Contains(step.Upgrade, n.Name) && upgrade.Compare(target.version, was) < 0 {
			return fmt.Sprintf("node %s is half changed to %s and gets %s", n.Name, was, target.version)
		}
		if begun && slices.Contains(step.Upgrade, n.Name) && !slices.Contains(nodes, n.Name) {
			w.Installed.Nodes[i].Target = &contract.Target{Version: target.version, Settings: target.settings}
			half := w.runs[n.HostUID]
			half.begun = target.version
			w.runs[n.HostUID] = half
			w.ended["half changed"]++
		}
		if slices.Contains(nodes, n.Name) {
			if was := w.level(n).version; minorOf(target.version)-minorOf(was) > 1 || upgrade.Compare(target.version, was) < 0 {
				return fmt.Sprintf("node %s goes from %s to %s", n.Name, was, target.version)
			}
			w.Installed.Nodes[i].Version, w.Installed.Nodes[i].Settings, w.Installed.Nodes[i].Target = target.version, target.settings, nil
			w.runs[n.HostUID] = target
		}
		same = same && w.level(w.Installed.Nodes[i]) == target
	}
	w.Installed.Draining = slices.DeleteFunc(slices.Clone(w.Installed.Draining), func(name string) bool { return slices.Contains(nodes, name) })
	if same && succeeds {
		request.Upgrade = nil
		w.Installed.Request = request
		for i := range w.Installed.Nodes {
			w.Installed.Nodes[i].Version, w.Installed.Nodes[i].Settings = "", ""
		}
	}
	return ""
}

// join notes what new nodes run: what the request of their run says.
func (w *world) join(fresh []contract.Node) {
	for _, n := range fresh {
		w.runs[n.HostUID] = w.installedLevel()
	}
}

// skew returns which node the record does not describe, and which node is too new for the others.
func (w *world) skew() string {
	oldest, newest := "", ""
	half := slices.ContainsFunc(w.Installed.Nodes, func(n contract.Node) bool { return w.runs[n.HostUID].begun != "" })
	if half && Upgrading(w.State) == nil {
		return "a node is half changed, and no upgrade is reported"
	}
	for _, n := range w.Installed.Nodes {
		if is := w.runs[n.HostUID]; is != w.level(n) {
			return fmt.Sprintf("node %s runs %v, and the record says %v", n.Name, is, w.level(n))
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
