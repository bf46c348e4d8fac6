package plan

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestFailurePolicies: what the controller does after a failed run, and what it tells a user, for each reason.
func TestFailurePolicies(t *testing.T) {
	const golden = "testdata/failurepolicies.golden"
	source, err := os.ReadFile("../../../contract/failure.go")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, found := range regexp.MustCompile(`(?m)^\tReason\w+ +Reason = "(\w+)"$`).FindAllSubmatch(source, -1) {
		reason := contract.Reason(found[1])
		fmt.Fprintf(&text, "%s, transient: %t\n", reason, reason.Transient())
		for _, touched := range []bool{false, true} {
			fmt.Fprintf(&text, "  touched %t: costless %t, next attempts", touched, costless(Run{Touched: touched}, reason))
			for _, s := range []Seen{{}, {InstalledDigest: "installed"}} {
				for _, operation := range []string{contract.OperationInstall, contract.OperationReset} {
					for attempt := range int32(3) {
						s.Limits.Attempts = 3
						s.Runs = append(s.Runs, Run{
							State: Failed, Attempt: attempt + 1, Operation: operation, Touched: touched, Enrolls: true,
							Tasks: []Task{{Name: contract.TaskKubespray, State: Failed, Failure: &contract.Failure{Reason: reason}}},
						})
						failed := s.Newest()
						at, again := retryAt(s, *failed, Classify(*failed))
						fmt.Fprintf(&text, " %s", map[bool]string{false: "none", true: at.Sub(time.Time{}).String()}[again])
					}
				}
			}
			text.WriteByte('\n')
		}
		fmt.Fprintf(&text, "  waiting: %s\n", hintWaiting(Cause{Failure: contract.Failure{Reason: reason}}))
		for _, task := range []string{contract.TaskKubespray, contract.TaskInstallPlugins, ""} {
			cause := Cause{Failure: contract.Failure{Reason: reason, Message: "task bpa-kubespray-v2-30-0 is missing"}, Task: task}
			fmt.Fprintf(&text, "  task %q: %s\n", task, hint("site", "edge-1", "edge-1-install-1", cause))
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(text.String(), "\n")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
