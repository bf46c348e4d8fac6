package contract

// Reason is the cause of a failure. The task's result, the condition and the event all contain the
// same string.
type Reason string

// Reasons that tasks report. What the controller does after a failure, and what a user is told, is in FailurePolicies.
const (
	// ReasonHostsNotAvailable: no assignment of hosts to the nodes exists, or other claimants took
	// the chosen hosts at every attempt.
	ReasonHostsNotAvailable Reason = "HostsNotAvailable"
	// ReasonAddressMissing: the hardware facts of a claimed host contain no usable address.
	ReasonAddressMissing Reason = "AddressMissing"
	// ReasonHostProvisioningFailed: a host did not receive its operating system, and no other host
	// replaced it, or the image is wrong.
	ReasonHostProvisioningFailed Reason = "HostProvisioningFailed"
	// ReasonHostUnreachable: nothing answers at a host's SSH port, or the connection broke.
	ReasonHostUnreachable Reason = "HostUnreachable"
	// ReasonSSHDenied: the host refuses the user or the key.
	ReasonSSHDenied Reason = "SSHDenied"
	// ReasonHostKeyChanged: the host has another SSH host key than at the first contact.
	ReasonHostKeyChanged Reason = "HostKeyChanged"
	// ReasonWrongMachine: the machine at a host's address has none of the host's MAC addresses. The
	// address is a hardware fact of the host, so another attempt would use it again.
	ReasonWrongMachine Reason = "WrongMachine"
	// ReasonHostOccupied: the machine runs a Kubernetes that is not of this Provisioning. Nothing was
	// changed on it.
	ReasonHostOccupied Reason = "HostOccupied"
	// ReasonPreflightFailed: a check of the hosts that are to become nodes has found something with which the installation
	// would fail. Nothing was changed on any host. It is no transient reason: a run has looked several times, and a wrong
	// clock or a full disk does not repair itself.
	ReasonPreflightFailed Reason = "PreflightFailed"
	// ReasonResetIncomplete: parts of a cluster are left on a host after a reset, or a host with such
	// parts cannot be reset safely, or the former machine of a node that is replaced still runs. The playbook
	// of an installation has not run.
	ReasonResetIncomplete Reason = "ResetIncomplete"
	// ReasonDrainBlocked: pods did not leave a node that is to be removed or upgraded, for example
	// because of a PodDisruptionBudget. The node is in the cluster and accepts pods again.
	ReasonDrainBlocked Reason = "DrainBlocked"
	// ReasonQuorumAtRisk: without the node that is to be removed, added or upgraded, etcd would not have
	// a healthy majority. Nothing was changed.
	ReasonQuorumAtRisk Reason = "QuorumAtRisk"
	// ReasonHostsNotFenced: the run has proved that the copy of the Backup can be restored and that no
	// majority of etcd answers, but old control planes that do not answer may still run, and the controller
	// has not powered their hosts off. Nothing was changed.
	ReasonHostsNotFenced Reason = "HostsNotFenced"
	// ReasonPlaybookFailed: an Ansible task or the package manager of a node that is patched failed, and
	// the cause is not known to be transient.
	ReasonPlaybookFailed Reason = "PlaybookFailed"
	// ReasonDownloadFailed: a node could not download a file, an image or a package because of the
	// network or an overloaded server.
	ReasonDownloadFailed Reason = "DownloadFailed"
	// ReasonPackagesLocked: another process on a node, such as unattended-upgrades, holds the lock of
	// the package manager.
	ReasonPackagesLocked Reason = "PackagesLocked"
	// ReasonTaskTimedOut: an Ansible task waited longer than its time limit, or a patched machine has
	// not booted again.
	ReasonTaskTimedOut Reason = "TaskTimedOut"
	// ReasonClusterUnhealthy: the playbook succeeded, but nodes or system pods are not Ready, a node starts no
	// pod, they were not Ready before an upgrade, or workloads are not available any more after it.
	ReasonClusterUnhealthy Reason = "ClusterUnhealthy"
	// ReasonAPIUnavailable: the API server of the bootstrap machine or of the new cluster does not
	// answer.
	ReasonAPIUnavailable Reason = "APIUnavailable"
	// ReasonArtifactsMissing: images or files are missing in the depot, and the site has no Internet
	// or the upstream server does not have them.
	ReasonArtifactsMissing Reason = "ArtifactsMissing"
	// ReasonDepotUnavailable: the depot does not answer, or refuses the request.
	ReasonDepotUnavailable Reason = "DepotUnavailable"
	// ReasonBackupFailed: the cluster could not be backed up for a reason that is not one of the others,
	// for example because a key file on the control plane node is missing.
	ReasonBackupFailed Reason = "BackupFailed"
	// ReasonPluginFailed: the cluster is complete, but at least one plugin is not: its objects were
	// refused or did not become ready, its playbook or its test failed. The other plugins are installed.
	ReasonPluginFailed Reason = "PluginFailed"
	// ReasonVarsChanged: a Secret of spec.kubespray.varsFrom was changed or deleted after the run was started.
	ReasonVarsChanged Reason = "VarsChanged"
	// ReasonInvalidRequest: the request or the inventory is not consistent.
	ReasonInvalidRequest Reason = "InvalidRequest"
	// ReasonInternal: a bug, or a missing permission.
	ReasonInternal Reason = "InternalError"
)

// Reasons that the reconciler finds in the status of the run, because the task could not report
// one.
const (
	// ReasonTimeout: the run took longer than spec.timeouts allows.
	ReasonTimeout Reason = "RunTimedOut"
	// ReasonCancelled: a user or the controller cancelled the run.
	ReasonCancelled Reason = "RunCancelled"
	// ReasonImagePullFailed: the image of a task cannot be pulled.
	ReasonImagePullFailed Reason = "ImagePullFailed"
	// ReasonOutOfMemory: a task's pod was killed because it exceeded its memory limit, or only the
	// playbook in the pod was killed for this reason. If only the playbook was killed, the task
	// reports this reason itself.
	ReasonOutOfMemory Reason = "OutOfMemory"
	// ReasonPodLost: the pod of a task was evicted or deleted.
	ReasonPodLost Reason = "PodLost"
	// ReasonPipelineMissing: Tekton could not read the Pipeline or one of its Tasks.
	ReasonPipelineMissing Reason = "PipelineMissing"
	// ReasonReleaseMissing: the site has no Tasks of the kubespray release that the Provisioning
	// selects.
	ReasonReleaseMissing Reason = "ReleaseMissing"
	// ReasonVersionSkew: the controller and the Tasks or the Pipeline come from builds that do not
	// work together, for example during an upgrade.
	ReasonVersionSkew Reason = "VersionSkew"
	// ReasonRunFailed: none of the other reasons applies; the message is that of Tekton.
	ReasonRunFailed Reason = "RunFailed"
)

// StepBeforeDrain is Failure.Step of a run for Softwares that finds nodes which are not Ready before it has drained
// any. So none of its packages is the cause.
const StepBeforeDrain = "wait for Ready nodes before the first drain"

// Failure is the result "failure" of a task, as JSON. Its strings are shortened so that the JSON
// has at most MaxText bytes.
type Failure struct {
	Reason  Reason `json:"reason"`
	Host    string `json:"host,omitempty"`    // node name
	Step    string `json:"step,omitempty"`    // such as the name of the Ansible task
	Message string `json:"message,omitempty"` // never a secret
	// Accelerated reports that a playbook failed for a cause that is not known and that can be an acceleration of
	// Ansible. The next attempt runs without accelerations (Request.Unaccelerated), also if Reason is not transient.
	Accelerated bool `json:"accelerated,omitempty"`
	// Others are further nodes that failed for the same reason, as many as fit.
	Others []string `json:"others,omitempty"`
}
