package plan

import (
	"fmt"
	"regexp"
	"strings"
	"time"

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

// Classify finds the cause of a failed run. The failure that the task itself reports has priority,
// then Tekton's reason for the task, then Tekton's reason for the run.
func Classify(r Run) Cause {
	for _, t := range r.Tasks {
		if t.State != Failed {
			continue
		}
		if t.Failure != nil && t.Failure.Reason != "" && !stopped(r, t) {
			said := *t.Failure
			if said.Reason == contract.ReasonInternal && strings.Contains(said.Message, policyRefusal) {
				said.Reason = contract.ReasonVersionSkew
			}
			return Cause{Failure: said, Task: t.Name}
		}
		return Cause{Failure: contract.Failure{Reason: tektonReason(r, t.Reason, t.Message), Message: t.Message}, Task: t.Name}
	}
	return Cause{Failure: contract.Failure{Reason: tektonReason(r, r.Reason, r.Message), Message: r.Message}}
}

// stopped reports whether the task's own failure says only that the task was stopped. Tekton's
// reason is then more useful, because it distinguishes a cancellation from a timeout.
func stopped(r Run, t Task) bool {
	return t.Failure.Reason == contract.ReasonCancelled && (tektonReasons[t.Reason] != "" || tektonReasons[r.Reason] != "")
}

func tektonReason(r Run, reason, message string) contract.Reason {
	// When a run times out, its tasks are cancelled. A task's own reason then says nothing about
	// the cause.
	if tektonReasons[r.Reason] == contract.ReasonTimeout {
		return contract.ReasonTimeout
	}
	if task, _ := missingTask(message); task != "" {
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

// missingTask returns the missing Task of a kubespray release from Tekton's message, or an empty
// name if the message reports something else.
func missingTask(message string) (task, release string) {
	if found := noTask.FindStringSubmatch(message); found != nil {
		return found[1], found[2]
	}
	return "", ""
}

// firstPause is the wait before the second attempt. The wait doubles with each attempt, up to
// longestPause.
const (
	firstPause   = 30 * time.Second
	longestPause = 5 * time.Minute
)

func pause(attempt int32) time.Duration {
	p := firstPause
	for ; attempt > 1 && p < longestPause; attempt-- {
		p *= 2
	}
	return min(p, longestPause)
}

// costless reports whether a failed run does not count as an attempt. This is the case if the run
// started no playbook, and a precondition was missing that can be missing for a long time. Waiting
// for this precondition must not use up the attempts.
func costless(failed Run, reason contract.Reason) bool {
	if failed.Touched {
		return false
	}
	switch reason {
	case contract.ReasonHostsNotAvailable, contract.ReasonPipelineMissing, contract.ReasonArtifactsMissing, contract.ReasonDepotUnavailable:
		return true
	}
	return false
}

// inARow counts the newest runs that failed one after the other for this reason. The intervals
// between attempts grow with this number, because the cause can last for days. For example,
// artifacts can be missing, or only a run can find that hosts are unsuitable: the controller does
// not read the network data of hosts, which may contain no address.
func inARow(s Seen, reason contract.Reason) (n int32) {
	for i := len(s.Runs) - 1; i >= 0 && s.Runs[i].State == Failed && Classify(s.Runs[i]).Reason == reason; i-- {
		n++
	}
	return n
}

// retryAt returns the time of the next automatic attempt. It returns false if there is none.
func retryAt(s Seen, failed Run, cause Cause) (time.Time, bool) {
	if !cause.Reason.Transient() {
		return time.Time{}, false
	}
	switch {
	case cause.Reason == contract.ReasonArtifactsMissing || cause.Reason == contract.ReasonDepotUnavailable ||
		cause.Reason == contract.ReasonHostsNotAvailable:
		return failed.Completed.Add(pause(inARow(s, cause.Reason))), true
	case costless(failed, cause.Reason):
		return failed.Completed.Add(firstPause), true
	case failed.resets(), cause.Reason == contract.ReasonHostUnreachable && !s.Complete():
		// A host can be down for days. Attempts go on slowly for as long as the host is claimed.
		return failed.Completed.Add(pause(failed.Attempt)), true
	}
	if failed.Attempt >= s.Limits.Attempts {
		return time.Time{}, false
	}
	return failed.Completed.Add(pause(failed.Attempt)), true
}

// hintWaiting tells a user what to do about a failure after which the controller retries.
func hintWaiting(cause Cause) string {
	switch cause.Reason {
	case contract.ReasonPipelineMissing:
		return "if the Pipeline or a Task is missing, apply BPA's config/ again; the controller then continues automatically"
	case contract.ReasonArtifactsMissing:
		return "upload the missing artifacts to the depot; the controller then continues automatically"
	case contract.ReasonDepotUnavailable:
		return "check that the depot is running and answers at the address in the Provisioning or in ConfigMap config-bpa; the controller then continues automatically"
	}
	if cause.Reason == contract.ReasonVersionSkew {
		return "if no upgrade of BPA is in progress, apply the config/ of one release again; the controller then continues automatically"
	}
	return nothingToDo
}

const nothingToDo = "nothing: the controller retries automatically"

// hint tells a user what to do about a failure after which the controller does not retry.
func hint(namespace, name, run string, cause Cause) string {
	look := fmt.Sprintf("see `tkn pipelinerun logs -n %s %s`", namespace, run)
	if cause.Task == "" { // no task ran, so there is no log
		look = fmt.Sprintf("see `tkn pipelinerun describe -n %s %s`", namespace, run)
	}
	// The new value of the annotation must differ from all earlier values. The run's name does.
	annotate := fmt.Sprintf("`kubectl annotate -n %s provisioning %s %s=%s --overwrite`", namespace, name, contract.AnnotationRetry, run)
	again := "then " + annotate + ", or change the spec"
	switch cause.Reason {
	case contract.ReasonSSHDenied:
		return "store a key that can log in as spec.ssh.user in the Secret of spec.ssh.secretName; the controller then retries automatically. " +
			"Or authorize the current key on the host, " + again
	case contract.ReasonHostKeyChanged:
		return fmt.Sprintf("if the host was reinstalled, delete its line from ConfigMap %s, %s", contract.KnownHostsName(name), again)
	case contract.ReasonWrongMachine:
		return "correct the host's address at its source (network data or DHCP), or correct spec.bootMACAddress of the BareMetalHost if the machine is the right one, " + again
	case contract.ReasonAddressMissing:
		return "make sure that the BareMetalHost's hardware details contain an IP address, " + again
	case contract.ReasonTimeout:
		return look + "; if the run only needs more time, raise spec.timeouts.install"
	case contract.ReasonCancelled:
		return "to start another run, use " + annotate + ", or change the spec"
	case contract.ReasonReleaseMissing:
		task, release := missingTask(cause.Message)
		return fmt.Sprintf("there is no Task %s in namespace bpa-system for kubespray release %s. `kubectl get tasks -n bpa-system` lists the installed Tasks. "+
			"Correct spec.kubespray.release, or leave it out to use the Tasks without a release; the controller then retries automatically. "+
			"Or install the Tasks of release %s, then %s", task, release, release, annotate)
	case contract.ReasonHostOccupied:
		return "to remove that cluster and everything else from the machine, run the commands in the message, " + again
	case contract.ReasonOutOfMemory:
		return "raise the memory limit in the Task, " + again
	}
	return look + ", fix the cause, " + again
}
