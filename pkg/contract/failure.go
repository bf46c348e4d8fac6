package contract

// Reason is why a task failed: one string from the task's exit through its result to the condition and the event.
type Reason string

const (
	// ReasonHostsNotAvailable: no assignment exists any more, or other claimants were faster every time. Goes away when hosts appear.
	ReasonHostsNotAvailable Reason = "HostsNotAvailable"
	// ReasonAddressMissing: a claimed host has no usable address in its hardware facts. A person must act.
	ReasonAddressMissing Reason = "AddressMissing"
	// ReasonHostProvisioningFailed: Metal3 could not put the operating system on a host; the hosts are given back. May go away: Metal3 keeps its error
	// on that host, so the next attempt takes another.
	ReasonHostProvisioningFailed Reason = "HostProvisioningFailed"
	// ReasonHostUnreachable: nothing answers at a host's SSH port, or the connection broke. May go away.
	ReasonHostUnreachable Reason = "HostUnreachable"
	// ReasonSSHDenied: the host refuses the user or the key. A person must act.
	ReasonSSHDenied Reason = "SSHDenied"
	// ReasonHostKeyChanged: the host shows another SSH host key than at first contact. A person must act.
	ReasonHostKeyChanged Reason = "HostKeyChanged"
	// ReasonWrongMachine: the machine at a host's address has none of the host's MAC addresses. A person must act: the address is a fact of the host, which
	// another attempt would read again.
	ReasonWrongMachine Reason = "WrongMachine"
	// ReasonPlaybookFailed: an Ansible task failed for good. A person must act.
	ReasonPlaybookFailed Reason = "PlaybookFailed"
	// ReasonDownloadFailed: a node could not fetch a file, an image or a package, for a reason of the network or of an overloaded server. May go away.
	ReasonDownloadFailed Reason = "DownloadFailed"
	// ReasonPackagesLocked: another process on a node, such as unattended-upgrades, holds the lock of the package manager. May go away.
	ReasonPackagesLocked Reason = "PackagesLocked"
	// ReasonTaskTimedOut: an Ansible task waited in vain. May go away.
	ReasonTaskTimedOut Reason = "TaskTimedOut"
	// ReasonClusterUnhealthy: the playbook ended well, yet nodes or system pods are not Ready. May go away.
	ReasonClusterUnhealthy Reason = "ClusterUnhealthy"
	// ReasonAPIUnavailable: an API server (the bootstrap's or the new cluster's) does not answer. May go away.
	ReasonAPIUnavailable Reason = "APIUnavailable"
	// ReasonArtifactsMissing: the depot lacks images or files, and the site is closed or upstream has them not. Goes away when somebody brings them.
	ReasonArtifactsMissing Reason = "ArtifactsMissing"
	// ReasonDepotUnavailable: the depot does not answer, or refuses. May go away.
	ReasonDepotUnavailable Reason = "DepotUnavailable"
	// ReasonInvalidRequest: the request or the inventory contradicts itself. A person must act.
	ReasonInvalidRequest Reason = "InvalidRequest"
	// ReasonInternal: a bug or a missing right. A person must act.
	ReasonInternal Reason = "InternalError"

	// The following are found by the reconciler, not told by a task.

	// ReasonTimeout: the run took longer than spec.timeouts allows.
	ReasonTimeout Reason = "RunTimedOut"
	// ReasonCancelled: a person or the controller cancelled the run.
	ReasonCancelled Reason = "RunCancelled"
	// ReasonImagePullFailed: a task's image cannot be pulled. May go away.
	ReasonImagePullFailed Reason = "ImagePullFailed"
	// ReasonOutOfMemory: a task's pod, or the playbook in it, was killed for its memory; the task tells of the latter. A person must act.
	ReasonOutOfMemory Reason = "OutOfMemory"
	// ReasonPodLost: the pod of a task was evicted or deleted. May go away.
	ReasonPodLost Reason = "PodLost"
	// ReasonPipelineMissing: Tekton did not get the Pipeline or one of its Tasks. Goes away when config/ is applied again.
	ReasonPipelineMissing Reason = "PipelineMissing"
	// ReasonReleaseMissing: there are no Tasks of the kubespray release that the Provisioning picks. A person must act.
	ReasonReleaseMissing Reason = "ReleaseMissing"
	// ReasonVersionSkew: the controller and the Tasks or the Pipeline are of builds that do not fit together, as in the middle of an upgrade. Goes away
	// when config/ of one build is applied.
	ReasonVersionSkew Reason = "VersionSkew"
	// ReasonRunFailed: none of the above; the message is Tekton's.
	ReasonRunFailed Reason = "RunFailed"
)

// Transient reports whether the same attempt may succeed later without anybody's doing.
func (r Reason) Transient() bool {
	switch r {
	case ReasonHostsNotAvailable, ReasonHostUnreachable, ReasonClusterUnhealthy, ReasonAPIUnavailable, ReasonImagePullFailed, ReasonPodLost,
		ReasonPipelineMissing, ReasonArtifactsMissing, ReasonDepotUnavailable, ReasonHostProvisioningFailed,
		ReasonDownloadFailed, ReasonPackagesLocked, ReasonTaskTimedOut, ReasonVersionSkew:
		return true
	}
	return false
}

// Failure is a task's last word, its result "failure" as JSON. All texts are cut so that it fits in MaxText bytes.
type Failure struct {
	Reason  Reason `json:"reason"`
	Host    string `json:"host,omitempty"`    // node name
	Step    string `json:"step,omitempty"`    // such as the name of the Ansible task
	Message string `json:"message,omitempty"` // never a secret
}
