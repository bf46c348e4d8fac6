package plan

import (
	"os"
	"regexp"
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

// TestPolicyRefusesAnOlderTask: in an upgrade, a select-hosts of the build before writes what now only the controller may. The next attempt has the
// Task of this build. Every refusal of the policy in config/ counts.
func TestPolicyRefusesAnOlderTask(t *testing.T) {
	policy, err := os.ReadFile("../../../../config/500-claims.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile(`(?:message: "?|messageExpression: >-\n +')(.*)`).FindAllSubmatch(policy, -1)
	if len(rules) < 7 {
		t.Fatalf("%d messages in the policy", len(rules))
	}
	for _, rule := range rules {
		said := contract.Failure{Reason: contract.ReasonInternal, Message: `give host-1 its image: baremetalhosts.metal3.io "host-1" is forbidden: ` +
			"ValidatingAdmissionPolicy 'bpa-select-hosts' with binding 'bpa-select-hosts' denied request: " + string(rule[1])}
		r := Run{State: Failed, Attempt: 1, Tasks: []Task{{Name: contract.TaskSelectHosts, State: Failed, Failure: &said}}}
		cause := Classify(r)
		_, again := retryAt(Seen{Runs: []Run{r}, Limits: Limits{Attempts: 2}}, r, cause)
		if cause.Reason != contract.ReasonVersionSkew || cause.Message != said.Message || !again {
			t.Errorf("%q: %+v, tried again %t; want VersionSkew that is tried again", rule[1], cause, again)
		}
	}
}
