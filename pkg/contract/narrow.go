package contract

// Nodes on which the tasks of Narrow.Tags run.
const (
	OnFirstControlPlane = "first-control-plane"
	OnControlPlanes     = "control-planes"
	OnAllNodes          = "all"
)

// Narrow describes variables that a run applies to a running cluster with the playbook PlaybookInstall,
// limited to some of its tasks. It drains no node.
type Narrow struct {
	// Variables are the names of the variables, sorted: those that differ from the installed ones, and
	// those that an earlier run has begun to apply.
	Variables []string `json:"variables"`
	// Tags select the tasks of the playbook.
	Tags []string `json:"tags"`
	// On says on which nodes the tasks run, such as OnFirstControlPlane.
	On string `json:"on"`
	// Namespaces are those of the cluster whose Deployments and DaemonSets the run waits for.
	Namespaces []string `json:"namespaces,omitempty"`
	// Kept are the names of variables that switch an addon off. Kubespray does not remove the addon.
	Kept []string `json:"kept,omitempty"`
}
