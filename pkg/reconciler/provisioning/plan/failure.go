package plan

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Cause is why a run failed.
type Cause struct {
	contract.Failure
	Task string // of the pipeline; empty: none of them
}

// tektonReasons are Tekton's reasons, of tasks and of runs, in our words. What is not listed is ReasonRunFailed.
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

// tektonTexts tell apart what Tekton reports under one reason, by what its message holds.
var tektonTexts = []struct {
	text   string
	reason contract.Reason
}{
	{"OOMKilled", contract.ReasonOutOfMemory},
	{"ImagePullBackOff", contract.ReasonImagePullFailed},
	{"ErrImagePull", contract.ReasonImagePullFailed},
	{"evicted", contract.ReasonPodLost},
	{"pod deleted", contract.ReasonPodLost},
	// What the kubelet says of containers that ended while it, or the container runtime, was away, as in a reboot.
	{"ContainerStatusUnknown", contract.ReasonPodLost},
	{"code 255: Unknown", contract.ReasonPodLost},
	{"Maybe missing or invalid Task", contract.ReasonInternal},
}

// policyRefusal is in the API server's answer to a task select-hosts that wrote more than config/500-claims.yaml allows. The Task of the
// controller's build does not: an older one does, whose run was started before BPA was upgraded.
const policyRefusal = "denied request: a task select-hosts may"

// Classify finds why a run failed. What the task itself said counts most; then what Tekton says of the task; then of the run.
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

// stopped: the task only says that it was told to end; Tekton knows whether by a person or by the clock.
func stopped(r Run, t Task) bool {
	return t.Failure.Reason == contract.ReasonCancelled && (tektonReasons[t.Reason] != "" || tektonReasons[r.Reason] != "")
}

func tektonReason(r Run, reason, message string) contract.Reason {
	// A run that timed out cancels its tasks: their reason is only the consequence.
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

// noTask is how the API server says, through Tekton's cluster resolver, that there is no Task of a kubespray release. Any other trouble with a Task,
// such as an API server that does not answer, may go away by itself.
var noTask = regexp.MustCompile(`tasks\.tekton\.dev "((?:` + contract.TaskSeedRegistry + `|` + contract.TaskKubespray + `)-([^"]+))" not found`)

// missingTask is the Task of a kubespray release that Tekton's message says is not there; empty if it says no such thing.
func missingTask(message string) (task, release string) {
	if found := noTask.FindStringSubmatch(message); found != nil {
		return found[1], found[2]
	}
	return "", ""
}

// First and longest pause before an attempt; each pause is twice the one before.
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

// costless failures use up no attempt: nothing was tried on any host, and what is missing may be missing for as long as it likes.
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

// inARow counts the last runs that failed for the same reason. What a depot lacks can be lacking for days: it is looked for less and less often. So are
// hosts that only a run finds unfit, such as those whose network data, which the controller does not read, give no address.
func inARow(s Seen, reason contract.Reason) (n int32) {
	for i := len(s.Runs) - 1; i >= 0 && s.Runs[i].State == Failed && Classify(s.Runs[i]).Reason == reason; i-- {
		n++
	}
	return n
}

// retryAt is when the controller tries again by itself, if it does.
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
	}
	if failed.Attempt >= s.Limits.Attempts {
		return time.Time{}, false
	}
	return failed.Completed.Add(pause(failed.Attempt)), true
}

// hintWaiting says what a person can do about a failure that the controller tries again.
func hintWaiting(cause Cause) string {
	switch cause.Reason {
	case contract.ReasonPipelineMissing:
		return "if the Pipeline or a Task is not there, apply BPA's config/ again; the controller then goes on by itself"
	case contract.ReasonArtifactsMissing:
		return "bring what is missing into the depot; the controller then goes on by itself"
	case contract.ReasonDepotUnavailable:
		return "see that the depot runs and answers at the address that the Provisioning, or ConfigMap config-bpa, names; the controller then goes on by itself"
	}
	if cause.Reason == contract.ReasonVersionSkew {
		return "if an upgrade of BPA is not just under way, apply the config/ of one release again; the controller then goes on by itself"
	}
	return nothingToDo
}

const nothingToDo = "nothing: the controller tries again by itself"

// hint says what a person can do about a failure for good.
func hint(namespace, name, run string, cause Cause) string {
	look := fmt.Sprintf("see `tkn pipelinerun logs -n %s %s`", namespace, run)
	if cause.Task == "" { // there is no log where no task ran
		look = fmt.Sprintf("see `tkn pipelinerun describe -n %s %s`", namespace, run)
	}
	// The run's name is a value that the annotation never had before.
	annotate := fmt.Sprintf("`kubectl annotate -n %s provisioning %s %s=%s --overwrite`", namespace, name, contract.AnnotationRetry, run)
	again := "then " + annotate + ", or change the spec"
	switch cause.Reason {
	case contract.ReasonSSHDenied:
		return "put the key that may log in as spec.ssh.user into the Secret of spec.ssh.secretName; the controller then tries again by itself. " +
			"Or let the present key in on the host, " + again
	case contract.ReasonHostKeyChanged:
		return fmt.Sprintf("if the host was installed anew, delete its line from ConfigMap %s, %s", contract.KnownHostsName(name), again)
	case contract.ReasonWrongMachine:
		return "correct the host's address where it comes from (its network data, or DHCP), or spec.bootMACAddress of the BareMetalHost if the machine is the right one, " + again
	case contract.ReasonAddressMissing:
		return "see that the BareMetalHost's hardware details show an IP address, " + again
	case contract.ReasonTimeout:
		return look + "; if it only needs longer, raise spec.timeouts.install"
	case contract.ReasonCancelled:
		return "to go on, " + annotate + ", or change the spec"
	case contract.ReasonReleaseMissing:
		task, release := missingTask(cause.Message)
		return fmt.Sprintf("there is no Task %s in namespace bpa-system for kubespray release %s. `kubectl get tasks -n bpa-system` lists those that there are. "+
			"Correct spec.kubespray.release, or leave it out for the Tasks without a release; the controller then tries again by itself. "+
			"Or install the Tasks of release %s, then %s", task, release, release, annotate)
	case contract.ReasonOutOfMemory:
		return "raise the memory limit in the Task, " + again
	}
	return look + ", mend the cause, " + again
}
