package plan

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// Reasons of the condition Succeeded, in addition to those of package contract.
const (
	// ReasonWaiting: the backup cannot start yet; the message has the cause.
	ReasonWaiting = "Waiting"
	// ReasonQueued: nothing is missing but a free run on the site.
	ReasonQueued = "Queued"
	// ReasonRunning: the run is active.
	ReasonRunning = "Running"
	// ReasonStored: the copy is in the depot.
	ReasonStored = "Stored"
	// ReasonRunDeleted: the run was deleted before its result was known.
	ReasonRunDeleted = "RunDeleted"
)

// Seen is the state of one Backup.
type Seen struct {
	Namespace, Name string
	// Provisioning is the name of the Provisioning, and Missing reports that it does not exist.
	Provisioning string
	Missing      bool
	// Leaving reports that the Provisioning is being deleted, and Installed that its cluster was
	// installed.
	Leaving, Installed bool
	// Restoring reports that the cluster is being restored, or that a restore is not complete.
	Restoring bool
	// Done reports that the Backup has succeeded or failed, and Started that its run was created.
	Done, Started bool
	// Settings describes errors in the site's settings, and Depot why the depot cannot be used; empty:
	// there are none.
	Settings, Depot string
	// Operation and ClusterRun are the operation and the name of the active run of the Provisioning;
	// empty: there is none.
	Operation, ClusterRun string
	// Before is the name of another Backup of the same Provisioning that comes first; empty: there is
	// none.
	Before string
	// Turn is set if the site's limit does not allow another run now.
	Turn *Turn
	// Run is the run; nil: it does not exist.
	Run *Run
}

// Turn is the place of a Backup that waits for the end of others.
type Turn struct {
	// Running is the number of active runs of Backups on the site, and Limit the allowed number.
	Running, Limit int
	// Ahead is the number of older Backups that wait for a run.
	Ahead int
}

// Run is the run of a Backup.
type Run struct {
	State              runs.State
	Reason, Message    string // Tekton's
	Tasks              []runs.Task
	Started, Completed time.Time
}

// Do is what the reconciler does next.
type Do int

const (
	// Stay changes only the status.
	Stay Do = iota
	// Start creates the run.
	Start
)

// Step is the next step, and the state that the condition Succeeded then has.
type Step struct {
	Do      Do
	Status  corev1.ConditionStatus
	Reason  string
	Message string
}

// Next returns the next step of a Backup that is not done.
func Next(s Seen) Step {
	switch {
	case s.Run != nil:
		return s.follow()
	case s.Started:
		return s.fail(ReasonRunDeleted, "the run was deleted before its result was known")
	case s.Missing:
		return wait("waiting for Provisioning %s, which does not exist in namespace %s", s.Provisioning, s.Namespace)
	case s.Leaving:
		return s.fail(string(contract.ReasonCancelled), fmt.Sprintf("Provisioning %s is being deleted", s.Provisioning))
	case !s.Installed:
		return wait("waiting until the cluster of Provisioning %s is installed: see `kubectl bpa status -n %s %s`", s.Provisioning, s.Namespace, s.Provisioning)
	case s.Settings != "":
		return wait("the site's settings are invalid: %s", s.Settings)
	case s.Depot != "":
		return wait("%s", s.Depot)
	case s.Operation != "" && contract.OperationOf(s.Operation).ExcludesBackup():
		return wait("waiting until run %s has ended: no backup starts during the operation %s", s.ClusterRun, s.Operation)
	case s.Restoring:
		return wait("waiting until the restore of the cluster is complete: see `kubectl bpa status -n %s %s`", s.Namespace, s.Provisioning)
	case s.Before != "":
		return wait("waiting until Backup %s has ended", s.Before)
	case s.Turn != nil:
		return s.Turn.queued()
	}
	return Step{Do: Start, Status: corev1.ConditionUnknown, Reason: ReasonRunning}
}

func wait(format string, args ...any) Step {
	return Step{Status: corev1.ConditionUnknown, Reason: ReasonWaiting, Message: fmt.Sprintf(format, args...)}
}

func (t Turn) queued() Step {
	step := wait("place %d in the queue of the site: %d Backups run, and max-backups in ConfigMap %s allows %d", t.Ahead+1, t.Running, settings.Name, t.Limit)
	step.Reason = ReasonQueued
	return step
}

// follow returns the state of a Backup that has a run.
func (s Seen) follow() Step {
	switch s.Run.State {
	case runs.Active:
		return Step{Status: corev1.ConditionUnknown, Reason: ReasonRunning}
	case runs.Succeeded:
		if results := s.Run.results(); results[contract.ResultSHA256] != "" {
			return Step{Status: corev1.ConditionTrue, Reason: ReasonStored}
		}
		return s.fail(string(contract.ReasonVersionSkew), "the run has no result: the Pipeline bpa-backup is of another release; apply config/ of the controller's release")
	}
	cause := runs.Classify(s.Run.Reason, s.Run.Message, s.Run.Tasks)
	text := cause.Message
	if cause.Host != "" {
		text = cause.Host + ": " + text
	}
	return s.fail(string(cause.Reason), text)
}

// fail returns a failure. Its message ends with the next command, because a Backup is never repeated.
func (s Seen) fail(reason, text string) Step {
	return Step{Status: corev1.ConditionFalse, Reason: reason,
		Message: fmt.Sprintf("%s. After the cause is removed, make another backup with `kubectl bpa backup -n %s %s`", text, s.Namespace, s.Provisioning)}
}

func (r *Run) results() map[string]string {
	for _, t := range r.Tasks {
		if t.Name == contract.TaskBackup && t.State == runs.Succeeded {
			return t.Results
		}
	}
	return nil
}

// Report writes the state after a step into the status. failed is the error of the step; nil: there is
// none.
func Report(b *v1alpha1.BackupStatus, s Seen, step Step, failed error) {
	if failed != nil {
		step = wait("%v", failed)
	}
	b.MarkSucceeded(step.Status, step.Reason, step.Message)
	if s.Run == nil {
		return
	}
	if !s.Run.Started.IsZero() {
		b.StartTime = &metav1.Time{Time: s.Run.Started}
	}
	if !s.Run.Completed.IsZero() {
		b.CompletionTime = &metav1.Time{Time: s.Run.Completed}
	}
	if step.Status != corev1.ConditionTrue {
		return
	}
	results := s.Run.results()
	b.SHA256, b.Member = results[contract.ResultSHA256], results[contract.ResultMember]
	if version := results[contract.ResultVersion]; version != contract.None {
		b.KubernetesVersion = version
	}
	b.Size, _ = strconv.ParseInt(results[contract.ResultSize], 10, 64) // the task writes numbers
	b.Revision, _ = strconv.ParseInt(results[contract.ResultRevision], 10, 64)
}
