package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	duckv1 "knative.dev/pkg/apis/duck/v1"
)

// ProvisioningStatus describes the observed cluster. It contains only observations; the controller
// does not take instructions from it.
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.clusterUID) || has(self.clusterUID) && self.clusterUID == oldSelf.clusterUID",message="clusterUID cannot be changed once it is set"
type ProvisioningStatus struct {
	duckv1.Status `json:",inline"`

	// ClusterUID is the identity of the cluster on its machines, on its hosts and in its Backups, if it is
	// not the UID of this Provisioning: an earlier Provisioning of the same name has installed the cluster.
	// `kubectl bpa adopt` sets it. It cannot be changed after that.
	// +kubebuilder:validation:MaxLength=64
	ClusterUID string `json:"clusterUID,omitempty"`
	// Run is the current or the last PipelineRun.
	Run *RunStatus `json:"run,omitempty"`
	// Progress is the progress of the current operation.
	Progress *ProgressStatus `json:"progress,omitempty"`
	// Nodes are the hosts that this Provisioning holds, in the order of the spec.
	Nodes []NodeStatus `json:"nodes,omitempty"`
	// NodesReady counts the nodes of the cluster, such as 2/3: the first number is that of the nodes that
	// are Ready. Standby nodes do not count, lost ones do.
	NodesReady string `json:"nodesReady,omitempty"`
	// KubernetesVersion lists the versions of the nodes' kubelets, such as 1.35.4, or 1.34.3,1.35.4 during
	// an upgrade, as seen at the last look at the cluster.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// Plugins are the plugins that the spec requests, those that they need, and those that are being
	// removed, in the order in which they are installed.
	// +listType=map
	// +listMapKey=name
	Plugins []PluginStatus `json:"plugins,omitempty"`
	// Engine is the name and the release of the playbooks of the last run, such as "kubespray v2.31.0".
	// It is empty before the first playbook, and if the image of Task kubespray does not name them.
	Engine string `json:"engine,omitempty"`
	// APIEndpoint is the address of the new cluster's API server, such as https://10.60.0.11:6443.
	APIEndpoint string `json:"apiEndpoint,omitempty"`
	// APICertificateExpires is when the certificate of the new cluster's API server expires, as seen at
	// the last look at the cluster.
	APICertificateExpires *metav1.Time `json:"apiCertificateExpires,omitempty"`
	// Kubeconfig describes where the new cluster's kubeconfig is stored.
	Kubeconfig *KubeconfigStatus `json:"kubeconfig,omitempty"`
	// InstalledDigest is the digest of the request from which the running cluster was installed. It
	// is empty before the installation.
	InstalledDigest string `json:"installedDigest,omitempty"`
	// ObservedRetry is the value of the retry annotation with which the newest run was started.
	ObservedRetry string `json:"observedRetry,omitempty"`
	// PassedOver are hosts that failed in an installation. They are chosen again only if no other
	// host fits. After the last attempt, a host that did not receive its image is not chosen before
	// the retry annotation has a new value. A host that did not answer by SSH leaves the list when the
	// cluster is complete.
	PassedOver []PassedOverHost `json:"passedOver,omitempty"`
	// Patched is the value of the annotation bpa.akraino.org/patch with which the operating systems of all
	// nodes were last patched, such as a time. A node that joins later counts as patched. It is empty if
	// the cluster was never patched.
	Patched string `json:"patched,omitempty"`
	// Upgrade is set while the nodes do not all have the requested Kubernetes version, kubespray release,
	// variables and patch: the upgrade is under way, has failed or waits.
	Upgrade *UpgradeStatus `json:"upgrade,omitempty"`
	// Restore describes the restore from a Backup that is requested or under way, or the last one.
	Restore *RestoreStatus `json:"restore,omitempty"`
	// SecretVars has, by name, keyed digests of the variables in the Secrets of spec.kubespray.varsFrom, as the
	// controller last read them. The key is in Secret NAME-vars-key.
	SecretVars map[string]string `json:"secretVars,omitempty"`
	// Checks are what the newest run that has checked hosts has found out about them, before it changed them. It is absent
	// before the first such run.
	Checks *ChecksStatus `json:"checks,omitempty"`
	// Queue is set while the next run waits because the site limits the number of runs at a time
	// (max-runs in ConfigMap config-bpa). Nothing else is missing for the run.
	Queue *QueueStatus `json:"queue,omitempty"`
	// Failure is set if the last attempt failed and no newer attempt has started.
	Failure *FailureStatus `json:"failure,omitempty"`
	// Software describes the runs for the Softwares of the cluster. It is absent if there are none. Ready
	// does not depend on it.
	Software *SoftwareRunStatus `json:"software,omitempty"`
}

// SoftwareRunStatus describes the runs that install the packages of Softwares on the nodes of a cluster.
type SoftwareRunStatus struct {
	// Next is what the next run does, such as "install curl on worker-1". It is absent if nothing is to be
	// done.
	Next string `json:"next,omitempty"`
	// Waiting is why this run does not start yet, and what a user can do about it.
	Waiting string `json:"waiting,omitempty"`
	// Run is the name of the newest run, and Attempt its attempt at the same packages.
	Run     string `json:"run,omitempty"`
	Attempt int32  `json:"attempt,omitempty"`
	// Asked is the value of the annotation bpa.akraino.org/software whose run has ended: it has looked at the
	// nodes, or it has failed and is not tried again. Nothing else is done for this request.
	Asked string `json:"asked,omitempty"`
	// Failure is set if that run failed. A package that could not be installed fails no run: the status of
	// the Software shows it.
	Failure *FailureStatus `json:"failure,omitempty"`
}

// ChecksStatus is what a run has found out about the hosts that are to become nodes.
type ChecksStatus struct {
	// Run is the name of the run.
	Run string `json:"run"`
	// Summary counts the findings, such as "1 error, 2 warnings". It is empty if the hosts are as they should be.
	Summary string `json:"summary,omitempty"`
	// Findings are what is not as it should be, the worst first. There are at most 16 of them.
	Findings []CheckFinding `json:"findings,omitempty"`
}

// CheckFinding is what one check has found out. docs/checks.md says what to do.
type CheckFinding struct {
	// ID is the ID of the check, such as clock.
	ID string `json:"id"`
	// Severity is error, warning or unknown. Only an error ends the run, unknown means that the check could not be made.
	Severity string `json:"severity"`
	// Hosts are the names of the first nodes with this finding, and HostCount is the number of all. Without a host, the finding
	// is about the bootstrap machine or about all hosts.
	Hosts     []string `json:"hosts,omitempty"`
	HostCount int32    `json:"hostCount,omitempty"`
	// Message is what was seen on the first of them.
	Message string `json:"message"`
}

// RunStatus is a PipelineRun of this cluster.
type RunStatus struct {
	// Name is the name of the PipelineRun, in the same namespace.
	Name string `json:"name"`
	// Operation is the operation of the run, such as install.
	Operation string `json:"operation"`
	// Attempt is the number of the attempt. It starts at 1 for each requested state.
	Attempt int32 `json:"attempt"`
	// StartTime is the start time of the PipelineRun.
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// CompletionTime is the completion time of the PipelineRun. It is absent while the run is
	// active.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// UpgradeStatus describes an upgrade that is under way or that has stopped.
type UpgradeStatus struct {
	// From is the oldest Kubernetes version of a node, and To the version that the spec requests.
	From string `json:"from"`
	To   string `json:"to"`
	// Hop is the version that all nodes get first. It differs from To if To is more than one minor
	// version newer. It is empty if the upgrade was taken back after it had begun.
	Hop string `json:"hop,omitempty"`
	// Newest is the newest Kubernetes version of a node. The spec cannot go back to an older one.
	Newest string `json:"newest"`
	// Patch is the requested patch of the operating systems. It is empty if all nodes have it.
	Patch string `json:"patch,omitempty"`
	// OnlyPatch means that nothing but the patch is requested.
	OnlyPatch bool `json:"onlyPatch,omitempty"`
	// Done is the number of nodes that have Hop with the requested variables and patch, of Total nodes.
	Done  int32 `json:"done"`
	Total int32 `json:"total"`
	// Message lists the nodes by their versions, and says why the upgrade has stopped and how it goes
	// on.
	Message string `json:"message,omitempty"`
}

// RestoreState is the state of a restore.
type RestoreState string

const (
	// RestoreRefused means that the restore does not start; the message says why, and what to do.
	RestoreRefused RestoreState = "Refused"
	// RestoreWaiting means that the restore was accepted and its run has not started yet.
	RestoreWaiting RestoreState = "Waiting"
	// RestoreRunning means that a run restores the cluster.
	RestoreRunning RestoreState = "Running"
	// RestoreFailed means that the last run failed before it changed a control plane.
	RestoreFailed RestoreState = "Failed"
	// RestoreIncomplete means that a run has begun to change control planes and did not complete the
	// restore. The cluster cannot be used, and is not backed up, before a restore is complete.
	RestoreIncomplete RestoreState = "Incomplete"
	// RestoreComplete means that the cluster has the content of the Backup.
	RestoreComplete RestoreState = "Complete"
)

// RestoreStatus describes a restore of the cluster from a Backup.
type RestoreStatus struct {
	// Backup is the name of the Backup.
	Backup string `json:"backup,omitempty"`
	// BackupTime is when the Backup was begun. What was written to the cluster after it is lost.
	BackupTime *metav1.Time `json:"backupTime,omitempty"`
	// State is Refused, Waiting, Running, Failed, Incomplete or Complete.
	State RestoreState `json:"state"`
	// Message says why the restore does not go on.
	Message string `json:"message,omitempty"`
	// Requested is the value of the annotation bpa.akraino.org/restore that requested the restore.
	Requested string `json:"requested,omitempty"`
}

// IsRestoring reports whether the cluster is being restored, or a restore was begun and is not complete.
func (s *ProvisioningStatus) IsRestoring() bool {
	return s.Restore != nil && (s.Restore.State == RestoreRunning || s.Restore.State == RestoreIncomplete)
}

// QueueStatus is the place of a Provisioning among those that wait for a free run.
type QueueStatus struct {
	// Since is when the Provisioning began to wait. Of two with the same priority, the run of the one
	// that waits longer starts first.
	Since metav1.Time `json:"since"`
	// Place is 1 for the Provisioning whose run starts next. It is absent if it is this
	// Provisioning's turn, but its run cannot be created yet.
	Place int32 `json:"place,omitempty"`
	// Length is the number of Provisionings that wait, including this one.
	Length int32 `json:"length,omitempty"`
}

// ProgressStatus describes the progress of the current operation.
type ProgressStatus struct {
	// Percent is the finished part of the whole operation, 0 to 100. It never decreases within one
	// run.
	Percent int32 `json:"percent"`
	// Task is the pipeline task that runs now, such as kubespray.
	Task string `json:"task,omitempty"`
	// Step is the current step of that task, such as the name of the Ansible task.
	Step string `json:"step,omitempty"`
	// Summary combines percent and task for a column, such as "64% kubespray".
	// While the next run waits for a free run, it is the place, such as "queued, place 2 of 3".
	Summary string `json:"summary,omitempty"`
	// EstimatedEnd is the expected completion time, calculated from the pace so far. It is absent
	// while there is no estimate.
	EstimatedEnd *metav1.Time `json:"estimatedEnd,omitempty"`
}

// NodeState is the state of a node of the cluster.
type NodeState string

const (
	// NodeClaimed means that the host is claimed and nothing is installed yet.
	NodeClaimed NodeState = "Claimed"
	// NodeInstalling means that a run is working on the host.
	NodeInstalling NodeState = "Installing"
	// NodeReady means that the node is Ready in the new cluster. If nothing looks at the cluster (see
	// the condition ClusterHealthy), it means that the node was Ready when the last run ended.
	NodeReady NodeState = "Ready"
	// NodeNotReady means that the node does not work in the cluster, or does not exist there.
	NodeNotReady NodeState = "NotReady"
	// NodeUnknown means that the cluster's API server does not answer, so that nobody knows the state
	// of the node.
	NodeUnknown NodeState = "Unknown"
	// NodeResetting means that a run is removing the cluster from the host.
	NodeResetting NodeState = "Resetting"
	// NodeRemoving means that a run is removing the node from the cluster.
	NodeRemoving NodeState = "Removing"
	// NodeFailed means that the last run failed on this host.
	NodeFailed NodeState = "Failed"
	// NodeStandby means that the host is claimed as a replacement for another host.
	NodeStandby NodeState = "Standby"
	// NodeLost means that the host does not exist any more, is being deleted, is in quarantine, was
	// wiped by Metal3, or is claimed by another consumer.
	NodeLost NodeState = "Lost"
)

// NodeStatus describes one node of the new cluster and its host.
type NodeStatus struct {
	// Name is the name of the node, in the spec and in the inventory.
	Name string `json:"name"`
	// Roles are the roles of the node: control-plane, worker or both.
	Roles []string `json:"roles"`
	// Host is the name of the BareMetalHost, in the same namespace.
	Host string `json:"host"`
	// Address is the address at which BPA reaches the host.
	Address string `json:"address,omitempty"`
	// NodeSet is the node set of the node. It is empty for a master or a worker.
	NodeSet string `json:"nodeSet,omitempty"`
	// State is the state of the node.
	State NodeState `json:"state,omitempty"`
	// Message explains the states NotReady and Unknown. Since is when the state began.
	Message string       `json:"message,omitempty"`
	Since   *metav1.Time `json:"since,omitempty"`
	// Version is the version of the node's kubelet, such as 1.35.4, as seen at the last look at the
	// cluster. Unschedulable reports that the node was cordoned then.
	Version       string `json:"version,omitempty"`
	Unschedulable bool   `json:"unschedulable,omitempty"`
	// Problem is a problem that Metal3 or a user reports for the host. It is empty if there is
	// none.
	Problem string `json:"problem,omitempty"`
	// HostLabels are the labels that the Node gets from the labels of its host (node-labels in ConfigMap config-bpa).
	HostLabels map[string]string `json:"hostLabels,omitempty"`
	// AppliedMetadata identifies the labels, annotations and taints that BPA has set on the Node, as seen at the last look
	// at the cluster. It is differs if the Node does not have all of them any more, and empty if BPA has set none.
	// +kubebuilder:validation:MaxLength=64
	AppliedMetadata string `json:"appliedMetadata,omitempty"`
}

// PluginState is the state of a plugin in the cluster.
type PluginState string

const (
	// PluginPending means that the plugin is requested, and that no run has begun to install it.
	PluginPending PluginState = "Pending"
	// PluginInstalling means that a run installs the plugin.
	PluginInstalling PluginState = "Installing"
	// PluginInstalled means that all objects of the plugin are ready, and that its test has not failed.
	PluginInstalled PluginState = "Installed"
	// PluginSkipped means that nothing of the plugin is in the cluster, for the reason in the message.
	PluginSkipped PluginState = "Skipped"
	// PluginFailed means that the plugin is not, or not completely, installed.
	PluginFailed PluginState = "Failed"
	// PluginRemoving means that the plugin is not requested any more and is still in the cluster.
	PluginRemoving PluginState = "Removing"
)

// PluginStatus describes one plugin of the cluster.
type PluginStatus struct {
	// Name is the name of the plugin.
	Name string `json:"name"`
	// Version is the version of the plugin in the cluster, or else the requested one.
	Version string `json:"version,omitempty"`
	// State is the state of the plugin.
	State PluginState `json:"state"`
	// Message explains the state, such as why the plugin is skipped or has failed.
	Message string `json:"message,omitempty"`
	// NeededBy are the requested plugins that need this one, if the spec does not list it itself.
	NeededBy []string `json:"neededBy,omitempty"`
	// Test is the result of the plugin's test. It is absent before the test.
	Test *PluginTestStatus `json:"test,omitempty"`
	// LastTransitionTime is when the state changed.
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
}

// PluginTestStatus is the result of a plugin's test.
type PluginTestStatus struct {
	// State is passed, failed, skipped (the test did not run) or none (the plugin has no test).
	State string `json:"state"`
	// Message is the end of the test's output, or the reason why the test did not run.
	Message string `json:"message,omitempty"`
}

// KubeconfigStatus describes where the new cluster's kubeconfig is stored.
type KubeconfigStatus struct {
	// SecretName is the name of the Secret in the same namespace. Its key "value" holds the
	// kubeconfig, as in Cluster API.
	SecretName string `json:"secretName"`
	// Expires is the time at which the kubeconfig's client certificate expires.
	Expires *metav1.Time `json:"expires,omitempty"`
}

// PassedOverHost is a host that failed in an installation.
type PassedOverHost struct {
	// Host is the name of the BareMetalHost, in the same namespace.
	Host string `json:"host"`
	// Reason is HostProvisioningFailed or HostUnreachable.
	Reason string `json:"reason"`
	// Message is the error message, shortened to a readable length.
	Message string `json:"message,omitempty"`
	// Time is when the host failed.
	Time metav1.Time `json:"time"`
	// ObservedRetry is the value of the retry annotation at that time.
	ObservedRetry string `json:"observedRetry,omitempty"`
}

// FailureStatus describes the failure of the last attempt.
type FailureStatus struct {
	// Reason is one of a closed set of reasons, which the package contract lists.
	Reason string `json:"reason"`
	// Task is the pipeline task that failed, such as kubespray.
	Task string `json:"task,omitempty"`
	// Host is the name of the node on which the task failed. It is empty if the failure is not
	// specific to a node.
	Host string `json:"host,omitempty"`
	// Step is the step that failed, such as the name of the Ansible task.
	Step string `json:"step,omitempty"`
	// Message is the error message, shortened to a readable length.
	Message string `json:"message,omitempty"`
	// Hint describes the next action for the user.
	Hint string `json:"hint,omitempty"`
	// NextAttempt is the earliest time of the controller's next attempt. If this time has passed,
	// the controller waits for a missing precondition and starts as soon as it is met. NextAttempt
	// is absent if a user must act first.
	NextAttempt *metav1.Time `json:"nextAttempt,omitempty"`
	// ObservedRetry is the last value of the retry annotation that the controller has processed.
	ObservedRetry string `json:"observedRetry,omitempty"`
}
