package plan

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// longestStep limits the name of the step, in bytes. The name comes from a ConfigMap, into which
// every user with the right to write ConfigMaps can put any text.
const longestStep = 160

// reportPercent is the progress in percent below which no end time is estimated.
const reportPercent = 10

// reportProgress updates the progress, which never decreases during one run. It computes a new
// estimate only when the progress changes: an estimate that always changes would cause a write at
// every reconcile.
func reportProgress(status *v1alpha1.ProvisioningStatus, s Seen, now time.Time) {
	if p := s.Progress; p != nil && p.Engine != "" {
		status.Engine = cut(p.Engine, longestStep)
	}
	r := s.shownRun()
	if r == nil {
		return
	}
	before := &v1alpha1.ProgressStatus{}
	if status.Progress != nil && status.Run != nil && status.Run.Name == r.Name {
		before = status.Progress
	}
	next := &v1alpha1.ProgressStatus{}
	next.Percent, next.Task, next.Step = where(s, *r)
	if r.State != Failed || before.Percent < 100 { // 100: a failed run was settled, but is not any more
		next.Percent = max(next.Percent, before.Percent)
	}
	if r.State == Active {
		next.EstimatedEnd = before.EstimatedEnd
		if next.Percent != before.Percent {
			next.EstimatedEnd = estimate(*r, next.Percent, now)
		}
	}
	next.Summary = summary(*r, *next)
	settled := s.settled()
	if r.Operation == contract.OperationSoftware {
		settled = r.State == Failed
	}
	if settled {
		next = &v1alpha1.ProgressStatus{Percent: 100, Summary: "100% " + contract.OperationOf(r.Operation).Done}
		if r.Operation == contract.OperationRestore { // it was taken back
			next.Summary = "100% " + contract.OperationOf(contract.OperationInstall).Done
		}
	}
	status.Progress = next
}

// where returns how far a run has progressed. It reads the states of the run's tasks and the
// progress that the tasks kubespray and install-plugins report.
func where(s Seen, r Run) (percent int32, task, step string) {
	if r.State == Succeeded {
		return 100, "", ""
	}
	end := int32(0)
	for _, known := range contract.OperationOf(r.Operation).Steps {
		begin := end
		end = known.Percent
		t := r.task(known.Task)
		if t == nil { // the task has not started, or a customized Pipeline does not have it
			if known.Task == contract.TaskEnroll { // most runs leave it out
				end = begin
			}
			continue
		}
		percent, task, step = begin, known.Task, ""
		if t.State == Succeeded {
			percent = end
			continue
		}
		if p := s.Progress; p != nil && p.Run == r.Name && known.Task == cmp.Or(p.Task, contract.TaskKubespray) {
			done := int32(min(max(p.Percent, 0), 100))
			percent, step = begin+(end-begin)*done/100, cut(p.Step, longestStep)
		}
	}
	return percent, task, step
}

func estimate(r Run, percent int32, now time.Time) *metav1.Time {
	if percent < reportPercent || r.Started.IsZero() {
		return nil
	}
	spent := now.Sub(r.Started)
	end := r.Started.Add(spent * 100 / time.Duration(percent)).Truncate(time.Second)
	return &metav1.Time{Time: end}
}

func summary(r Run, p v1alpha1.ProgressStatus) string {
	switch {
	case r.State == Succeeded:
		return "100% " + contract.OperationOf(r.Operation).Done
	case r.State == Failed && r.Superseded:
		return fmt.Sprintf("%d%% stopped", p.Percent)
	case r.State == Failed:
		return fmt.Sprintf("%d%% failed", p.Percent)
	case p.Task == "":
		return "0% starting"
	}
	return fmt.Sprintf("%d%% %s", p.Percent, p.Task)
}
