package play_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook/acceleration"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Only failures of which an acceleration can be the cause lead to an attempt without acceleration.
func TestAccelerationCanBeTheCause(t *testing.T) {
	failed := func(result string) func(process.Command, io.Writer, io.Writer) int {
		return func(_ process.Command, stdout, _ io.Writer) int {
			kind, stats := "failed", "failures"
			if strings.Contains(result, "unreachable") {
				kind, stats = "unreachable", "unreachable"
			}
			fmt.Fprintf(stdout, `{"_event":"v2_runner_on_%s","task":{"name":"x"},"hosts":{"master-1":%s}}`+"\n", kind, result)
			fmt.Fprintf(stdout, `{"_event":"v2_playbook_on_stats","stats":{"master-1":{%q:1}}}`+"\n", stats)
			return 2
		}
	}
	const unknown = `{"action":"file","failed":true,"msg":"No start of json char found"}`
	for _, test := range []struct {
		name, result  string
		off           []string
		unaccelerated string
		want          bool
	}{
		{"an unknown cause", unknown, nil, "", true},
		{"an unknown cause, with one acceleration", unknown, acceleration.Names[1:], "", true},
		{"an unknown cause, all are switched off", unknown, []string{acceleration.All}, "", false},
		{"an unknown cause, without acceleration", unknown, nil, "edge-1-install-1", false},
		{"a wait", `{"action":"wait_for","failed":true,"msg":"Timeout when waiting for port"}`, nil, "", true},
		{"a file that does not exist", `{"action":"get_url","failed":true,"msg":"Request failed","status_code":404}`, nil, "", false},
		{"a full disk", `{"action":"copy","failed":true,"msg":"[Errno 28] No space left on device"}`, nil, "", false},
		{"a server that is down", `{"action":"get_url","failed":true,"msg":"Connection failure: timed out"}`, nil, "", false},
		{"a lock", `{"action":"apt","failed":true,"msg":"Could not get lock /var/lib/dpkg/lock"}`, nil, "", false},
		{"a node that does not answer", `{"unreachable":true,"msg":"Failed to connect to the host via ssh: No route to host"}`, nil, "", false},
		{"a lost process on the node", `{"unreachable":true,"msg":"Lost the connection to the node while a module ran"}`, nil, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := kubespraytest.New(t, 0)
			w.Play = failed(test.result)
			w.In.Request.SwitchedOff, w.In.Request.Unaccelerated = test.off, test.unaccelerated
			_, err := w.Run()
			if got := task.FailureOf(err); got.Accelerated != test.want {
				t.Errorf("failure %+v, want accelerated %t", got, test.want)
			}
			if said := strings.Contains(w.Log.String(), "An acceleration can be the cause"); said != test.want {
				t.Errorf("the log says that an acceleration can be the cause: %t, want %t:\n%s", said, test.want, &w.Log)
			}
		})
	}
}

// A reason that is put around that of the playbook keeps what is known of the cause.
func TestResetReportsThatAnAccelerationCanBeTheCause(t *testing.T) {
	err := &task.Error{Reason: contract.ReasonResetIncomplete, Err: fmt.Errorf("reset: %w", &task.Error{Reason: contract.ReasonPlaybookFailed, Accelerated: true, Err: io.EOF})}
	if got := task.FailureOf(err); !got.Accelerated || got.Reason != contract.ReasonResetIncomplete {
		t.Errorf("failure %+v", got)
	}
}

// The attempt without acceleration says so in its log and in its result, and uses none.
func TestAttemptWithoutAcceleration(t *testing.T) {
	w := kubespraytest.New(t, 0)
	w.In.Request.Unaccelerated = "edge-1-install-7"
	var env string
	w.Play = func(c process.Command, stdout, stderr io.Writer) int {
		env = strings.Join(c.Env, "\n")
		return kubespraytest.Recorded("green", 0)(c, stdout, stderr)
	}
	out, err := w.Run()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(env, "BPA_ACCELERATION=") || len(w.Ran) != 1 {
		t.Errorf("%d playbooks, environment\n%s", len(w.Ran), env)
	}
	const why = "without acceleration, because run edge-1-install-7 failed with it"
	if !strings.HasSuffix(out.Recap, "; "+why) || strings.Count(w.Log.String(), why) != 2 {
		t.Errorf("recap %q, log\n%s", out.Recap, &w.Log)
	}
}
