package upgrade

// What the task runs on nodes, for fixtures that answer it.
const (
	PatchScript      = patchScript
	BootScript       = bootScript
	SupportsPackages = supportsPackages
	SnapshotFolder   = snapshotFolder
)

// What tests compare.
const (
	IgnoreErrors = ignoreErrors
	MaxNoted     = maxNoted
)

// IgnoredErrors returns the variables of a request that let a playbook ignore errors.
var IgnoredErrors = ignoredErrors

// Noted is the stored list of workloads.
type Noted = noted
