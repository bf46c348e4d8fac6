package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// Report writes the whole status from the observed state and the chosen step. err is the error of
// the step; nil if it succeeded. beside is an error of the work on hosts that each reconcile does
// in addition to the step. The same state always gives the same status, so an unchanged state
// causes no status update.
func Report(p *v1alpha1.Provisioning, s Seen, step Step, err, beside error, now time.Time) {
	s = s.fixed()
	status := &p.Status
	reportProgress(status, s, now) // before reportRun, because it reads the name of the previous run in the status
	reportQueue(status, s, step, err)
	reportChecks(status, s)
	reportRun(status, s)
	reportInstalled(status, s)
	reportUpgrade(status, s)
	reportRestore(status, s)
	reportSoftware(status, s, step, err, now)
	if step.Idle != nil {
		step = *step.Idle
	}
	reportFailure(p, s, step, now)
	reportNodes(status, s, now)
	status.Summarize()
	reportCertificate(status, s)
	reportPlugins(status, s)
	status.PassedOver = s.passedOver(now)
	if s.Invalid == "" { // otherwise there is no request
		status.SecretVars = s.Request.SecretVars
	}

	status.InitializeConditions()
	c := conditions{status: status, seen: s, step: step, stepErr: err, err: errors.Join(err, beside), now: now}
	status.MarkHostsClaimed(c.hostsClaimed())
	status.MarkArtifactsAvailable(c.artifactsAvailable())
	status.MarkClusterInstalled(c.clusterInstalled())
	status.MarkKubeconfigReady(c.kubeconfigReady())
	status.MarkClusterHealthy(c.clusterHealthy())
	status.MarkPluginsInstalled(c.pluginsInstalled())
	status.MarkHostsHealthy(c.hostsHealthy())
	status.MarkCertificatesValid(c.certificatesValid())
	status.MarkStalled(c.stalled()) // after the other conditions, because Ready repeats them
}

func reportRun(status *v1alpha1.ProvisioningStatus, s Seen) {
	r := s.shownRun()
	if r == nil {
		return // the run was deleted: keep its status
	}
	status.Run = &v1alpha1.RunStatus{
		Name: r.Name, Operation: r.Operation, Attempt: r.Attempt, StartTime: instant(r.Started), CompletionTime: instant(r.Completed),
	}
}

func instant(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t}
}

// reportInstalled stores facts that nobody can observe any more after the run was deleted.
func reportInstalled(status *v1alpha1.ProvisioningStatus, s Seen) {
	if r := s.Newest(); r != nil && r.Retry == s.Retry { // another value can be that of a run before a deleted one
		status.ObservedRetry = r.Retry
	}
	if r := s.Newest(); r != nil && r.State != Active && r.built() && (r.State == Succeeded || r.Operation != contract.OperationPlugins) {
		status.InstalledDigest = cmp.Or(r.Carried, r.Digest) // the stored digest, even if this build computes another one
		if t := r.task(contract.TaskCollectKubeconfig); t != nil && t.Results[contract.ResultEndpoint] != "" {
			status.APIEndpoint = t.Results[contract.ResultEndpoint]
		}
	}
	status.Kubeconfig = nil
	if s.Kubeconfig != nil && s.Kubeconfig.Broken == "" {
		status.APIEndpoint = s.Kubeconfig.Endpoint
		status.Kubeconfig = &v1alpha1.KubeconfigStatus{
			SecretName: contract.KubeconfigName(s.Name), Expires: instant(s.Kubeconfig.Expires),
		}
	}
}

func reportFailure(p *v1alpha1.Provisioning, s Seen, step Step, now time.Time) {
	r := s.Newest()
	if r == nil || r.State != Failed || r.Superseded || s.Deleting != r.resets() || s.settled() {
		p.Status.Failure = nil
		return
	}
	cause := Classify(*r)
	f := failureOf(*r)
	switch at, again := retryAt(s, *r, cause); {
	case again && at.After(now):
		f.NextAttempt = instant(at)
		f.Hint = hintWaiting(cause)
		if r.resets() { // a user may prefer not to wait until the hosts are reset
			f.Hint = s.resetHint(*r)
		}
	case again || !s.wanted(*r):
		// The next run may start now. If it does not start, the message of the step says what is
		// missing. NextAttempt is then in the past, which tells users that the failure itself needs
		// no action.
		f.Hint, f.NextAttempt = step.Message, instant(r.Completed)
		if again {
			f.NextAttempt = instant(at)
		}
	case r.resets():
		f.Hint = s.resetHint(*r)
	default:
		f.Hint = hint(p.Namespace, s.Name, r.Name, cause)
	}
	if text := s.deadHint(*r, cause); text != "" && f.Hint != step.Message {
		f.Hint = text + "; otherwise: " + f.Hint
	}
	p.Status.Failure = f
}

// failureOf returns the failure of a failed run, without a hint and without a next attempt.
func failureOf(r Run) *v1alpha1.FailureStatus {
	cause := Classify(r)
	return &v1alpha1.FailureStatus{
		Reason: string(cause.Reason), Task: cause.Task, Host: cause.Host, Step: cause.Step, Message: cut(cause.Message, longestMessage), ObservedRetry: r.Retry,
	}
}

// longestMessage limits a text in the status, in bytes.
const longestMessage = 1024

// cut shortens a text to at most this number of bytes. It never cuts a character in two.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most-len("...")], "") + "..."
}

// conditions computes the status, reason and message of each condition.
type conditions struct {
	status *v1alpha1.ProvisioningStatus
	seen   Seen
	step   Step
	// stepErr is the error of the step. err joins all errors of this reconcile, including stepErr.
	stepErr, err error
	now          time.Time
}

// artifactsAvailable reports the result of the run's first task. Later tasks start only after this
// task has succeeded.
func (c conditions) artifactsAvailable() (corev1.ConditionStatus, string, string) {
	s := c.seen
	var looked *Task
	if r := s.Newest(); r != nil {
		looked = r.task(contract.TaskSeedRegistry)
	}
	switch f := c.failure(); {
	case s.Deleting:
		return corev1.ConditionUnknown, ReasonDeleting, c.words()
	case f != nil && f.Task == contract.TaskSeedRegistry:
		return corev1.ConditionFalse, f.Reason, c.failureText()
	case looked != nil && looked.State == Succeeded:
		return corev1.ConditionTrue, reasonAvailable, cut(looked.Results[contract.ResultArtifacts], longestMessage)
	case s.Installed(), s.works() && looked == nil:
		return corev1.ConditionTrue, ReasonInstalled, "the artifacts were available when the cluster was installed"
	}
	return corev1.ConditionUnknown, c.step.Reason, c.words()
}

// personMustAct are the reasons for which no run starts before a user acts.
var personMustAct = []string{ReasonSSHKeyMissing, ReasonSSHKeyInvalid, ReasonBadSettings, ReasonDepotRefused, ReasonVarsMissing, ReasonAddressInUse, ReasonPlugins}

func (c conditions) clusterInstalled() (corev1.ConditionStatus, string, string) {
	s := c.seen
	switch {
	case s.Deleting:
		return corev1.ConditionUnknown, ReasonDeleting, c.words()
	case c.step.Reason == ReasonRestoreRefused && s.Installed() && s.quorum() && s.Memory != nil && s.Memory.Restoring == "":
		return corev1.ConditionUnknown, ReasonRestoreRefused, cut(c.words(), longestMessage) // the cluster works
	case c.step.Reason == ReasonRestoreRefused:
		return corev1.ConditionFalse, ReasonRestoreRefused, cut(c.words(), longestMessage)
	case s.Installed() && s.pending() != "" && (!s.blocked() || s.restores()):
		return c.changing()
	case s.Installed() && s.specChanged():
		return corev1.ConditionUnknown, ReasonSpecChanged, s.changedText()
	case s.Installed() && s.upgradeWaiting() != "":
		return corev1.ConditionUnknown, ReasonUpgradeWaiting, cut(s.upgradeWaiting(), longestMessage)
	case s.works():
		return corev1.ConditionTrue, ReasonInstalled, recap(s) + remains(s)
	case c.failure() != nil:
		return corev1.ConditionFalse, c.status.Failure.Reason, c.failureText()
	case slices.Contains(personMustAct, c.step.Reason):
		return corev1.ConditionFalse, c.step.Reason, c.words()
	}
	return corev1.ConditionUnknown, c.step.Reason, c.words()
}

// changing returns ClusterInstalled while an edit waits for its run. It is False if a user must act.
func (c conditions) changing() (corev1.ConditionStatus, string, string) {
	reason, next := c.step.Reason, "next: "+c.seen.pending()
	status := corev1.ConditionUnknown
	switch {
	case c.step.Do == StartRun:
		next = c.words()
	case reason == ReasonInstalled: // the step prepares the run
		reason = ReasonStarting
	case slices.Contains(personMustAct, reason) || reason == string(contract.ReasonHostsNotAvailable):
		status = corev1.ConditionFalse
	}
	if c.step.Do != StartRun && c.words() != "" {
		next = c.words() + "; " + next
	}
	return status, reason, cut(next, longestMessage)
}

// lasting are the reasons of Ready that stay until a user acts. The reasons of failed runs are not
// in this list.
var lasting = map[string]bool{
	ReasonInvalidSpec: true, ReasonSpecChanged: true, ReasonSSHKeyInvalid: true, ReasonKubeconfigLost: true, ReasonExpired: true, ReasonHostsLost: true,
	ReasonBadSettings: true, ReasonDepotRefused: true, ReasonVarsMissing: true, ReasonAddressInUse: true, ReasonPlugins: true, ReasonUpgradeWaiting: true, ReasonRestoreRefused: true,
}

// stalled returns the reason why nothing continues until a user acts. It is empty if something
// continues or if the cluster is Ready.
func (c conditions) stalled() (reason, message string) {
	ready, failure := c.status.GetCondition(v1alpha1.ConditionReady), c.status.Failure
	switch {
	case c.seen.Deleting && failure == nil || c.err != nil || ready.IsTrue() || c.step.Do == StartRun || c.step.Place > 0 || c.step.Reason == ReasonFencing || c.step.Do == EndRun || c.seen.ends():
		return "", ""
	case failure != nil && failure.NextAttempt == nil:
		return failure.Reason, c.failureText()
	case lasting[ready.Reason]:
		return ready.Reason, ready.Message
	}
	return "", ""
}

func (c conditions) kubeconfigReady() (corev1.ConditionStatus, string, string) {
	k, name := c.seen.Kubeconfig, contract.KubeconfigName(c.seen.Name)
	switch {
	case k != nil && k.Broken == "" && k.Expires.After(c.now):
		return corev1.ConditionTrue, "Stored", fmt.Sprintf("Secret %s, key value", name)
	case k != nil && k.Broken == "":
		return corev1.ConditionFalse, ReasonExpired, fmt.Sprintf(
			"the certificate in Secret %s has expired: %s", name, c.collectAnother())
	case c.step.Do == StoreKubeconfig && c.stepErr != nil:
		return corev1.ConditionFalse, ReasonKubeconfigLost, cut(c.stepErr.Error(), longestMessage)
	case c.step.Do == StoreKubeconfig:
		return corev1.ConditionUnknown, reasonStoring, "Secret " + name + " is being written"
	case c.seen.Installed() && k != nil:
		return corev1.ConditionFalse, ReasonKubeconfigLost, fmt.Sprintf("Secret %s is unusable (%s), and there is no data to recreate it: %s", name, cut(k.Broken, 200), c.collectAnother())
	case c.seen.Installed():
		return corev1.ConditionFalse, ReasonKubeconfigLost, fmt.Sprintf("Secret %s is missing, and there is no data to recreate it: %s", name, c.collectAnother())
	}
	return corev1.ConditionUnknown, v1alpha1.ReasonWaiting, "the cluster is not installed yet"
}

// collectAnother tells how a user gets a new kubeconfig of a running cluster.
func (c conditions) collectAnother() string {
	const annotate = "annotate the Provisioning with a new value of " + contract.AnnotationRetry + " to collect a new kubeconfig"
	if c.seen.specChanged() {
		return "restore the spec that the cluster was installed from, then " + annotate
	}
	if slices.Contains(personMustAct, c.step.Reason) {
		return annotate + "; no run starts yet: " + c.step.Message
	}
	return annotate
}

// failure returns the failure of the last run. It returns nil if the step was not chosen because of
// this failure: then the step has a message, or a reason that differs from that of the failure.
func (c conditions) failure() *v1alpha1.FailureStatus {
	f := c.status.Failure
	if f == nil || c.step.Reason != f.Reason || c.step.Message != "" {
		return nil
	}
	return f
}

// failureText names the failure of the last run in one sentence. The whole text of the failure is in the
// field status.failure and nowhere else, also if several conditions report the failure.
func (c conditions) failureText() string {
	return failedText(c.seen.Newest().Name, c.status.Failure, "status.failure")
}

// failedText names a failure in one sentence. home is the field with the whole text.
func failedText(run string, f *v1alpha1.FailureStatus, home string) string {
	text := "run " + run + " failed"
	if f.Task != "" {
		text += " in " + f.Task
	}
	if f.Host != "" {
		text += " on " + f.Host
	}
	return fmt.Sprintf("%s (%s): see %s", text, f.Reason, home)
}

// words returns the message of the step. If this reconcile had an error, the error follows the
// message.
func (c conditions) words() string {
	if c.err != nil {
		return cut(strings.TrimPrefix(c.step.Message+": "+c.err.Error(), ": "), longestMessage)
	}
	return c.step.Message
}

func recap(s Seen) string {
	if r := s.Newest(); r != nil {
		if t := r.task(contract.TaskKubespray); t != nil && t.Results[contract.ResultRecap] != "" {
			return t.Results[contract.ResultRecap]
		}
	}
	return "the cluster was installed"
}
