package plan

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// Event is a Kubernetes event, which is recorded once.
type Event struct {
	Type, Reason, Message string
}

// quiet are the reasons of Ready that cause no event: another event reports them, or users do not
// need to know them.
var quiet = map[string]bool{
	"": true, v1alpha1.ReasonWaiting: true, ReasonStarting: true, ReasonRunning: true, ReasonInstalled: true, reasonStoring: true,
	reasonImaging: true,
	// ClusterHealthy reports these.
	v1alpha1.ReasonNodesNotReady: true, v1alpha1.ReasonAPIUnavailable: true, reasonChecking: true,
}

// Events returns the events for the changes between two statuses. before is the stored status.
func Events(before, after *v1alpha1.ProvisioningStatus) []Event {
	t := &eventList{before: before, after: after}
	t.run()
	t.software()
	t.ready()
	t.healthy()
	t.cluster()
	t.certificates()
	return t.events
}

type eventList struct {
	before, after *v1alpha1.ProvisioningStatus
	events        []Event
}

func (t *eventList) add(kind, reason, format string, args ...any) {
	t.events = append(t.events, Event{kind, reason, fmt.Sprintf(format, args...)})
}

// run reports the start and the end of a run.
func (t *eventList) run() {
	run := t.after.Run
	if run == nil || t.returns() {
		return
	}
	isNew := t.before.Run == nil || t.before.Run.Name != run.Name
	if isNew {
		t.add(corev1.EventTypeNormal, "RunStarted", "run %s started: attempt %d to %s", run.Name, run.Attempt, contract.OperationOf(run.Operation).Purpose)
	}
	if run.Operation == contract.OperationSoftware { // see software
		return
	}
	ended := run.CompletionTime != nil && (isNew || t.before.Run.CompletionTime == nil)
	switch f := t.after.Failure; {
	case f != nil && (isNew || t.before.Failure == nil):
		t.add(corev1.EventTypeWarning, f.Reason, "%s", failedText(run.Name, f, "status.failure"))
	case ended && !contract.OperationOf(run.Operation).ChangesCluster() && t.after.InstalledDigest != "" && t.after.InstalledDigest != t.before.InstalledDigest:
		t.add(corev1.EventTypeNormal, "Installed", "run %s installed the cluster", run.Name)
	case f == nil && ended && run.Operation == contract.OperationRestore && (t.after.Restore == nil || t.after.Restore.State != v1alpha1.RestoreComplete): // it was taken back
	case f == nil && ended && contract.OperationOf(run.Operation).ChangesCluster():
		text := contract.OperationOf(run.Operation).Purpose + ": succeeded"
		if c := t.after.GetCondition(v1alpha1.ConditionClusterInstalled); c.IsTrue() {
			text = c.Message
		}
		t.add(corev1.EventTypeNormal, "ClusterChanged", "run %s: %s", run.Name, text)
	}
}

// returns reports whether the status shows an older run again, because a run for Softwares has ended.
func (t *eventList) returns() bool {
	was, is := t.before.Run, t.after.Run
	return was != nil && was.Name != is.Name && was.Operation == contract.OperationSoftware && is.CompletionTime != nil &&
		(was.StartTime == nil || !is.CompletionTime.After(was.StartTime.Time))
}

// ready reports a change of Ready's reason. While the cluster waits for hosts, it also reports each
// new explanation.
func (t *eventList) ready() {
	was, is := t.before.GetCondition(v1alpha1.ConditionReady), t.after.GetCondition(v1alpha1.ConditionReady)
	switch {
	case is == nil || t.after.Failure != nil && !t.waits():
	case is.IsTrue() && !was.IsTrue():
		t.add(corev1.EventTypeNormal, "Ready", "the cluster at %s is ready", t.after.APIEndpoint)
	case is.Reason == ReasonHostsLost && t.after.GetCondition(v1alpha1.ConditionHostsHealthy).IsFalse(): // HostsHealthy reports it
	case quiet[is.Reason] || was != nil && was.Reason == is.Reason && (was.Message == is.Message || !t.waits()):
	case is.IsFalse():
		t.add(corev1.EventTypeWarning, is.Reason, "%s", is.Message)
	default:
		t.add(corev1.EventTypeNormal, is.Reason, "%s", is.Message)
	}
}

// waits reports whether the message of Ready explains which hosts are missing, instead of why the
// last run failed.
func (t *eventList) waits() bool {
	is, f := t.after.GetCondition(v1alpha1.ConditionReady), t.after.Failure
	return is.Reason == string(contract.ReasonHostsNotAvailable) && (f == nil || f.Hint == is.Message)
}

// healthy reports each new problem of a host once, whether or not the host is being replaced. It
// also reports when no problem is left.
func (t *eventList) healthy() {
	was, is := t.before.GetCondition(v1alpha1.ConditionHostsHealthy), t.after.GetCondition(v1alpha1.ConditionHostsHealthy)
	known := map[string]bool{}
	for _, n := range t.before.Nodes {
		known[n.Name+n.Host+n.Problem] = true
	}
	isNew := slices.ContainsFunc(t.after.Nodes, func(n v1alpha1.NodeStatus) bool { return n.Problem != "" && !known[n.Name+n.Host+n.Problem] })
	switch {
	case is.IsFalse() && (isNew || was.IsTrue()):
		t.add(corev1.EventTypeWarning, is.Reason, "%s", is.Message)
	case is.IsTrue() && was.IsFalse():
		t.add(corev1.EventTypeNormal, string(v1alpha1.ConditionHostsHealthy), "%s", is.Message)
	}
}

// cluster reports each node that stops to be Ready, an API server that stops to answer, and the end of
// such a problem, unless Ready reports the end.
func (t *eventList) cluster() {
	was, is := t.before.GetCondition(v1alpha1.ConditionClusterHealthy), t.after.GetCondition(v1alpha1.ConditionClusterHealthy)
	isNew := slices.ContainsFunc(t.after.Nodes, func(n v1alpha1.NodeStatus) bool {
		before := statusOf(n.Name, t.before.Nodes)
		return healthOf(n) == v1alpha1.NodeNotReady && (before == nil || healthOf(*before) != v1alpha1.NodeNotReady)
	})
	silent := func(c *apis.Condition) bool { return c != nil && c.Reason == v1alpha1.ReasonAPIUnavailable }
	recovers := was.IsFalse() || silent(was) || was != nil && was.Reason == reasonChecking
	switch {
	case is.IsFalse() && isNew, silent(is) && !silent(was):
		t.add(corev1.EventTypeWarning, is.Reason, "%s", is.Message)
	case is.IsTrue() && recovers && t.before.GetCondition(v1alpha1.ConditionReady).IsTrue() == t.after.GetCondition(v1alpha1.ConditionReady).IsTrue():
		t.add(corev1.EventTypeNormal, is.Reason, "%s", is.Message)
	}
}

// certificates reports once that certificates need attention.
func (t *eventList) certificates() {
	was, is := t.before.GetCondition(v1alpha1.ConditionCertificatesValid), t.after.GetCondition(v1alpha1.ConditionCertificatesValid)
	if is.IsFalse() && (was == nil || was.Reason != is.Reason) {
		t.add(corev1.EventTypeWarning, is.Reason, "%s", is.Message)
	}
}
