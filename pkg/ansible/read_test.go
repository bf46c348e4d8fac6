package ansible

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func recorded(t *testing.T, name string) []Event {
	t.Helper()
	file, err := os.Open("testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var events []Event
	if err := Read(file, func(e Event) { events = append(events, e) }); err != nil {
		t.Fatal(err)
	}
	if len(events) < 3 {
		t.Fatalf("%s has %d events", name, len(events))
	}
	return events
}

func TestReadKnowsRecordedEvents(t *testing.T) {
	count := map[Kind]int{}
	for _, e := range recorded(t, "green") {
		count[e.Kind]++
	}
	want := map[Kind]int{PlayStart: 2, TaskStart: 8, HandlerStart: 1, HostStart: 4, OK: 16, Skipped: 2, Failed: 4, Stats: 1}
	if diff := cmp.Diff(want, count); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestReadGoesOnAfterOddLines(t *testing.T) {
	ok := `{"_event":"v2_playbook_on_task_start","task":{"name":"next","id":"1"},"hosts":{}}`
	in := strings.Join([]string{
		"not JSON, token abcdef.0123456789abcdef",
		`{"_event":"v2_runner_on_ok","hosts":{"a":{"stdout":"` + strings.Repeat("x", 5000) + `"}}}`,
		`{"no":"event"}`,
		"",
		ok, // without an end of line
	}, "\n")
	var got []string
	if err := read(strings.NewReader(in), 1000, func(e Event) { got = append(got, string(e.Kind)+" "+e.Task+e.Message) }); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"text not JSON, token [hidden]",
		"text (an event of 5057 bytes is not shown)",
		`text {"no":"event"}`,
		"v2_playbook_on_task_start next",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestReadReportsBrokenStream(t *testing.T) {
	broken := errors.New("broken pipe")
	err := Read(iotest.ErrReader(broken), func(Event) {})
	if !errors.Is(err, broken) {
		t.Errorf("Read() = %v, want %v", err, broken)
	}
}

func TestParseToleratesOddFields(t *testing.T) {
	e, err := Parse([]byte(`{"_event":"v2_runner_on_failed","hosts":{"a":{"changed":"no","msg":["first","second"],"results":{"not":"a list"}}},"task":{"name":"t"}}`))
	if err != nil || e.Message != "first; second" || e.Host != "a" {
		t.Errorf("Parse() = %+v, %v", e, err)
	}
	e, err = Parse([]byte(`{"_event":"v2_runner_on_failed","hosts":{"a":{"msg":{"code":7}}},"task":{"name":"t"}}`))
	if err != nil || e.Message != `{"code":7}` {
		t.Errorf("Parse() = %+v, %v", e, err)
	}
}

func TestMessageOfRecordedFailures(t *testing.T) {
	got := map[string]string{}
	for _, file := range []string{"failed", "censored", "gone"} {
		for _, e := range recorded(t, file) {
			if e.Message != "" {
				got[file+" "+e.Host+" "+e.Task] = e.Message
			}
		}
	}
	etcd := "[Errno 2] No such file or directory: b'/nonexistent/etcd'"
	want := map[string]string{
		"failed master-1 Get the version that runs": etcd,
		"failed worker-1 Get the version that runs": etcd,
		"failed worker-1 kubeadm | Join":            "non-zero return code: [preflight] Some fatal errors occurred\nerror execution phase preflight, token [hidden]",
		"failed master-1 Download images":           "item b: non-zero return code: no such image",
		"censored master-1 Set the certificate key": "the playbook hides this task's output (no_log)",
		"gone worker-1 Ping":                        "Failed to connect to the host via ssh: ssh: connect to host 127.0.0.1 port 1: Connection refused",
		"gone master-1 Use what worker-1 said":      "worker-1 told nothing",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestMessageIsCut(t *testing.T) {
	long := rawResult{Msg: "non-zero return code", Stderr: text(strings.Repeat("line of output ü\n", 5000) + "the last line")}
	got := long.message()
	if len(got) > maxTail+100 || !strings.HasSuffix(got, "the last line") {
		t.Errorf("message of %d bytes: %q", len(got), got)
	}
	secret := strings.Repeat("0123456789abcdef", 4)
	got = rawResult{Msg: text(strings.Repeat("x", maxMessage-10) + " " + secret)}.message()
	if strings.Contains(got, "0123456") {
		t.Errorf("a secret at the cut is shown: %q", got[maxMessage-20:])
	}
}
