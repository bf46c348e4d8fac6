package plan

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// Event is something worth telling once.
type Event struct {
	Type, Reason, Message string
}

// quiet are reasons of Ready that an event of their own tells, or that nobody waits to hear.
var quiet = map[string]bool{
	"": true, v1alpha1.ReasonWaiting: true, ReasonStarting: true, ReasonRunning: true, ReasonInstalled: true, reasonStoring: true,
}

// Events tells what happened between two statuses, the older of which was stored.
func Events(before, after *v1alpha1.ProvisioningStatus) []Event {
	var events []Event
	tell := func(kind, reason, format string, args ...any) {
		events = append(events, Event{kind, reason, fmt.Sprintf(format, args...)})
	}
	run := after.Run
	newRun := run != nil && (before.Run == nil || before.Run.Name != run.Name)
	if newRun {
		tell(corev1.EventTypeNormal, "RunStarted", "run %s, attempt %d to %s the cluster, started", run.Name, run.Attempt, run.Operation)
	}
	if f := after.Failure; f != nil && (newRun || before.Failure == nil) {
		tell(corev1.EventTypeWarning, f.Reason, "run %s failed: %s", run.Name, describe(f))
	}
	if after.InstalledDigest != "" && after.InstalledDigest != before.InstalledDigest {
		tell(corev1.EventTypeNormal, "Installed", "run %s installed the cluster", run.Name)
	}
	was, is := before.GetCondition(v1alpha1.ConditionReady), after.GetCondition(v1alpha1.ConditionReady)
	switch {
	case is == nil || after.Failure != nil:
	case is.IsTrue() && !was.IsTrue():
		tell(corev1.EventTypeNormal, "Ready", "the cluster at %s is ready", after.APIEndpoint)
	case quiet[is.Reason] || was != nil && was.Reason == is.Reason:
	case is.IsFalse():
		tell(corev1.EventTypeWarning, is.Reason, "%s", is.Message)
	default:
		tell(corev1.EventTypeNormal, is.Reason, "%s", is.Message)
	}
	return events
}

func describe(f *v1alpha1.FailureStatus) string {
	text := ""
	for _, part := range []string{f.Task, f.Host, f.Step, f.Message} {
		if part != "" && text != "" {
			text += ": "
		}
		text += part
	}
	return text
}
