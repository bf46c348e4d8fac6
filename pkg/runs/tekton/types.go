package tekton

import (
	"github.com/tektoncd/pipeline/pkg/apis/pipeline/pod"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/pkg/apis"
	duckv1 "knative.dev/pkg/apis/duck/v1"
)

// PipelineRun is a run of a Pipeline.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PipelineRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   PipelineRunSpec   `json:"spec,omitempty"`
	Status PipelineRunStatus `json:"status,omitempty"`
}

// IsDone reports whether the run has ended.
func (r *PipelineRun) IsDone() bool {
	return !r.Status.GetCondition(apis.ConditionSucceeded).IsUnknown()
}

// IsSuccessful reports whether the run has ended with success.
func (r *PipelineRun) IsSuccessful() bool {
	return r.Status.GetCondition(apis.ConditionSucceeded).IsTrue()
}

// IsCancelled reports whether the run was cancelled; its tasks may still be stopping.
func (r *PipelineRun) IsCancelled() bool { return r.Spec.Status == PipelineRunSpecStatusCancelled }

// IsGracefullyCancelled reports whether the run was cancelled so that its final tasks run.
func (r *PipelineRun) IsGracefullyCancelled() bool {
	return r.Spec.Status == PipelineRunSpecStatusCancelledRunFinally
}

// IsPending reports whether Tekton does not start the run yet.
func (r *PipelineRun) IsPending() bool { return r.Spec.Status == PipelineRunSpecStatusPending }

// PipelineRunList is a list of PipelineRuns.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PipelineRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PipelineRun `json:"items"`
}

// PipelineRunSpec is what a run is to do.
type PipelineRunSpec struct {
	PipelineRef     *PipelineRef            `json:"pipelineRef,omitempty"`
	Params          Params                  `json:"params,omitempty"`
	Status          PipelineRunSpecStatus   `json:"status,omitempty"`
	Timeouts        *TimeoutFields          `json:"timeouts,omitempty"`
	TaskRunTemplate PipelineTaskRunTemplate `json:"taskRunTemplate,omitempty"`
	Workspaces      []WorkspaceBinding      `json:"workspaces,omitempty"`
	TaskRunSpecs    []PipelineTaskRunSpec   `json:"taskRunSpecs,omitempty"`
}

// PipelineRunSpecStatus is a request of a user to stop a run, or not to start it yet.
type PipelineRunSpecStatus string

// The requests that BPA makes or reads.
const (
	PipelineRunSpecStatusCancelled           = "Cancelled"
	PipelineRunSpecStatusCancelledRunFinally = "CancelledRunFinally"
	PipelineRunSpecStatusPending             = "PipelineRunPending"
)

// PipelineRef names a Pipeline by a resolver.
type PipelineRef struct {
	ResolverRef `json:",omitempty"`
}

// ResolverRef names an object by a resolver and its params.
type ResolverRef struct {
	Resolver string `json:"resolver,omitempty"`
	Params   Params `json:"params,omitempty"`
}

// TimeoutFields limits the time of a run and of its tasks.
type TimeoutFields struct {
	Pipeline *metav1.Duration `json:"pipeline,omitempty"`
	Tasks    *metav1.Duration `json:"tasks,omitempty"`
}

// PipelineTaskRunTemplate has the settings of all tasks of a run.
type PipelineTaskRunTemplate struct {
	PodTemplate        *pod.PodTemplate `json:"podTemplate,omitempty"`
	ServiceAccountName string           `json:"serviceAccountName,omitempty"`
}

// PipelineTaskRunSpec has the settings of one task of a run.
type PipelineTaskRunSpec struct {
	PipelineTaskName   string           `json:"pipelineTaskName,omitempty"`
	ServiceAccountName string           `json:"serviceAccountName,omitempty"`
	PodTemplate        *pod.PodTemplate `json:"podTemplate,omitempty"`
}

// WorkspaceBinding is the volume of a workspace.
type WorkspaceBinding struct {
	Name      string                        `json:"name"`
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`
	Secret    *corev1.SecretVolumeSource    `json:"secret,omitempty"`
	Projected *corev1.ProjectedVolumeSource `json:"projected,omitempty"`
}

// PipelineRunStatus is what Tekton reports of a run.
type PipelineRunStatus struct {
	duckv1.Status           `json:",inline"`
	PipelineRunStatusFields `json:",inline"`
}

// PipelineRunStatusFields are the fields of PipelineRunStatus that are not in all of Tekton's kinds.
type PipelineRunStatusFields struct {
	StartTime       *metav1.Time           `json:"startTime,omitempty"`
	CompletionTime  *metav1.Time           `json:"completionTime,omitempty"`
	ChildReferences []ChildStatusReference `json:"childReferences,omitempty"`
}

// ChildStatusReference names a TaskRun of a run.
type ChildStatusReference struct {
	runtime.TypeMeta `json:",inline"`
	Name             string `json:"name,omitempty"`
	PipelineTaskName string `json:"pipelineTaskName,omitempty"`
}

// TaskRun is one task of a run.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type TaskRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status TaskRunStatus `json:"status,omitempty"`
}

// IsDone reports whether the task has ended.
func (r *TaskRun) IsDone() bool { return !r.Status.GetCondition(apis.ConditionSucceeded).IsUnknown() }

// TaskRunList is a list of TaskRuns.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type TaskRunList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TaskRun `json:"items"`
}

// TaskRunStatus is what Tekton reports of a task.
type TaskRunStatus struct {
	duckv1.Status       `json:",inline"`
	TaskRunStatusFields `json:",inline"`
}

// TaskRunStatusFields are the fields of TaskRunStatus that are not in all of Tekton's kinds.
type TaskRunStatusFields struct {
	PodName        string          `json:"podName"`
	StartTime      *metav1.Time    `json:"startTime,omitempty"`
	CompletionTime *metav1.Time    `json:"completionTime,omitempty"`
	Results        []TaskRunResult `json:"results,omitempty"`
}

// TaskRunResult is a result that a task has written.
type TaskRunResult struct {
	Name  string     `json:"name"`
	Type  ParamType  `json:"type,omitempty"`
	Value ParamValue `json:"value"`
}
