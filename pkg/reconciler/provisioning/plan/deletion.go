package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// resets reports whether the run removes the cluster from its hosts.
func (r Run) resets() bool { return r.Operation == contract.OperationReset }

// used reports whether the host may contain a part of a cluster. The record of the task kubespray
// decides. Without a record of this host, its mark decides. A host without an operating system contains
// nothing. Only a wiped host of a node keeps its mark, by which it counts as lost, until the node is
// replaced or the cluster is deleted.
func (s Seen) used(h Host) bool {
	if h.Bare || h.Wiped && (s.Deleting || !slices.ContainsFunc(s.members(), func(n contract.Node) bool { return s.Site[n.Host].UID == h.UID })) {
		return false
	}
	if state, recorded := s.States[h.UID]; recorded && h.UID != "" {
		return state == contract.HostUsed
	}
	return h.Marked
}

// UsedHosts returns the names, sorted, of the claimed hosts that may contain a part of a cluster.
func (s Seen) UsedHosts() []string {
	var names []string
	for name, h := range s.Site {
		if h.Ours && s.used(h) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ToMark returns the names, sorted, of the claimed hosts that contain a part of the cluster and do
// not have the annotation contract.AnnotationUsedBy.
func (s Seen) ToMark() []string {
	return slices.DeleteFunc(s.DirtyHosts(), func(name string) bool { return s.Site[name].Marked })
}

// ToUnmark returns the names, sorted, of the claimed hosts that have this annotation and were reset.
func (s Seen) ToUnmark() []string {
	var names []string
	for name, h := range s.Site {
		if h.Ours && h.Marked && !s.used(h) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// DirtyHosts returns the names, sorted, of the claimed hosts that must be reset before they are
// released. If the record is lost, all hosts count as used except standby hosts.
func (s Seen) DirtyHosts() []string {
	if s.Recorded || !s.touched() && !s.Complete() {
		return s.UsedHosts()
	}
	var names []string
	for name, h := range s.Site {
		standby := slices.ContainsFunc(s.Nodes, func(n contract.Node) bool { return n.Host == name && n.Standby })
		if h.Ours && (s.used(h) || !standby && !h.Bare && !h.Leaving) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// tektonAsks is the advice to a user if a run does not stop: only Tekton can end runs and their
// pods.
const tektonAsks = "if this lasts, check that Tekton's controller runs: `kubectl get pods -n tekton-pipelines`"

// deleting ends all work on the hosts before it resets and releases them. It stops every run with
// the cluster's label, no matter who created the run, except its own reset. It releases the hosts
// only when no run and no pod of a run is left.
func deleting(s Seen, now time.Time) (Step, bool) {
	if !s.Deleting {
		return Step{}, false
	}
	var stop, ending, resetting []string
	for _, r := range append(s.ActiveRuns(), s.ForeignRuns...) {
		if r.resets() && !r.Cancelling && !s.Retain {
			resetting = append(resetting, r.Name)
			continue
		}
		ending = append(ending, r.Name)
		if !r.Cancelling {
			stop = append(stop, r.Name)
		}
	}
	switch {
	case len(stop) > 0:
		return Step{Do: CancelRun, Runs: stop, Reason: ReasonDeleting, After: recheck, Message: "stopping run " + strings.Join(stop, ", ")}, true
	case len(ending) > 0:
		return Step{Do: Stay, Reason: ReasonDeleting, After: recheck, Message: "run " + strings.Join(ending, ", ") + " is stopping; " + tektonAsks}, true
	case len(resetting) > 0:
		return Step{Do: Stay, Reason: ReasonDeleting, Message: fmt.Sprintf("run %s is resetting the hosts: `kubectl bpa logs -n %s %s --run %s -f`",
			strings.Join(resetting, ", "), s.Namespace, s.Name, resetting[0])}, true
	case len(s.Pods) > 0:
		return Step{Do: Stay, Reason: ReasonDeleting, After: recheck, Message: fmt.Sprintf(
			"the hosts stay claimed until the pods that may work on them have ended: %s; %s; to end a pod on a machine that does not come back, run "+
				"`kubectl delete pod -n %s NAME --force`", strings.Join(s.Pods, ", "), tektonAsks, s.Namespace)}, true
	}
	return resetOrRelease(s, now), true
}

// resetOrRelease returns the next step of a deletion after all other runs have ended. The hosts are
// reset, unless nothing is installed on them, the policy is Retain, or no run can be created. Then
// they are released. A host that is still used after a successful reset did not answer. It keeps its
// mark.
func resetOrRelease(s Seen, now time.Time) Step {
	used, newest := s.DirtyHosts(), s.Newest()
	resets := newest != nil && newest.resets()
	if s.Retain || s.Terminating || len(used) == 0 || resets && newest.State == Succeeded {
		return Step{Do: Release, Reason: ReasonDeleting}
	}
	if resets && newest.State == Failed && s.wanted(*newest) {
		text := failedText(newest.Name, failureOf(*newest), "status.failure")
		switch at, again := retryAt(s, *newest, Classify(*newest)); {
		case !again:
			return Step{Do: Stay, Reason: ReasonDeleting, Message: text}
		case at.After(now):
			return Step{Do: Stay, Reason: ReasonDeleting, After: at.Sub(now), Message: text}
		}
	}
	if old := surplus(s, now); len(old) > 0 {
		return Step{Do: Prune, Runs: old, Reason: ReasonDeleting, After: recheck, Message: "deleting old runs: " + strings.Join(old, ", ")}
	}
	switch {
	case s.SSH == nil: // not checked: a run must not start without the check
		return Step{Do: Stay, Reason: ReasonDeleting, After: recheck}
	case s.SSH.Missing != "":
		return Step{Do: Stay, Reason: ReasonDeleting, Message: "the hosts cannot be reset: " + s.SSH.Missing + "; or " + s.retain()}
	}
	if s.Foreground { // it would delete the objects of the run
		return Step{Do: Stay, Reason: ReasonDeleting, After: recheck, Message: "Kubernetes deletes the objects of the Provisioning first, because it is deleted in the foreground; then the hosts are reset"}
	}
	step := Step{Do: StartRun, Reason: ReasonDeleting, Operation: contract.OperationReset, Number: s.nextNumber(), Attempt: 1, Hosts: used}
	if resets && s.wanted(*newest) {
		step.Attempt = newest.Attempt + 1
	}
	step.Message = fmt.Sprintf("starting attempt %d to reset %s", step.Attempt, some(used, ", "))
	return step
}

// noPod reports whether Tekton could not create the pod of a task. If a user deletes the Provisioning
// in the foreground, Kubernetes deletes the account of the task, even after the run has started. The
// next attempt creates the account again.
func noPod(r Run) bool {
	return slices.ContainsFunc(r.Tasks, func(t Task) bool { return t.State == Failed && t.Reason == "PodCreationFailed" })
}

// resetHint tells a user what to do about a reset that failed.
func (s Seen) resetHint(r Run) string {
	return fmt.Sprintf("see `kubectl bpa logs -n %s %s --run %s`, fix the cause, then `kubectl annotate -n %s bpa %s %s=%s --overwrite`; or %s",
		s.Namespace, s.Name, r.Name, s.Namespace, s.Name, contract.AnnotationRetry, r.Name, s.retain())
}

// retain tells a user how to delete the Provisioning without a reset.
func (s Seen) retain() string {
	return fmt.Sprintf("release the hosts as they are: `kubectl patch bpa -n %s %s --type=merge -p '{\"spec\":{\"deletionPolicy\":\"Retain\"}}'`",
		s.Namespace, s.Name)
}
