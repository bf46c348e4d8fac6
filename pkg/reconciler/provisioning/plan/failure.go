package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
)

// Cause describes why a run failed.
type Cause = runs.Cause

// Classify finds the cause of a failed run.
func Classify(r Run) Cause { return runs.Classify(r.Reason, r.Message, r.Tasks) }

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

// costless reports whether a failed run does not count as an attempt.
func costless(failed Run, reason contract.Reason) bool { return reason.Costless(failed.Touched) }

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
	if failed.resets() && cause.Reason != contract.ReasonCancelled && noPod(failed) {
		return failed.Completed.Add(pause(failed.Attempt)), true
	}
	if cause.Reason == contract.ReasonSSHDenied && !failed.Enrolls { // a machine has lost the key of the cluster: the next attempt installs it
		return failed.Completed.Add(firstPause), true
	}
	if !cause.Reason.Transient() && !cause.Accelerated { // the next attempt runs without acceleration
		return time.Time{}, false
	}
	retry, free := contract.FailurePolicies[cause.Reason].Retry, costless(failed, cause.Reason)
	switch {
	case retry == contract.RetryAtOnce: // the cache may not show yet that the restore is proved
		if n := inARow(s, cause.Reason); n > 1 {
			return failed.Completed.Add(pause(n - 1)), true
		}
		return failed.Completed.Add(recheck), true
	case retry == contract.RetryInARow, retry == contract.RetryBeforePlaybook && free:
		return failed.Completed.Add(pause(inARow(s, cause.Reason))), true
	case retry == contract.RetryEvery && free:
		return failed.Completed.Add(firstPause), true
	case failed.resets(), retry == contract.RetryEndless, retry == contract.RetryUntilInstalled && !s.Complete():
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
	switch hint := contract.FailurePolicies[cause.Reason].Waiting; {
	case hint != "":
		return hint
	case cause.Accelerated:
		return nothingToDo + ", without acceleration of kubespray"
	}
	return nothingToDo
}

// unaccelerated returns the name of the run whose playbook failed with accelerations, if the attempt after the
// newest run, which failed, runs without them. Further attempts at the same state stay without them: until one
// succeeds, an acceleration can be the cause.
func (s Seen) unaccelerated() string {
	newest := s.Newest()
	if s.Started.Unaccelerated == "" && Classify(*newest).Accelerated {
		return newest.Name
	}
	return s.Started.Unaccelerated
}

const nothingToDo = "nothing: the controller retries automatically"

// hint tells a user what to do about a failure after which the controller does not retry.
func hint(namespace, name, run string, cause Cause) string {
	look := fmt.Sprintf("see `kubectl bpa logs -n %s %s --run %s`", namespace, name, run)
	if cause.Task == "" { // no task ran, so there is no log
		look = fmt.Sprintf("see `kubectl describe pipelinerun -n %s %s`", namespace, run)
	}
	// The new value of the annotation must differ from all earlier values. The run's name does.
	annotate := fmt.Sprintf("`kubectl annotate -n %s bpa %s %s=%s --overwrite`", namespace, name, contract.AnnotationRetry, run)
	again := "then " + annotate + ", or change the spec"
	policy := contract.FailurePolicies[cause.Reason]
	text := cmp.Or(policy.Hint, "{look}, fix the cause, {again}")
	if policy.Elsewhere != "" && cause.Task != contract.TaskKubespray {
		text = policy.Elsewhere
	}
	task, release := runs.MissingTask(cause.Message)
	return strings.NewReplacer("{look}", look, "{annotate}", annotate, "{again}", again, "{namespace}", namespace, "{name}", name,
		"{known-hosts}", contract.KnownHostsName(name), "{task}", task, "{release}", release).Replace(text)
}
