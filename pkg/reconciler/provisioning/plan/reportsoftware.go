package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// reportSoftware reports the runs for the Softwares of the cluster. The reconciler of the kind Software
// reports their packages.
func reportSoftware(status *v1alpha1.ProvisioningStatus, s Seen, step Step, err error, now time.Time) {
	if status.Software = nil; s.Software.none() && s.Software.Asked == "" || s.Deleting {
		return
	}
	report := &v1alpha1.SoftwareRunStatus{Asked: s.Software.Answered}
	if s.Complete() && s.Memory != nil && s.softwareAnswered() && !s.softwareActive() {
		report.Asked = s.Software.Asked
	}
	newest := s.Software.Newest()
	if newest != nil {
		report.Run, report.Attempt = newest.Name, newest.Attempt
	}
	status.Software = report
	if s.softwareActive() {
		return
	}
	next := s.nextSoftware(now)
	if len(next.changes) > 0 || next.waits != "" || !s.Complete() && len(s.Software.Wanted) > 0 {
		report.Next, report.Waiting = cut(next.String(), longestMessage), cut(s.waitingSoftware(next, step, err), longestMessage)
	}
	if newest == nil || newest.State != Failed || !s.sameSoftware(*newest) {
		return
	}
	cause := Classify(*newest)
	report.Failure = failureOf(*newest)
	report.Failure.Hint = hint(s.Namespace, s.Name, newest.Name, cause)
	if len(missedNodes(*newest)) > 0 {
		report.Failure.Hint = "look at the console of the machine and repair it, correct or remove the package, then `" + s.retrySoftware() + "`"
	}
	if at, again := s.softwareRetry(*newest, next); again {
		report.Failure.NextAttempt, report.Failure.Hint = instant(at), hintWaiting(cause)
	}
}

// software reports the failure of a run for Softwares.
func (t *eventList) software() {
	is, was := t.after.Software, t.before.Software
	if is == nil || is.Failure == nil || was != nil && was.Run == is.Run && was.Failure != nil {
		return
	}
	t.add(corev1.EventTypeWarning, is.Failure.Reason, "%s", failedText(is.Run, is.Failure, "status.software.failure"))
}
