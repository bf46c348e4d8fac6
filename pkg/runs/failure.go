package runs

import (
	"regexp"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Cause describes why a run failed.
type Cause struct {
	contract.Failure
	Task string // name of the failed task in the pipeline; empty: no task failed
}

// tektonReasons maps the reasons that Tekton reports for tasks and runs to BPA's reasons. Reasons
// that are not in the map become ReasonRunFailed.
var tektonReasons = map[string]contract.Reason{
	"TaskRunTimeout":                      contract.ReasonTimeout,
	"PipelineRunTimeout":                  contract.ReasonTimeout,
	"TaskRunCancelled":                    contract.ReasonCancelled,
	"Cancelled":                           contract.ReasonCancelled,
	"CancelledRunningFinally":             contract.ReasonCancelled,
	"StoppedRunningFinally":               contract.ReasonCancelled,
	"PipelineRunCancelled":                contract.ReasonCancelled,
	"TaskRunImagePullFailed":              contract.ReasonImagePullFailed,
	"StepOOM":                             contract.ReasonOutOfMemory,
	"SidecarOOM":                          contract.ReasonOutOfMemory,
	"InitContainerOOM":                    contract.ReasonOutOfMemory,
	"PodEvicted":                          contract.ReasonPodLost,
	"CouldntGetTask":                      contract.ReasonPipelineMissing,
	"CouldntGetPipeline":                  contract.ReasonPipelineMissing,
	"TaskRunResolutionFailed":             contract.ReasonPipelineMissing,
	"ParameterMissing":                    contract.ReasonVersionSkew,
	"ParameterTypeMismatch":               contract.ReasonVersionSkew,
	"PipelineValidationFailed":            contract.ReasonVersionSkew,
	"TaskValidationFailed":                contract.ReasonVersionSkew,
	"TaskRunValidationFailed":             contract.ReasonVersionSkew,
	"InvalidTaskRunSpecs":                 contract.ReasonVersionSkew,
	"InvalidWorkspaceBindings":            contract.ReasonVersionSkew,
	"InvalidTaskResultReference":          contract.ReasonVersionSkew,
	"TaskRunResultLargerThanAllowedLimit": contract.ReasonInternal,
}

// tektonTexts distinguish failures for which Tekton reports the same reason: each text is a part of
// Tekton's message.
var tektonTexts = []struct {
	text   string
	reason contract.Reason
}{
	{"OOMKilled", contract.ReasonOutOfMemory},
	{"ImagePullBackOff", contract.ReasonImagePullFailed},
	{"ErrImagePull", contract.ReasonImagePullFailed},
	{"evicted", contract.ReasonPodLost},
	{"pod deleted", contract.ReasonPodLost},
	// The kubelet reports these texts for containers that ended while the kubelet or the container
	// runtime was down, for example during a reboot.
	{"ContainerStatusUnknown", contract.ReasonPodLost},
	{"code 255: Unknown", contract.ReasonPodLost},
	{"Maybe missing or invalid Task", contract.ReasonInternal},
}

// policyRefusal is a part of the API server's error if the task select-hosts writes more than
// config/500-claims.yaml allows. The Task of this release never does that. The Task of an older
// release may do it, if the run was started before BPA was upgraded.
const policyRefusal = "denied request: a task select-hosts may"

// Classify finds the cause of a failed run from its reason and message, which are Tekton's, and from
// its tasks. A cancellation has priority: a user who has stopped a run does not want that a failure
// of one of its tasks starts the next run. Then comes the failure that the task itself reports, then
// Tekton's reason for the task, then Tekton's reason for the run.
func Classify(reason, message string, tasks []Task) Cause {
	for _, t := range tasks {
		if t.State != Failed {
			continue
		}
		if t.Failure != nil && t.Failure.Reason != "" && !stopped(reason, t) {
			said := *t.Failure
			if said.Reason == contract.ReasonInternal && strings.Contains(said.Message, policyRefusal) {
				said.Reason = contract.ReasonVersionSkew
			}
			return Cause{Failure: said, Task: t.Name}
		}
		cause := Cause{Failure: contract.Failure{Reason: tektonReason(reason, t.Reason, t.Message), Message: t.Message}, Task: t.Name}
		if cause.Message == "" && cause.Reason == contract.ReasonCancelled {
			cause.Message = message // the task ended before Tekton stopped it
		}
		return cause
	}
	return Cause{Failure: contract.Failure{Reason: tektonReason(reason, reason, message), Message: message}}
}

// stopped reports whether the task failed because it was stopped, so that its own failure says
// nothing about the cause. This is the case if the run was cancelled: a playbook that loses its
// connections then reports unreachable hosts. It is also the case if the task itself reports only
// that it was stopped. Tekton's reason then distinguishes a cancellation from a timeout.
func stopped(reason string, t Task) bool {
	return tektonReasons[reason] == contract.ReasonCancelled ||
		t.Failure.Reason == contract.ReasonCancelled && (tektonReasons[t.Reason] != "" || tektonReasons[reason] != "")
}

// tektonReason converts Tekton's reason and message, of a task or of the run, to BPA's reason. run is
// Tekton's reason for the run.
func tektonReason(run, reason, message string) contract.Reason {
	// When a run times out or is cancelled, its tasks are cancelled too. A task's own reason then
	// says nothing about the cause.
	if of := tektonReasons[run]; of == contract.ReasonTimeout || of == contract.ReasonCancelled {
		return of
	}
	if task, _ := MissingTask(message); task != "" {
		return contract.ReasonReleaseMissing
	}
	if known, ok := tektonReasons[reason]; ok {
		return known
	}
	for _, known := range tektonTexts {
		if strings.Contains(message, known.text) {
			return known.reason
		}
	}
	return contract.ReasonRunFailed
}

// noTask matches the API server's message that the Task of a kubespray release does not exist.
// Tekton's cluster resolver passes this message on. The failure is permanent. Other problems with a
// Task, such as an API server that does not answer, can be temporary.
var noTask = regexp.MustCompile(`tasks\.tekton\.dev "((?:` + strings.Join(perRelease(), "|") + `)-([^"]+))" not found`)

// perRelease returns the names of the tasks that have a separate Task for each kubespray release.
func perRelease() (names []string) {
	for _, task := range contract.Tasks {
		if task.PerRelease {
			names = append(names, task.Name)
		}
	}
	return names
}

// MissingTask returns the missing Task of a kubespray release from Tekton's message, or an empty
// name if the message reports something else.
func MissingTask(message string) (task, release string) {
	if found := noTask.FindStringSubmatch(message); found != nil {
		return found[1], found[2]
	}
	return "", ""
}
