package change

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// ruin sometimes takes the hosts of any control planes, and requests a restore. The backup is of a
// version that the cluster can get.
func (w *world) ruin() {
	if w.Restore != nil || w.IntN(6) > 0 {
		return
	}
	oldest := ""
	for _, n := range w.Installed.Nodes {
		if controlPlane(n.Roles) && w.IntN(3) > 0 {
			w.Lost[n.Name] = w.IntN(2) == 0
		}
	}
	for _, n := range w.Installed.Nodes { // the version of a control plane that no kubelet of a worker exceeds
		if version := w.level(n).version; controlPlane(n.Roles) && WhyNotRestored(w.State, version) == "" && (oldest == "" || w.IntN(2) == 0) {
			oldest = version
		}
	}
	w.Restore, w.RestoreVersion = &contract.Restore{Asked: "b now", Backup: "b"}, oldest
	switch older := fmt.Sprintf("%s.0", oldest[:max(strings.LastIndex(oldest, "."), 0)]); {
	case oldest == "" || w.IntN(2) == 0:
	case w.IntN(2) == 0 && WhyNotRestored(w.State, older) == "":
		w.RestoreVersion = older // an upgrade to a newer patch followed
	case w.sameVersions():
		w.RestoreVersion = "" // not known
	}
}

func (w *world) sameVersions() bool {
	oldest, newest := w.versions()
	return upgrade.Compare(oldest, newest) == 0
}

func (w *world) hasPlaneOf(version string) bool {
	return slices.ContainsFunc(w.Installed.Nodes, func(n contract.Node) bool { return controlPlane(n.Roles) && w.level(n).version == version })
}

// checkRestore returns what is wrong with the step of a restore.
func (w *world) checkRestore(step Step) string {
	r := step.Request
	switch {
	case r.Restore != w.Restore || r.Remove != nil || r.Upgrade != nil || len(step.Add) > 0 || step.Standby:
		return "the step does not only restore"
	case w.RestoreVersion != "" && (!upgrade.SameMinor(r.KubernetesVersion, w.RestoreVersion) || upgrade.Compare(r.KubernetesVersion, w.RestoreVersion) < 0 || !w.hasPlaneOf(r.KubernetesVersion)):
		return "the control planes get version " + r.KubernetesVersion
	case !slices.EqualFunc(r.Members, w.Installed.Nodes, func(a, b contract.Node) bool { return a.Name == b.Name }):
		return "the members are not those of the record"
	}
	planes := 0
	for _, n := range w.Installed.Nodes {
		replaced, removed := slices.Contains(step.Replace, n.Name), slices.Contains(step.Remove, n.Name)
		lost, kept := slices.Contains(r.Lost, n.Name), slices.Contains(r.Kept, n.Name)
		planes += oneIf(controlPlane(n.Roles) && !removed)
		switch {
		case lost != w.lost(n) || (replaced || removed || kept) && !lost:
			return "node " + n.Name + " is in the wrong lists"
		case lost && !controlPlane(n.Roles) && (!kept || replaced || removed || !slices.Contains(r.PassedOver, n.Host)):
			return "the lost worker " + n.Name + " does not stay as it is"
		case lost && controlPlane(n.Roles) && (kept || replaced == removed):
			return "the lost control plane " + n.Name + " stays lost"
		case removed && w.requested(n) && n.Set == "":
			return "the control plane " + n.Name + ", which is requested, leaves"
		case n.Set == "" && slices.ContainsFunc(r.Slots, func(s contract.Slot) bool { return s.Name == n.Name }) != (!lost || replaced):
			return "node " + n.Name + " has a slot, or none"
		}
	}
	if planes == 0 {
		return "no control plane stays"
	}
	return ""
}

// restored updates the world after a complete restore: all control planes are new, and so is etcd.
func (w *world) restored(step Step) string {
	var planes, members []contract.Node
	for _, n := range w.Installed.Nodes {
		was := slices.ContainsFunc(step.Request.Members, func(m contract.Node) bool { return m.Etcd != "" && m.Etcd == n.Etcd })
		switch {
		case was:
			return fmt.Sprintf("the new member of etcd on %s has the name of an old one: %s", n.Name, n.Etcd)
		case controlPlane(n.Roles) && (n.Version != "" || n.Settings != "" || n.Target != nil):
			return "control plane " + n.Name + " has not what the request says"
		case controlPlane(n.Roles):
			planes = append(planes, n)
		}
		if controlPlane(n.Roles) && slices.Contains(w.Installed.Leaving, n.Name) { // it was half removed, and is whole again
			w.Installed.Leaving = slices.DeleteFunc(slices.Clone(w.Installed.Leaving), func(name string) bool { return name == n.Name })
			w.Installed.Draining = append(slices.Clone(w.Installed.Draining), n.Name)
		}
		if n.Etcd != "" {
			members = append(members, n)
		}
	}
	if len(members) != len(planes)-(1-len(planes)%2) {
		return fmt.Sprintf("etcd has %d members on %d control planes", len(members), len(planes))
	}
	w.Restore, w.RestoreVersion = nil, ""
	w.join(planes)
	return w.describes(step.Request)
}
