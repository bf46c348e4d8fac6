package contract

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Disruption is what a node must expect when a package of a Software is installed, updated or removed.
type Disruption string

// The default is DisruptionNone. DisruptionReboot also drains the node before.
const (
	DisruptionNone   Disruption = "None"
	DisruptionDrain  Disruption = "Drain"
	DisruptionReboot Disruption = "Reboot"
)

// Software is a package that the Softwares of a cluster request for some of its nodes. A cluster can have
// two of one name: one for its control planes and one for its workers. Then no node has both roles.
type Software struct {
	// Name is the name of the package. Empty, with a Problem and for no role: an entry of a Software cannot be
	// read, so its package is not known. Then nothing is removed, because it could be that package.
	Name string `json:"name"`
	// Version is the requested version, or else the newest that the depot has for the cluster. Empty: the
	// depot has none, so the nodes look in their package sources.
	Version string `json:"version,omitempty"`
	// Versions are the versions for the nodes by their architecture, with the name that dpkg has for it, if no
	// version exists for all architectures of the package. Version is then the one for the most of them, and
	// that of all nodes with another architecture.
	Versions map[string]string `json:"versions,omitempty"`
	// Pinned reports that a Software names the version.
	Pinned bool `json:"pinned,omitempty"`
	// Hold reports that a Software with this package has no automatic updates, and that none names a version:
	// an installed package is not updated, unless SoftwareRun.Update is set.
	Hold bool `json:"hold,omitempty"`
	// ControlPlanes and Workers select the nodes by their roles. A node with both roles is selected by
	// either.
	ControlPlanes bool       `json:"controlPlanes,omitempty"`
	Workers       bool       `json:"workers,omitempty"`
	Disruption    Disruption `json:"disruption,omitempty"`
	// Files are the uploads with this name and version, one for each format and architecture. Empty: the
	// package comes from the package sources of the nodes, of which the depot's is one.
	Files []SoftwareFile `json:"files,omitempty"`
	// Problem is the reason in words why the package is neither installed nor removed, such as a conflict
	// between two Softwares. What a node has of it stays. Empty: there is none.
	Problem string `json:"problem,omitempty"`
}

// SoftwareFile is a package in the depot.
type SoftwareFile struct {
	Format       string `json:"format"` // deb, rpm or tar
	Architecture string `json:"architecture,omitempty"`
	Path         string `json:"path"` // below the depot's URL, with a leading slash
	SHA256       string `json:"sha256"`
	Size         int64  `json:"size"`
	// Version is set if Software.Versions is: that of this file.
	Version string `json:"version,omitempty"`
}

// For returns what the nodes of an architecture get. Each architecture has its own version only if Versions is
// set. The name of the architecture can be that of dpkg, of rpm or of the kernel.
func (s Software) For(architecture string) Software {
	if s.Versions == nil {
		return s
	}
	if version, ok := s.Versions[Architecture(architecture)]; ok {
		s.Version = version
	}
	s.Versions = nil
	s.Files = slices.DeleteFunc(slices.Clone(s.Files), func(f SoftwareFile) bool { return f.Version != s.Version })
	return s
}

// Architecture returns the name that dpkg has for an architecture.
func Architecture(name string) string {
	switch name {
	case "x86_64":
		return "amd64"
	case "aarch64":
		return "arm64"
	}
	return name
}

// On reports whether nodes with these roles get the package.
func (s Software) On(roles []string) bool {
	for _, r := range roles {
		if r == RoleControlPlane && s.ControlPlanes || r == RoleWorker && s.Workers {
			return true
		}
	}
	return false
}

// SoftwareStays returns the entry because of which a package is not removed, although no entry requests it for
// a node; nil: there is none. The Softwares do not agree about the package, or one cannot be read.
func SoftwareStays(all []Software, name string) *Software {
	for i, s := range all {
		if s.Problem != "" && (s.Name == name || s.Name == "") {
			return &all[i]
		}
	}
	return nil
}

// SoftwareRun is what a run does with the software of a cluster.
type SoftwareRun struct {
	// Packages are all packages of the cluster, sorted by name, then those of the control planes first. What
	// BPA has installed on a node, and what is none of them, is removed.
	Packages []Software `json:"packages,omitempty"`
	// Nodes are the names of the nodes that the run changes, sorted. The run looks at all nodes of the cluster.
	Nodes []string `json:"nodes,omitempty"`
	// Update reports that packages with Hold are updated too. CheckOnly reports that the run changes no node.
	Update    bool `json:"update,omitempty"`
	CheckOnly bool `json:"checkOnly,omitempty"`
	// Batch is the number of nodes that are drained or rebooted at a time, at least 1.
	Batch int `json:"batch,omitempty"`
	// DrainSeconds limits the time in which the pods of one node must have left it.
	DrainSeconds int `json:"drainSeconds,omitempty"`
	// Asked is the value of AnnotationSoftware that requests the run; empty: none does.
	Asked string `json:"asked,omitempty"`
}

// SoftwareState is the state of a package on a node.
type SoftwareState string

const (
	SoftwarePending    SoftwareState = "Pending" // not begun, such as on a node that does not answer
	SoftwareInstalling SoftwareState = "Installing"
	SoftwareInstalled  SoftwareState = "Installed"
	SoftwareFailed     SoftwareState = "Failed"
	SoftwareRemoving   SoftwareState = "Removing"
	// SoftwareDrifted means that somebody else has changed or removed the package since it was installed.
	SoftwareDrifted SoftwareState = "Drifted"
	// SoftwareOutdated means that the depot has a newer version, which is not installed automatically.
	SoftwareOutdated SoftwareState = "Outdated"
)

// SoftwarePackage is the record of one package on one node.
type SoftwarePackage struct {
	Name string `json:"name"`
	// Wanted is the version that the last run was to install; empty: the newest that the node finds.
	Wanted string `json:"wanted,omitempty"`
	// Installed is the version that the node has; empty: none, or not known.
	Installed string        `json:"installed,omitempty"`
	State     SoftwareState `json:"state"`
	// Since is the time of the last change of State or Installed.
	Since time.Time `json:"since,omitzero"`
	// Message is the cause of a failure with the last lines of output, or what a state waits for.
	Message string `json:"message,omitempty"`
	// Ours reports that BPA has installed the package, so that it removes it when no Software requests it.
	Ours bool `json:"ours,omitempty"`
	// Format is the format in which BPA has installed it: deb, rpm or tar. The operating system can have a package
	// of the same name in another format, which BPA does not remove. Empty: BPA has not installed it, or an
	// earlier release has, which stored no format.
	Format string `json:"format,omitempty"`
	// Disruption is that of the last run, for the removal: no Software says it then. Empty: DisruptionNone.
	Disruption Disruption `json:"disruption,omitempty"`
	// Missing reports that the package is Failed because no source had it. It is tried again when one has it.
	Missing bool `json:"missing,omitempty"`
	// Later reports that the package is Pending because of something that may pass, such as an outage of a
	// package source. It is tried again at intervals.
	Later bool `json:"later,omitempty"`
	// Intent identifies what the last run that processed the row was to do: the result of SoftwareIntent, or
	// SoftwareRemoval. Empty: no run has processed it. A run does not process a package with a Problem, and
	// leaves its row as it is.
	Intent string `json:"intent,omitempty"`
}

// SoftwareNode is the record of one node.
type SoftwareNode struct {
	Node string `json:"node"`
	// Host is the UID of the BareMetalHost. A node with another host has no software yet.
	Host string `json:"host"`
	// Checked is when a run has last read the state of the node; zero: never.
	Checked time.Time `json:"checked,omitzero"`
	// Tried is when a run has last tried to read or change the node; zero: never. It is later than Checked if
	// the node did not answer.
	Tried time.Time `json:"tried,omitzero"`
	// Reboot reports that the node must boot again, because a package with DisruptionReboot was changed or is
	// being changed. It is false again when the node has booted.
	Reboot bool `json:"reboot,omitempty"`
	// Architecture is that of the node's packages, such as amd64 or x86_64; empty: not known yet.
	Architecture string `json:"architecture,omitempty"`
	// Message says why the last run could not read or change the node; empty: it could.
	Message  string            `json:"message,omitempty"`
	Packages []SoftwarePackage `json:"packages,omitempty"`
}

// SoftwareRecord is the state of the software of a cluster, in the ConfigMap SoftwareName.
type SoftwareRecord struct {
	Nodes []SoftwareNode `json:"nodes"` // sorted by name
	// Asked is SoftwareRun.Asked of the last run that a user has requested and that has looked at the nodes. If it
	// fails later, its next attempts have the same request. A run whose Asked is empty does not change it.
	Asked string `json:"asked,omitempty"`
}

// Of returns the record of a node with this host, or an empty record.
func (r SoftwareRecord) Of(n Node) SoftwareNode {
	for _, s := range r.Nodes {
		if s.Node == n.Name && s.Host == n.HostUID {
			return s
		}
	}
	return SoftwareNode{Node: n.Name, Host: n.HostUID}
}

// SoftwareRemoval is SoftwarePackage.Intent of a package that the last run was to remove. It differs from
// all results of SoftwareIntent.
const SoftwareRemoval = "remove"

// SoftwareIntent identifies what a run does with a package: version, hold, source and content. It changes
// when a run must process the package again.
func SoftwareIntent(s Software) string {
	if s.Problem != "" {
		return "problem"
	}
	text := "v1 " + s.Version
	if s.Hold {
		text = "v1 hold " + s.Version
	}
	for _, architecture := range slices.Sorted(maps.Keys(s.Versions)) {
		text += " " + architecture + "=" + s.Versions[architecture]
	}
	for _, f := range s.Files {
		text += " " + f.SHA256
	}
	return text
}

// IntentParts returns the parts of a result of SoftwareIntent: the version, and then what only a depot
// has, the versions of architectures and the digests of files. It is empty without a version.
func IntentParts(intent string) []string {
	rest, ok := strings.CutPrefix(intent, "v1 ")
	if !ok {
		return nil
	}
	return strings.Fields(strings.TrimPrefix(rest, "hold "))
}
