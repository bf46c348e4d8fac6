package plan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// ReasonQueued means that nothing but a free run is missing: as many runs are active on the site as
// its settings allow.
const ReasonQueued = "Queued"

// Queue describes the runs of the site, and the Provisionings that wait for one, as one Provisioning
// sees them.
type Queue struct {
	// Limit is the largest number of runs at a time, at least 1.
	Limit int
	// Active has, for each run that is active or about to start, the name of its Provisioning. It
	// leaves out the runs of other namespaces, whose names are not for every user to read.
	// Elsewhere is the number of those.
	Active    []string
	Elsewhere int
	// Ahead is the number of waiting Provisionings whose runs start before this one. Length is the
	// number of all that wait, including this one.
	Ahead, Length int
	// Since is when this Provisioning began to wait.
	Since time.Time
	// Recheck is not 0 if Active contains a run that no cache shows yet. If its creation has failed
	// unnoticed, no event reports that its place is free.
	Recheck time.Duration
}

// Turn reports whether the run may start. A nil Queue has no limit.
func (q *Queue) Turn() bool {
	return q == nil || q.Ahead < q.Limit-q.active()
}

func (q *Queue) active() int { return len(q.Active) + q.Elsewhere }

func (q *Queue) place() string { return fmt.Sprintf("place %d of %d", q.Ahead+1, q.Length) }

// queued keeps a run from starting before its turn. It applies to every operation, and leaves all
// other steps as they are. While the run waits, there is no PipelineRun: no attempt is counted, no
// time limit runs, and no host is claimed.
func queued(s Seen, now time.Time) (Step, bool) {
	if s.Queue.Turn() {
		return Step{}, false
	}
	upcoming, starts := Upcoming(s, now)
	if !starts {
		return Step{}, false
	}
	q := s.Queue
	step := Step{Do: Stay, Reason: ReasonQueued, After: q.Recheck, Place: int32(q.Ahead + 1), Idle: upcoming.Idle}
	step.Message = fmt.Sprintf("waiting for a free run: %s (%s)", q.place(), q.runs())
	switch {
	case s.Deleting:
		step.Reason = ReasonDeleting
		step.Message = fmt.Sprintf("the hosts are reset when a run ends: %s (%s); or %s", q.place(), q.runs(), s.retain())
	case q.Ahead > 0:
		step.Message += "; raise spec.priority to start earlier"
	}
	return step, true
}

// runs describes the active runs, such as "4 of 4 runs are active: edge-1, edge-2 and 2 in other
// namespaces".
func (q *Queue) runs() string {
	text := fmt.Sprintf("%d of %d runs are active", q.active(), q.Limit)
	if q.active() > q.Limit { // an administrator has lowered the limit, or a user has started a copy of a run
		text = fmt.Sprintf("%d runs are active, and new ones start only below %d", q.active(), q.Limit)
	}
	if q.active() == 0 {
		return text
	}
	switch {
	case len(q.Active) == 0:
		return text + ", all in other namespaces"
	case q.Elsewhere > 0:
		return fmt.Sprintf("%s: %s and %d in other namespaces", text, some(q.Active, ", "), q.Elsewhere)
	}
	return text + ": " + some(q.Active, ", ")
}

// reportQueue stores since when the Provisioning waits, and its place. If its turn came but the run
// could not be created, lost hosts are powered off first, or a Backup is active, it keeps only the time:
// others may then pass, and a later try is not behind those that began to wait after it.
func reportQueue(status *v1alpha1.ProvisioningStatus, s Seen, step Step, err error) {
	before := status.Queue
	status.Queue = nil
	switch {
	case step.Place > 0:
		status.Queue = &v1alpha1.QueueStatus{Since: metav1.Time{Time: s.Queue.Since}, Place: step.Place, Length: int32(s.Queue.Length)}
		if status.Progress == nil {
			status.Progress = &v1alpha1.ProgressStatus{}
		}
		status.Progress.Summary = "queued, " + s.Queue.place()
	case before == nil:
	case step.Do == StartRun && err != nil, step.Reason == ReasonFencing, step.Reason == ReasonBackingUp:
		status.Queue = &v1alpha1.QueueStatus{Since: before.Since}
		unqueue(status, s)
	default:
		unqueue(status, s)
	}
}

// unqueue restores the progress of the last run after the Provisioning has left the queue. If that
// run still exists, reportProgress has done so already.
func unqueue(status *v1alpha1.ProvisioningStatus, s Seen) {
	switch {
	case s.shownRun() != nil || status.Progress == nil:
	case status.Run != nil && status.Progress.Percent == 100:
		status.Progress.Summary = "100% " + contract.OperationOf(status.Run.Operation).Done
	default:
		status.Progress = nil
	}
}
