package ansible

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func found(t *testing.T, name string) *Findings {
	t.Helper()
	f := &Findings{}
	for _, e := range recorded(t, name) {
		f.See(e)
	}
	return f
}

func TestCause(t *testing.T) {
	for name, want := range map[string]Failure{
		"failed":   {Host: "worker-1", Task: "kubeadm | Join", Message: "non-zero return code: [preflight] Some fatal errors occurred\nerror execution phase preflight, token [hidden]", Others: 1},
		"censored": {Host: "master-1", Task: "Set the certificate key", Message: "the playbook hides this task's output (no_log)"},
		"gone":     {Host: "worker-1", Task: "Ping", Message: "Failed to connect to the host via ssh: ssh: connect to host 127.0.0.1 port 1: Connection refused", Unreachable: true, Others: 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, bad := found(t, name).Cause()
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Failure{})); diff != "" || !bad {
				t.Errorf("cause (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIgnoredAndRescuedFailuresAreNoCause(t *testing.T) {
	f := found(t, "green")
	if cause, bad := f.Cause(); bad {
		t.Errorf("cause %+v of a green run", cause)
	}
	if want, got := "2 nodes: ok=18 changed=14 failed=0 unreachable=0 in 4s", f.Recap(); !f.Ended() || got != want {
		t.Errorf("recap %q, want %q", got, want)
	}
}

func TestNoStatsNoCause(t *testing.T) {
	f := &Findings{}
	for _, e := range recorded(t, "failed") {
		if e.Kind != Stats {
			f.See(e)
		}
	}
	if cause, bad := f.Cause(); bad || f.Ended() {
		t.Errorf("cause %+v of a run that was cut off: its failures may have been ignored ones", cause)
	}
}

func TestLocalhostIsNoNode(t *testing.T) {
	f := &Findings{}
	f.See(Event{Kind: Stats, Stats: map[string]HostStats{"localhost": {OK: 3}, "a": {OK: 2, Changed: 1}}})
	if want, got := "1 node: ok=2 changed=1 failed=0 unreachable=0 in 0s", f.Recap(); got != want {
		t.Errorf("recap %q, want %q", got, want)
	}
}
