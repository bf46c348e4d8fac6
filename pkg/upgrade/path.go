package upgrade

import (
	"fmt"
	"maps"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// known has, for each kubespray release, the newest patch of each minor version of Kubernetes that it
// has checksums for (kubelet_checksums in roles/kubespray_defaults/vars/main/checksums.yml). It has
// those of all earlier patches, too. The minor versions are consecutive.
var known = map[string]map[string]int{
	contract.DefaultRelease: {"1.33": 11, "1.34": 7, "1.35": 4},
}

// Problem is the reason why a cluster cannot get what the spec requests, and what a user can do.
type Problem struct{ Text, Advice string }

func (p *Problem) Error() string { return p.Text + "; " + p.Advice }

// Rules select the versions that a cluster can get.
type Rules struct {
	Release string // of kubespray
	// AnyVersion means that the site provides the checksums of its binaries, so that a version which
	// kubespray does not know is accepted.
	AnyVersion bool
}

// OwnChecksums reports whether one of these kubespray variables sets a checksum of Kubernetes.
func OwnChecksums[T any](vars map[string]T) bool {
	for _, name := range []string{"kubelet", "kubeadm", "kubectl"} {
		for _, suffix := range []string{"_checksums", "_binary_checksum"} {
			if _, set := vars[name+suffix]; set {
				return true
			}
		}
	}
	return false
}

// Path returns the versions that a cluster of version from gets one after the other, up to the version
// to. It skips no minor version, because Kubernetes does not support that: each version on the way is
// the newest known patch of its minor version. The path is empty if both versions are equal.
func (r Rules) Path(from, to string) ([]string, *Problem) {
	if from == to {
		return nil, nil
	}
	is, isKnown := parse(from)
	want, isVersion := parse(to)
	switch {
	case !isKnown:
		return nil, &Problem{fmt.Sprintf("the cluster cannot be upgraded from %q to %s: %[1]q is not a version", from, to), "restore the version of the cluster"}
	case !isVersion:
		return nil, &Problem{fmt.Sprintf("%q is not a version", to), "write all three numbers, such as " + from}
	case compare(want, is) < 0:
		return nil, &Problem{fmt.Sprintf("the cluster has Kubernetes %s, and a downgrade to %s is not supported: an older API server may not be able to read what a newer one has stored", from, to),
			fmt.Sprintf("write %s or a newer version", from)}
	case want.major != is.major:
		return nil, &Problem{fmt.Sprintf("an upgrade from Kubernetes %s to %s is not supported", from, to), "keep the major version"}
	}
	if problem := r.unknown(want); problem != nil {
		return nil, problem
	}
	var path []string
	for minor := is.minor + 1; minor < want.minor; minor++ {
		next := version{major: is.major, minor: minor}
		patch, found := r.table()[next.line()]
		if !found {
			return nil, &Problem{fmt.Sprintf("an upgrade from Kubernetes %s to %s must pass through %s, and no version %[3]s is known for kubespray %s", from, to, next.line(), r.name()),
				fmt.Sprintf("request a version %d.%d first, and %s after that upgrade", is.major, is.minor+1, to)}
		}
		next.patch = patch
		path = append(path, next.String())
	}
	return append(path, want.String()), nil
}

// unknown returns a problem if kubespray has no checksums for the version. For a release that is not
// in the table, this is not known: its task finds out.
func (r Rules) unknown(v version) *Problem {
	table := r.table()
	newest, found := table[v.line()]
	if table == nil || r.AnyVersion || found && v.patch <= newest && v.pre == "" {
		return nil
	}
	return &Problem{fmt.Sprintf("kubespray %s does not know Kubernetes %s: it has no checksums for it", r.name(), v),
		fmt.Sprintf("write one of its versions (%s), or set spec.depot.checksums: Depot if the depot holds binaries that the site has checked itself", r.versions())}
}

func (r Rules) name() string {
	if r.Release == "" {
		return contract.DefaultRelease
	}
	return r.Release
}

func (r Rules) table() map[string]int { return known[r.name()] }

// versions returns the known versions in words.
func (r Rules) versions() string {
	text := ""
	for _, line := range slices.Sorted(maps.Keys(r.table())) {
		if text != "" {
			text += ", "
		}
		text += fmt.Sprintf("%s.0 to %[1]s.%d", line, r.table()[line])
	}
	return text
}

// Release returns why a cluster cannot go from one kubespray release to another; nil: it can. A newer
// release is applied by an upgrade of all nodes.
func Release(from, to string) *Problem {
	if SameRelease(from, to) {
		return nil
	}
	was, isKnown := parse(Rules{Release: from}.name())
	is, isVersion := parse(Rules{Release: to}.name())
	switch {
	case !isKnown || !isVersion:
		return &Problem{fmt.Sprintf("the cluster has kubespray release %s, and it is not known whether %s is newer: one of them is not a version", Rules{Release: from}.name(), Rules{Release: to}.name()),
			"give the Tasks of both releases names with versions, such as kubespray-v2.32.0"}
	case compare(is, was) < 0:
		return &Problem{fmt.Sprintf("the cluster has kubespray release %s, and the older release %s would downgrade its components", Rules{Release: from}.name(), Rules{Release: to}.name()),
			fmt.Sprintf("select %s or a newer release", Rules{Release: from}.name())}
	}
	return nil
}

// SameRelease reports whether both are names of the same kubespray release.
func SameRelease(a, b string) bool { return Rules{Release: a}.name() == Rules{Release: b}.name() }
