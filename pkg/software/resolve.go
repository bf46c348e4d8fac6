package software

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Owner identifies whose uploads a cluster may use.
type Owner struct {
	// Name is the owner in the paths of the depot: the label "owner" of the Provisioning, or else its namespace.
	Name string
	// Clusters are the clusters in these paths: the Provisioning's name, its label "cluster", and protocol.ClusterAll.
	// An upload for the first of them counts more than one for the second with the same version.
	Clusters []string
	// System is the operating system of the nodes (contract.Request.OperatingSystem); empty: unknown.
	System string
}

// The Problems of packages without and with a version until the depot's packages are known.
const (
	unknownVersions = "the list of the depot's packages is not known yet, so the newest version is not known"
	unknownFile     = "the list of the depot's packages is not known yet, so it is not known whether the depot has this version"
)

// Resolve adds versions and files from the depot. A package gets the requested version, or else the newest
// one: that of the cluster's uploads, or else that of the depot's apt source for the nodes' system. It stays
// without a version if the depot has none. index is nil if the depot's packages are not known: then all
// packages have a Problem, because the nodes' sources could have another package than the depot. A cluster
// that does not use the depot has an empty list instead.
func Resolve(wanted []contract.Software, owner Owner, index *protocol.PackageList) []contract.Software {
	resolved := slices.Clone(wanted)
	for i := range resolved {
		s := &resolved[i]
		switch {
		case s.Problem != "":
		case index != nil:
			owner.resolve(s, index.Packages)
		case s.Pinned:
			s.Problem = unknownFile
		default:
			s.Problem = unknownVersions
		}
	}
	return resolved
}

// NoDepot is the Problem of a package whose depot the cluster does not use any more.
const NoDepot = "the depot of this package is not configured: write its address to depot-url in ConfigMap config-bpa of namespace bpa-system, or a version into the Software"

// Keep gives the Problem NoDepot to each package without a version if the depot has decided which version
// the nodes have. wanted are the packages of a cluster that does not use the site's depot, and used
// reports that the cluster was installed from it. Without the depot, another version of another source
// would count, and the nodes would be drained or rebooted for it because a setting got lost.
func Keep(wanted []contract.Software, record contract.SoftwareRecord, used bool) []contract.Software {
	kept := slices.Clone(wanted)
	for i, s := range kept {
		fromDepot := func(row contract.SoftwarePackage) bool {
			parts := contract.IntentParts(row.Intent)
			return row.Name == s.Name && (len(parts) > 1 || len(parts) > 0 && used)
		}
		if s.Problem == "" && !s.Pinned && slices.ContainsFunc(record.Nodes, func(n contract.SoftwareNode) bool { return slices.ContainsFunc(n.Packages, fromDepot) }) {
			kept[i].Problem = NoDepot
		}
	}
	return kept
}

// resolve adds the version and the files of one package. Uploads that the nodes' system cannot install do not
// count, so that they hide no package source of the nodes. If the system is not known, they come last: if there
// is nothing else, the nodes report why they cannot install them.
func (o Owner) resolve(s *contract.Software, all []protocol.Package) {
	for _, source := range []func(protocol.Package) bool{
		func(p protocol.Package) bool { return o.uploaded(p) && o.installs(p.Format) }, o.inSource,
		func(p protocol.Package) bool { return o.uploaded(p) && !o.known() },
	} {
		var found []protocol.Package
		for _, p := range all {
			if p.Name == s.Name && source(p) && (!s.Pinned || p.Version == s.Version) {
				found = append(found, p)
			}
		}
		if len(found) == 0 {
			continue
		}
		chosen := newest(found)
		s.Version, s.Versions = chosen.Version, versions(found, chosen.Version)
		switch {
		case chosen.System != "":
		case s.Versions == nil:
			s.Files = o.files(found, s.Version)
		default:
			for _, version := range slices.Compact(slices.Sorted(maps.Values(s.Versions))) {
				for _, f := range o.files(found, version) {
					f.Version = version
					s.Files = append(s.Files, f)
				}
			}
		}
		return
	}
}

// uploaded reports whether a package is an upload for the cluster.
func (o Owner) uploaded(p protocol.Package) bool {
	return p.System == "" && p.Owner == o.Name && slices.Contains(o.Clusters, p.Cluster)
}

// inSource reports whether a package is in the depot's package source for the nodes.
func (o Owner) inSource(p protocol.Package) bool { return p.System != "" && p.System == o.System }

// installs reports whether the nodes' system can install packages of a format. One that is not known counts as
// one with dpkg.
func (o Owner) installs(format protocol.PackageFormat) bool {
	if slices.Contains(rpmSystems, o.id()) {
		return format != protocol.FormatDeb
	}
	return format != protocol.FormatRPM
}

// known reports whether the package manager of the nodes' system is known.
func (o Owner) known() bool { return slices.Contains(slices.Concat(debSystems, rpmSystems), o.id()) }

// id returns the ID of the nodes' system, as in os-release(5).
func (o Owner) id() string {
	id, _, _ := strings.Cut(o.System, "-")
	return id
}

// The IDs of systems with dpkg, and of those with rpm.
var (
	debSystems = []string{"debian", "ubuntu"}
	rpmSystems = []string{"almalinux", "amzn", "centos", "fedora", "ol", "openEuler", "rhel", "rocky", "sles"}
)

// newest returns a package with the newest version of those that exist for the most architectures. So nodes
// with one architecture do not lose their package because a newer one was uploaded for another architecture
// only. Versions that are equal, such as 1.0 and 1.00, have the order of their texts, so that the result does
// not depend on the order of the list.
func newest(all []protocol.Package) protocol.Package {
	format := protocol.FormatDeb
	if slices.ContainsFunc(all, func(p protocol.Package) bool { return p.Format == protocol.FormatRPM }) {
		format = protocol.FormatRPM // also for tar packages, because two orders in one list are none
	}
	reach := architectures(all)
	return slices.MaxFunc(all, func(a, b protocol.Package) int {
		return cmp.Or(cmp.Compare(reach[a.Version], reach[b.Version]), CompareVersions(format, a.Version, b.Version), strings.Compare(a.Version, b.Version))
	})
}

// architectures returns, by version, on how many of the architectures it can be installed that any version
// has. A package for any architecture counts for all of them.
func architectures(all []protocol.Package) map[string]int {
	type build struct{ version, architecture string }
	builds, names := map[build]bool{}, map[string]bool{}
	for _, p := range all {
		name := architecture(p)
		builds[build{p.Version, name}] = true
		if name != "" {
			names[name] = true
		}
	}
	count := map[string]int{}
	for _, p := range all {
		count[p.Version] = 0
		for name := range names {
			if builds[build{p.Version, name}] || builds[build{p.Version, ""}] {
				count[p.Version]++
			}
		}
	}
	return count
}

// architecture returns the architecture of a package, with the name that dpkg has for it; empty: any.
func architecture(p protocol.Package) string {
	if p.Architecture == "all" || p.Architecture == "noarch" {
		return ""
	}
	return contract.Architecture(p.Architecture)
}

// versions returns the newest version for each architecture that any version has; nil: the version common exists
// for all of them.
func versions(all []protocol.Package, common string) map[string]string {
	byArchitecture := map[string]string{}
	for _, p := range all {
		if name := architecture(p); name != "" {
			byArchitecture[name] = ""
		}
	}
	if architectures(all)[common] == len(byArchitecture) {
		return nil
	}
	for name := range byArchitecture {
		var found []protocol.Package
		for _, p := range all {
			if of := architecture(p); of == "" || of == name {
				found = append(found, p)
			}
		}
		byArchitecture[name] = newest(found).Version
	}
	return byArchitecture
}

// files returns the uploads with a version, one for each format and architecture.
func (o Owner) files(all []protocol.Package, version string) (files []contract.SoftwareFile) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b protocol.Package) int {
		return cmp.Or(strings.Compare(string(a.Format), string(b.Format)), strings.Compare(a.Architecture, b.Architecture),
			cmp.Compare(slices.Index(o.Clusters, a.Cluster), slices.Index(o.Clusters, b.Cluster)), strings.Compare(a.Path, b.Path), strings.Compare(a.SHA256, b.SHA256))
	})
	for _, p := range all {
		same := func(f contract.SoftwareFile) bool {
			return f.Format == string(p.Format) && f.Architecture == p.Architecture
		}
		if p.Version != version || slices.ContainsFunc(files, same) {
			continue
		}
		files = append(files, contract.SoftwareFile{Format: string(p.Format), Architecture: p.Architecture, Path: p.Path, SHA256: p.SHA256, Size: p.Size})
	}
	return files
}
