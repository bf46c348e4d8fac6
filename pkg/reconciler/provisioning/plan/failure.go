package plan

import (
	"fmt"
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

// costless reports whether a failed run does not count as an attempt. This is the case if the run
// started no playbook, and a precondition was missing that can be missing for a long time. Waiting
// for this precondition must not use up the attempts. A run that only proves that a restore can begin is
// no attempt either.
func costless(failed Run, reason contract.Reason) bool {
	if reason == contract.ReasonHostsNotFenced { // the run has only looked
		return true
	}
	if failed.Touched {
		return false
	}
	switch reason {
	case contract.ReasonHostsNotAvailable, contract.ReasonPipelineMissing, contract.ReasonArtifactsMissing, contract.ReasonDepotUnavailable,
		contract.ReasonVersionSkew:
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
	if failed.resets() && cause.Reason != contract.ReasonCancelled && noPod(failed) {
		return failed.Completed.Add(pause(failed.Attempt)), true
	}
	if cause.Reason == contract.ReasonSSHDenied && !failed.Enrolls { // a machine has lost the key of the cluster: the next attempt installs it
		return failed.Completed.Add(firstPause), true
	}
	if !cause.Reason.Transient() && !cause.Accelerated { // the next attempt runs without acceleration
		return time.Time{}, false
	}
	switch {
	case cause.Reason == contract.ReasonHostsNotFenced: // the cache may not show yet that the restore is proved
		if n := inARow(s, cause.Reason); n > 1 {
			return failed.Completed.Add(pause(n - 1)), true
		}
		return failed.Completed.Add(recheck), true
	case cause.Reason == contract.ReasonArtifactsMissing || cause.Reason == contract.ReasonDepotUnavailable ||
		cause.Reason == contract.ReasonHostsNotAvailable, cause.Reason == contract.ReasonVersionSkew && costless(failed, cause.Reason):
		return failed.Completed.Add(pause(inARow(s, cause.Reason))), true
	case costless(failed, cause.Reason):
		return failed.Completed.Add(firstPause), true
	case failed.resets(), cause.Reason == contract.ReasonHostUnreachable && !s.Complete(), cause.Reason == contract.ReasonQuorumAtRisk:
		// A host can be down for days. Attempts go on slowly for as long as the host is claimed. A run
		// that finds etcd's majority at risk has changed nothing, or it has patched a node that it may not
		// reboot; the next one checks etcd before it drains this node. In contrast, the number of drains is
		// limited, because each one evicts pods again.
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
	switch cause.Reason {
	case contract.ReasonHostsNotFenced:
		return "nothing: the controller powers the lost hosts off, and then starts the next run"
	case contract.ReasonDrainBlocked:
		return "make the pods leave that the message names, for example by more replicas, or take back the edit; the controller then continues automatically"
	case contract.ReasonQuorumAtRisk:
		return "make the control planes healthy that the message names, or take back the edit; the controller then continues automatically"
	}
	if cause.Reason == contract.ReasonVersionSkew {
		return "if no upgrade of BPA is in progress, apply the config/ of one release again; the controller then continues automatically"
	}
	if cause.Accelerated {
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
	switch cause.Reason {
	case contract.ReasonSSHDenied:
		return "store a key that can log in as spec.ssh.user in the Secret of spec.ssh.secretName; the controller then retries automatically. " +
			"Or authorize the current key on the host, " + again
	case contract.ReasonHostKeyChanged:
		return fmt.Sprintf("if the host was reinstalled, delete its line from ConfigMap %s, %s", contract.KnownHostsName(name), again)
	case contract.ReasonWrongMachine:
		return "correct the host's address at its source (network data or DHCP), or correct spec.bootMACAddress of the BareMetalHost if the machine is the right one, " + again
	case contract.ReasonPreflightFailed:
		return fmt.Sprintf("correct the hosts as the message says; `kubectl describe bpa -n %s %s` shows all findings, ", namespace, name) + again
	case contract.ReasonAddressMissing:
		return "make sure that the BareMetalHost's hardware details contain an IP address, " + again
	case contract.ReasonTimeout:
		return look + "; if the run only needs more time, raise spec.timeouts.install"
	case contract.ReasonCancelled:
		return "to start another run, use " + annotate + ", or change the spec"
	case contract.ReasonReleaseMissing:
		task, release := runs.MissingTask(cause.Message)
		return fmt.Sprintf("there is no Task %s in namespace bpa-system for kubespray release %s. `kubectl get tasks -n bpa-system` lists the installed Tasks. "+
			"Correct spec.kubespray.release, or leave it out to use the Tasks without a release; the controller then retries automatically. "+
			"Or install the Tasks of release %s, then %s", task, release, release, annotate)
	case contract.ReasonHostOccupied:
		if cause.Task != contract.TaskKubespray { // a task that enters the cluster does not find its own there
			return "do what the message says, " + again
		}
		return "to remove that cluster and everything else from the machine, run the commands in the message, " + again
	case contract.ReasonDrainBlocked:
		return "make the pods leave that the message names, for example by more replicas or a larger spec.timeouts.drain (of an upgrade: spec.upgrade.drainTimeout), then " + annotate +
			"; or take back the edit, and the node stays"
	case contract.ReasonOutOfMemory:
		return "raise the memory limit in the Task, " + again
	case contract.ReasonPluginFailed:
		return fmt.Sprintf("`kubectl bpa status -n %s %s` shows each plugin; correct its parameters in spec.plugins, or remove it from spec.KUDPlugins; or fix the cause in the cluster, "+
			"then `kubectl bpa retry -n %s %s`", namespace, name, namespace, name)
	}
	return look + ", fix the cause, " + again
}
