package plan

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// TestTektonCannotGetATask: the same outage is tried again whether Tekton meets it at the run or at one of its tasks. Once a playbook was started it
// costs an attempt, so that it does not go on for ever on hosts.
func TestTektonCannotGetATask(t *testing.T) {
	limits := Limits{Attempts: 2, History: 2}
	for _, r := range []Run{
		{State: Failed, Attempt: 2, Reason: "CouldntGetTask"},
		{State: Failed, Attempt: 2, Reason: "Failed", Tasks: []Task{{Name: contract.TaskSelectHosts, State: Failed, Reason: "TaskRunResolutionFailed"}}},
	} {
		for _, touched := range []bool{false, true} {
			r.Touched = touched
			cause := Classify(r)
			_, again := retryAt(Seen{Runs: []Run{r}, Limits: limits}, r, cause)
			if cause.Reason != contract.ReasonPipelineMissing || again == touched {
				t.Errorf("%+v: %s, tried again %t; want PipelineMissing, and %t", r, cause.Reason, again, !touched)
			}
		}
	}
}

// TestPassingTroubleIsTriedAgain: so are downloads, locks and waits in vain, but not for ever.
func TestPassingTroubleIsTriedAgain(t *testing.T) {
	for _, reason := range []contract.Reason{
		contract.ReasonDownloadFailed, contract.ReasonPackagesLocked, contract.ReasonTaskTimedOut, contract.ReasonVersionSkew,
	} {
		r := Run{State: Failed, Touched: true, Tasks: []Task{{Name: contract.TaskKubespray, State: Failed, Failure: &contract.Failure{Reason: reason}}}}
		for attempt, want := range map[int32]bool{1: true, 2: false} {
			r.Attempt = attempt
			if _, again := retryAt(Seen{Runs: []Run{r}, Limits: Limits{Attempts: 2}}, r, Classify(r)); again != want {
				t.Errorf("%s after attempt %d: tried again %t, want %t", reason, attempt, again, want)
			}
		}
	}
}
