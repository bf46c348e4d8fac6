package plan

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// shares is how much of the whole bar a task is, in percent; measured: all but kubespray take seconds.
var shares = []struct {
	task     string
	from, to int32
}{
	{contract.TaskSeedRegistry, 0, 2},
	{contract.TaskSelectHosts, 2, 4},
	{contract.TaskRenderInventory, 4, 6},
	{contract.TaskKubespray, 6, 97},
	{contract.TaskCollectKubeconfig, 97, 99},
}

// longestStep bounds the step's name, in bytes: who may write ConfigMaps could write anything there.
const longestStep = 160

// tellingPercent is from where on the pace so far says something about the end.
const tellingPercent = 10

// reportProgress moves the bar. It never goes back within one run, and the estimate is made anew only when the bar moves, since a status
// that changes by itself would be written for ever.
func reportProgress(status *v1alpha1.ProvisioningStatus, s Seen, now time.Time) {
	r := s.Newest()
	if r == nil {
		return
	}
	before := &v1alpha1.ProgressStatus{}
	if status.Progress != nil && status.Run != nil && status.Run.Name == r.Name {
		before = status.Progress
	}
	next := &v1alpha1.ProgressStatus{}
	next.Percent, next.Task, next.Step = where(s, *r)
	next.Percent = max(next.Percent, before.Percent)
	if r.State == Active {
		next.EstimatedEnd = before.EstimatedEnd
		if next.Percent != before.Percent {
			next.EstimatedEnd = estimate(*r, next.Percent, now)
		}
	}
	next.Summary = summary(*r, *next)
	status.Progress = next
}

// where is how far a run is, by its tasks and by what kubespray tells of itself.
func where(s Seen, r Run) (percent int32, task, step string) {
	if r.State == Succeeded {
		return 100, "", ""
	}
	for _, share := range shares {
		t := r.task(share.task)
		if t == nil { // to come, or a site's Pipeline has no such task
			continue
		}
		percent, task, step = share.from, share.task, ""
		if t.State == Succeeded {
			percent = share.to
			continue
		}
		if p := s.Progress; share.task == contract.TaskKubespray && p != nil && p.Run == r.Name {
			done := int32(min(max(p.Percent, 0), 100))
			percent, step = share.from+(share.to-share.from)*done/100, cut(p.Step, longestStep)
		}
	}
	return percent, task, step
}

func estimate(r Run, percent int32, now time.Time) *metav1.Time {
	if percent < tellingPercent || r.Started.IsZero() {
		return nil
	}
	spent := now.Sub(r.Started)
	end := r.Started.Add(spent * 100 / time.Duration(percent)).Truncate(time.Second)
	return &metav1.Time{Time: end}
}

func summary(r Run, p v1alpha1.ProgressStatus) string {
	switch {
	case r.State == Succeeded:
		return "100% installed"
	case r.State == Failed && r.Superseded:
		return fmt.Sprintf("%d%% stopped", p.Percent)
	case r.State == Failed:
		return fmt.Sprintf("%d%% failed", p.Percent)
	case p.Task == "":
		return "0% starting"
	}
	return fmt.Sprintf("%d%% %s", p.Percent, p.Task)
}
