package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	duckv1 "knative.dev/pkg/apis/duck/v1"
)

// Backup is a copy of the etcd and of the keys of one cluster, in the depot. The copy is encrypted.
// It stays when the Provisioning is deleted. If the Backup is deleted, the controller deletes the copy
// in the depot.
//
// +genclient
// +genreconciler
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=backups,singular=backup,shortName=bpabackup,categories=all
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Provisioning",type=string,JSONPath=`.spec.provisioning`
// +kubebuilder:printcolumn:name="Succeeded",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="Completed",type=date,JSONPath=`.status.completionTime`
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.status.size`
// +kubebuilder:printcolumn:name="Revision",type=integer,JSONPath=`.status.revision`,priority=1
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.status.run`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec names the cluster. It cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a Backup cannot be changed: create another Backup"
	Spec BackupSpec `json:"spec"`
	// Status describes the copy. Only the controller writes it.
	Status BackupStatus `json:"status,omitempty"`
}

// BackupList is a list of Backups.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
// +kubebuilder:object:root=true
type BackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Backup `json:"items"`
}

// BackupSpec names the cluster to back up.
type BackupSpec struct {
	// Provisioning is the name of the Provisioning of the cluster, in the same namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Provisioning string `json:"provisioning"`
}

// BackupStatus describes a backup.
type BackupStatus struct {
	duckv1.Status `json:",inline"`

	// Run is the name of the PipelineRun.
	Run string `json:"run,omitempty"`
	// StartTime and CompletionTime are those of the run.
	StartTime      *metav1.Time `json:"startTime,omitempty"`
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// Depot is the address of the depot that has the copy.
	Depot string `json:"depot,omitempty"`
	// ClusterUID is the identity of the cluster: see the status of the Provisioning. Only this cluster can be restored
	// from the copy, because the nodes of another one do not know its keys.
	ClusterUID string `json:"clusterUID,omitempty"`
	// Artifact is the path of the copy in the depot, below /files.
	Artifact string `json:"artifact,omitempty"`
	// Recipient is the public key for which the copy is encrypted, in the notation of age. The private
	// key is in Secret PROVISIONING-backup-key, unless an administrator has moved it elsewhere.
	Recipient string `json:"recipient,omitempty"`
	// Size is the size of the encrypted copy in bytes, and SHA256 is its digest in hexadecimal.
	Size   int64  `json:"size,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// KubernetesVersion is the Kubernetes version of the control plane node with the copied member of
	// etcd.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// Member is the name of the node whose member of etcd was copied.
	Member string `json:"member,omitempty"`
	// Revision is the revision of etcd when the copy began. The copy has at least this revision.
	Revision int64 `json:"revision,omitempty"`
	// KeptUntil is the time until which the copy stays although the Backup is being deleted (backup-min-age of
	// the site's settings). Until then, the cluster can be restored from it.
	KeptUntil *metav1.Time `json:"keptUntil,omitempty"`
}

// BackupPolicy describes when the controller creates Backups, and how many of them it keeps.
type BackupPolicy struct {
	// Schedule are the times at which the controller creates a Backup: five fields in the notation of
	// cron, or @hourly, @daily, @weekly, @monthly or @every with a duration. All times are UTC. If
	// several times were missed, the controller makes up for the last one.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Schedule string `json:"schedule"`
	// Keep is the number of successful scheduled Backups to keep. Older ones are deleted, with their
	// copies in the depot. Other Backups are never deleted. Default 7.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Keep int32 `json:"keep,omitempty"`
	// Paused stops the schedule.
	Paused bool `json:"paused,omitempty"`
}
