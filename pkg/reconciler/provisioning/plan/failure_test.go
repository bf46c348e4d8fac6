package plan

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestTektonCannotGetATask: if Tekton cannot get a Task, the controller retries, whether Tekton
// reports the error for the run or for one of its tasks. The failed run does not count as an
// attempt, unless it started a playbook: a playbook must not be repeated without end.
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

// TestPassingTroubleIsTriedAgain: failed downloads, locks and timeouts are also retried, but only a
// limited number of times.
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

// TestHostsAreEnrolledAgain: if a host denies the key of the cluster in a run that did not enroll hosts, the controller
// starts one that does. A host that denies the key of the site needs a user.
func TestHostsAreEnrolledAgain(t *testing.T) {
	for enrolls, want := range map[bool]bool{false: true, true: false} {
		r := Run{State: Failed, Touched: true, Attempt: 2, Enrolls: enrolls, Tasks: []Task{{Name: contract.TaskKubespray, State: Failed, Failure: &contract.Failure{Reason: contract.ReasonSSHDenied}}}}
		if _, again := retryAt(Seen{Runs: []Run{r}, Limits: Limits{Attempts: 2}}, r, Classify(r)); again != want {
			t.Errorf("the run enrolled hosts: %t; tried again %t, want %t", enrolls, again, want)
		}
	}
}

// TestAttemptWithoutAcceleration: a playbook that failed for an unknown cause with accelerations is tried again
// without them, also if its reason is not transient, but not more often than the site allows.
func TestAttemptWithoutAcceleration(t *testing.T) {
	for _, test := range []struct {
		accelerated bool
		attempt     int32
		want        bool
	}{{false, 1, false}, {true, 1, true}, {true, 2, false}} {
		r := Run{State: Failed, Touched: true, Attempt: test.attempt, Tasks: []Task{{Name: contract.TaskKubespray, State: Failed, Failure: &contract.Failure{
			Reason: contract.ReasonPlaybookFailed, Accelerated: test.accelerated}}}}
		if _, again := retryAt(Seen{Runs: []Run{r}, Limits: Limits{Attempts: 2}}, r, Classify(r)); again != test.want {
			t.Errorf("accelerated %t, attempt %d: tried again %t, want %t", test.accelerated, test.attempt, again, test.want)
		}
	}
}

// TestVersionSkewUsesUpNoAttempt: an upgrade of BPA can take longer than all attempts. Until a playbook has
// begun, runs go on with growing intervals.
func TestVersionSkewUsesUpNoAttempt(t *testing.T) {
	r := Run{State: Failed, Attempt: 9, Tasks: []Task{{Name: contract.TaskSelectHosts, State: Failed, Failure: &contract.Failure{Reason: contract.ReasonVersionSkew}}}}
	s := Seen{Limits: Limits{Attempts: 2}}
	for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute} {
		s.Runs = append(s.Runs, r)
		at, again := retryAt(s, r, Classify(r))
		if got := at.Sub(r.Completed); !again || got != want || !costless(r, Classify(r).Reason) {
			t.Errorf("after %d runs: tried again %t after %v, want %v", len(s.Runs), again, got, want)
		}
	}
}

// TestPolicyRefusesAnOlderTask: during an upgrade, the select-hosts of the previous build writes
// fields that now only the controller may write. The policy rejects this, and the next attempt uses
// the Task of this build. The test checks every message of the policy in config/.
func TestPolicyRefusesAnOlderTask(t *testing.T) {
	policy, err := os.ReadFile("../../../../config/500-claims.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile(`(?:message: "?|messageExpression: >-\n +')(.*)`).FindAllSubmatch(policy, -1)
	if len(rules) < 6 {
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

// TestNoTasksOfTheRelease: if the site has no Tasks of the requested kubespray release, there is no
// automatic retry, and the hint names the missing Task. The test has the messages that Tekton
// writes for a run and for one of its tasks. If a Task without a release in its name is missing,
// the controller does retry, because config/ installs these Tasks.
func TestNoTasksOfTheRelease(t *testing.T) {
	couldnt := func(task string) string {
		return `Pipeline bpa-system/bpa-install can't be Run; it contains Tasks that don't exist: Couldn't retrieve Task "": error requesting remote resource: ` +
			`error getting "cluster" "site/cluster-0a1b": tasks.tekton.dev "` + task + `" not found`
	}
	for name, test := range map[string]struct {
		message string
		want    contract.Reason
	}{
		"kubespray-v2.99.0":     {couldnt("kubespray-v2.99.0"), contract.ReasonReleaseMissing},
		"seed-registry-v2.99.0": {couldnt("seed-registry-v2.99.0"), contract.ReasonReleaseMissing},
		"kubespray":             {couldnt("kubespray"), contract.ReasonPipelineMissing},
		"select-hosts":          {couldnt("select-hosts"), contract.ReasonPipelineMissing},
		"no answer":             {`error getting "cluster" "site/cluster-0a1b": tasks "kubespray-v2.99.0": etcdserver: request timed out`, contract.ReasonPipelineMissing},
	} {
		for _, r := range []Run{
			{Name: "edge-1-install-1", State: Failed, Attempt: 1, Reason: "CouldntGetTask", Message: test.message},
			{Name: "edge-1-install-1", State: Failed, Attempt: 1, Reason: "Failed", Tasks: []Task{
				{Name: contract.TaskSeedRegistry, State: Failed, Reason: "TaskRunResolutionFailed", Message: test.message}}},
		} {
			cause := Classify(r)
			_, again := retryAt(Seen{Runs: []Run{r}, Limits: Limits{Attempts: 2}}, r, cause)
			if missing := test.want == contract.ReasonReleaseMissing; cause.Reason != test.want || again == missing {
				t.Errorf("%s: %s, tried again %t; want %s", name, cause.Reason, again, test.want)
			}
			if test.want != contract.ReasonReleaseMissing {
				continue
			}
			text := hint("site", "edge-1", r.Name, cause)
			for _, want := range []string{"no Task " + name + " in", "release v2.99.0", "spec.kubespray.release", "kubectl get tasks -n bpa-system", "kubectl annotate -n site bpa edge-1"} {
				if !strings.Contains(text, want) {
					t.Errorf("%s: hint without %q: %s", name, want, text)
				}
			}
		}
	}
}

// TestHintOfAForeignCluster: the commands that empty a machine are in the message of the task kubespray only.
func TestHintOfAForeignCluster(t *testing.T) {
	for _, task := range []string{contract.TaskKubespray, contract.TaskInstallPlugins} {
		text := hint("site", "edge-1", "edge-1-plugins-2", Cause{Failure: contract.Failure{Reason: contract.ReasonHostOccupied}, Task: task})
		if got := strings.Contains(text, "from the machine, run the commands"); got != (task == contract.TaskKubespray) || !strings.Contains(text, contract.AnnotationRetry) {
			t.Errorf("after %s: %s", task, text)
		}
	}
}
