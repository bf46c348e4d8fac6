package change

import (
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/upgrade"
)

// restore returns the operation that gives the cluster the content of s.Restore.
//
// The run installs all control planes anew, as members of a new etcd: on their own hosts, or on others
// in the place of lost ones. It changes no worker and claims no more standby hosts. A lost control plane
// that the spec does not request any more is not replaced, so that a user can restore a cluster with
// fewer hosts than it had. At least one control plane stays.
func (s State) restore() Step {
	lost := slices.DeleteFunc(s.lostOf(s.Installed.Nodes), func(n contract.Node) bool { return !controlPlane(n.Roles) })
	replace, remove := s.replacements(lost)
	stays := func(n contract.Node) bool { return !s.lost(n) || slices.Contains(replace, n.Name) }
	step := s.stepAt(s.restoreLevel(), contract.OperationRestore, nil, nil, stays)
	step.Replace, step.Remove = replace, remove
	r := &step.Request
	r.Restore = s.Restore
	r.Lost, r.Kept = s.losses(names(lost))
	r.Unreset = hostsOf(s.NotReset)
	for i, slot := range r.Slots { // a lost node may be pinned to another host now
		j := slices.IndexFunc(s.Wanted.Slots, func(w contract.Slot) bool { return w.Name == slot.Name && slices.Contains(replace, w.Name) })
		if j >= 0 {
			r.Slots[i] = s.Wanted.Slots[j]
			r.Slots[i].Roles, r.Slots[i].Vars = slot.Roles, slot.Vars
		}
	}
	for i, set := range r.Sets {
		r.Sets[i].Standby = min(set.Standby, s.standby(set.Name))
	}
	for _, n := range s.Installed.Nodes { // such a node may still run
		if slices.Contains(r.Kept, n.Name) {
			r.PassedOver = append(r.PassedOver, n.Host)
		}
	}
	return step
}

// replacements returns the names of the lost control planes that get other hosts, and of those that only
// leave the cluster.
func (s State) replacements(lost []contract.Node) (replace, remove []string) {
	leave := s.compare().remove
	for _, n := range lost {
		if s.requested(n) && (n.Set == "" || !isNamed(leave, n.Name)) {
			replace = append(replace, n.Name)
		} else {
			remove = append(remove, n.Name)
		}
	}
	planes := 0
	for _, n := range s.Installed.Nodes {
		planes += oneIf(controlPlane(n.Roles))
	}
	if len(remove) == planes {
		return names(lost), nil
	}
	return replace, remove
}

// restoreLevel returns what the control planes get: a version that accepts the content of the backup, with
// the variables of a control plane that has this version.
func (s State) restoreLevel() level {
	version, _ := s.versionFor(s.RestoreVersion)
	var other *level
	for _, n := range s.Installed.Nodes {
		if !controlPlane(n.Roles) {
			continue
		}
		l := s.level(n)
		l.begun = ""
		if l.version == version {
			return l
		}
		if other == nil {
			other = &l
		}
	}
	if other == nil {
		return s.installedLevel()
	}
	return *other
}

// versionFor returns the version of a control plane that accepts the content of a backup of this Kubernetes
// version: the same one or a newer patch of it, as after a patch upgrade. It returns the oldest, so
// that an upgrade that has begun goes on after the restore. No worker may be newer. If there is no
// such control plane, it returns why.
func (s State) versionFor(backup string) (version, why string) {
	var newest contract.Node // worker
	for _, n := range s.Installed.Nodes {
		if of := s.level(n).version; !controlPlane(n.Roles) && (newest.Name == "" || upgrade.Compare(of, s.level(newest).version) > 0) {
			newest = n
		}
	}
	tooOld := ""
	for _, n := range s.Installed.Nodes {
		of := s.level(n).version
		switch {
		case !controlPlane(n.Roles) || of != backup && !(upgrade.SameMinor(of, backup) && upgrade.Compare(of, backup) > 0):
		case newest.Name != "" && upgrade.Compare(s.level(newest).version, of) > 0:
			tooOld = of
		case version == "" || upgrade.Compare(of, version) < 0:
			version = of
		}
	}
	switch {
	case version != "":
		return version, ""
	case tooOld != "":
		return "", fmt.Sprintf("it was made with Kubernetes %s, for which the control planes get %s, and node %s has %s: a kubelet must not be newer than the API server",
			backup, tooOld, newest.Name, s.level(newest).version)
	}
	return "", fmt.Sprintf("it was made with Kubernetes %s, and no control plane of the cluster has this version or a newer patch of it (%s)", backup, s.describeVersions())
}

// WhyNotRestored returns why the control planes of the cluster cannot get the content of a backup of
// this Kubernetes version; empty: they can, or the version is not known.
func WhyNotRestored(s State, version string) string {
	if version == "" {
		return ""
	}
	_, why := s.versionFor(version)
	return why
}
