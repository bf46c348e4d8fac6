package contract

import "slices"

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

// versionNarrow is the first version of the contract with Upgrade.Narrow, Upgrade.Patch, Request.Restore and
// the same of Target. An older task kubespray would run a whole playbook instead of what the request
// describes. It would report a patch as done without one, and it would delete from the record what
// an earlier run has begun.
const versionNarrow = 2

// versionSecretVars is the first version of the contract with Request.SecretVars. An older task kubespray would run
// the playbook without the values.
const versionSecretVars = 3

// ContractVersion returns the oldest version of the contract whose readers understand the request. A reset
// is always possible: it needs nothing of the record, and no variable of a Secret.
func (r Request) ContractVersion() int {
	upgrades := r.Upgrade != nil && (r.Upgrade.Narrow != nil || r.Upgrade.Patch != "")
	begun := OperationOf(r.Operation).ChangesCluster() && slices.ContainsFunc(r.Members, func(n Node) bool {
		return n.Target != nil && (len(n.Target.Variables) > 0 || n.Target.Patch != "")
	})
	switch {
	case len(r.SecretVars) > 0 && r.Operation != OperationReset:
		return versionSecretVars
	case upgrades || begun || r.Restore != nil:
		return versionNarrow
	}
	return 1
}
