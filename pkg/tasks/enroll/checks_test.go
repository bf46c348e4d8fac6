package enroll_test

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/check"
	"github.com/akraino-icn/bpa/pkg/check/checktest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// probed are hosts that answer the probe. change changes the answer of a host to its n-th probe, both from 0.
func probed(t *testing.T, workers int, change func(host, n int, answer string) string) (*enrollment, func() []int) {
	w := newEnrollment(t, workers)
	w.In.Request.NetworkPlugin, w.In.Request.KubernetesVersion = "flannel", "1.35.4"
	w.In.Request.PodSubnet, w.In.Request.ServiceSubnet, w.In.Request.DepotURL = "10.233.64.0/18", "10.233.0.0/18", "https://10.0.0.250:5443"
	var mu sync.Mutex
	asked := make([]int, workers+1)
	w.Scripts = func(i int, command string, stdout, stderr io.Writer) (int, bool) {
		if command != check.Command {
			return 0, false
		}
		mu.Lock()
		n := asked[i]
		asked[i]++
		mu.Unlock()
		return checktest.Host(i+1, func(answer string) string {
			return change(i, n, strings.ReplaceAll(answer, "address eth0 10.0.0.", "address eth0 127.0.0."))
		})(command, stdout, stderr), true
	}
	return w, func() []int {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(asked)
	}
}

// with replaces the lines of an answer that begin with old by others.
func with(answer, old string, lines ...string) string {
	var kept []string
	for l := range strings.Lines(answer) {
		if l = strings.TrimSuffix(l, "\n"); !strings.HasPrefix(l, old) {
			kept = append(kept, l)
		} else if len(lines) > 0 {
			kept, lines = append(kept, lines...), nil
		}
	}
	return strings.Join(kept, "\n") + "\n"
}

func good(_, _ int, answer string) string { return answer }

func (w *enrollment) stored() (c contract.Checks) {
	w.T.Helper()
	if text := w.outcome.Data[contract.KeyChecks]; text == "" {
		w.T.Error("nothing is stored")
	} else if err := json.Unmarshal([]byte(text), &c); err != nil {
		w.T.Error(err)
	}
	return c
}

// TestAHostThatFailsACheckIsNotChanged: the failure names host, check, what was seen and what to do, and no host has the key of
// the cluster.
func TestAHostThatFailsACheckIsNotChanged(t *testing.T) {
	w, asked := probed(t, 2, func(host, _ int, answer string) string {
		if host == 0 {
			return answer
		}
		return with(with(answer, "disk /var/lib/containerd", "disk /var/lib/containerd 7 4096 26214400 100 655360 600000"), "synchronized", "synchronized no")
	})
	f := task.FailureOf(w.enroll())
	want := contract.Failure{Reason: contract.ReasonPreflightFailed, Host: "worker-1", Step: "check the hosts", Others: []string{"worker-2"},
		Message: "Host host-2: check disk-space: / has 0.0 GiB free, and /var/lib/containerd need 2.0 GiB. What to do: free or add space there, or mount a larger disk. " +
			"Nothing was changed on any host. If the check is wrong, add disk-space to spec.checks.disable. 3 more errors: worker-2 disk-space, worker-1 disk-pressure, worker-2 disk-pressure."}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("failure (-want +got):\n%s\n%s", diff, w.Log.String())
	}
	w.expect("after the failure", "", "", "")
	if diff := cmp.Diff([]int{3, 3, 3}, asked()); diff != "" {
		t.Errorf("looks (-want +got):\n%s", diff)
	}
	both := []string{"worker-1", "worker-2"}
	wantStored := contract.Checks{Findings: []contract.CheckFinding{
		{ID: "disk-space", Severity: "error", Hosts: both, HostCount: 2, Message: "/ has 0.0 GiB free, and /var/lib/containerd need 2.0 GiB"},
		{ID: "disk-pressure", Severity: "error", Hosts: both, HostCount: 2, Message: "/ has 0.0 % free, and containerd wants more than 15 %"},
		{ID: "time-source", Severity: "warning", Hosts: both, HostCount: 2, Message: "chronyd runs, and the clock is not synchronized"},
		{ID: "disk-reserve", Severity: "warning", Hosts: both, HostCount: 2, Message: "/ has 0.0 GiB free, and /var/lib/containerd need 10.0 GiB"},
	}}
	if diff := cmp.Diff(wantStored, w.stored()); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// TestWhatEndsByItselfBlocksNothing: a host that has just booted gets its time between two looks.
func TestWhatEndsByItselfBlocksNothing(t *testing.T) {
	w, asked := probed(t, 1, func(host, n int, answer string) string {
		if host == 1 && n == 0 {
			return with(answer, "route default")
		}
		return answer
	})
	if err := w.enroll(); err != nil {
		t.Fatalf("%v\n%s", err, w.Log.String())
	}
	w.expect("after the second look", w.line(), w.line())
	if diff := cmp.Diff([]int{2, 2}, asked()); diff != "" {
		t.Errorf("looks (-want +got):\n%s", diff)
	}
	if got := w.stored(); len(got.Findings) > 0 {
		t.Errorf("stored %+v", got)
	}
}

// TestWarningsBlockNothing: neither does what could not be found out, nor a host that does not answer to the end.
func TestWarningsBlockNothing(t *testing.T) {
	w, asked := probed(t, 2, func(host, _ int, answer string) string {
		switch host {
		case 0:
			return with(answer, "swaps", "swaps", "swap /dev/zram0")
		case 1:
			return with(answer, "memory")
		}
		return with(answer, "end")
	})
	if err := w.enroll(); err != nil {
		t.Fatalf("%v\n%s", err, w.Log.String())
	}
	w.expect("after the run", w.line(), w.line(), w.line())
	var got []string
	for _, f := range w.stored().Findings {
		got = append(got, f.Severity+" "+f.ID+" "+strings.Join(f.Hosts, ","))
	}
	if diff := cmp.Diff([]string{"warning swap master-1", "unknown answer worker-2", "unknown memory worker-1"}, got); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{1, 1, 1}, asked()); diff != "" {
		t.Errorf("looks (-want +got):\n%s", diff)
	}
}

// TestChecksAreSwitchedOff, one by one.
func TestChecksAreSwitchedOff(t *testing.T) {
	w, _ := probed(t, 0, func(_, _ int, answer string) string { return with(answer, "route default") })
	w.In.Request.Unchecked = []string{"default-route"}
	if err := w.enroll(); err != nil {
		t.Fatalf("%v\n%s", err, w.Log.String())
	}
	if got := w.stored(); len(got.Findings) > 0 {
		t.Errorf("stored %+v", got)
	}
}

// TestADepotThatHostsDoNotReachMayComeBack: the reason is the one that is tried again without a user.
func TestADepotThatHostsDoNotReachMayComeBack(t *testing.T) {
	w, _ := probed(t, 1, func(_, _ int, answer string) string {
		return with(answer, "depot", "depot 7 000 0 0.01 curl: (7) Failed to connect")
	})
	f := task.FailureOf(w.enroll())
	if f.Reason != contract.ReasonDepotUnavailable || f.Host != "master-1" || !strings.Contains(f.Message, "https://10.0.0.250:5443: curl: (7) Failed to connect") || !f.Reason.Transient() {
		t.Errorf("failure %+v", f)
	}
	w.expect("after the failure", "", "")
}

// TestOnlyNewHostsAreChecked: a node of the cluster is not asked, and neither is any host of a run that installs no node.
func TestOnlyNewHostsAreChecked(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(w *enrollment)
		asked  []int
	}{
		"an installation":                     {func(*enrollment) {}, []int{1, 1, 1}},
		"a worker is added":                   {func(w *enrollment) { w.Record(`{"uid-1":"used","uid-2":"used"}`) }, []int{0, 0, 1}},
		"members without a record":            {func(w *enrollment) { w.In.Request.Installed = []string{"host-1", "host-2"} }, []int{0, 0, 1}},
		"a run for another version":           {func(w *enrollment) { w.In.Request.Operation = contract.OperationUpgradeNodes }, []int{0, 0, 0}},
		"a reset":                             {func(w *enrollment) { w.In.Request.Operation = contract.OperationReset }, []int{0, 0, 0}},
		"another attempt, after a playbook":   {func(w *enrollment) { w.Record(`{"uid-1":"used","uid-2":"used","uid-3":"used"}`) }, []int{0, 0, 0}},
		"a host that was reset comes again":   {func(w *enrollment) { w.Record(`{"uid-1":"used","uid-2":"clean","uid-3":"used"}`) }, []int{0, 1, 0}},
		"an attempt that has enrolled a host": {func(w *enrollment) { w.Disks[0].Authorized = w.line() }, []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w, asked := probed(t, 2, good)
			tc.change(w)
			if err := w.enroll(); err != nil {
				t.Fatalf("%v\n%s", err, w.Log.String())
			}
			if diff := cmp.Diff(tc.asked, asked()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLeftoversOfThisClusterAreNoFinding: an interrupted attempt has left its programs, and the record was lost.
func TestLeftoversOfThisClusterAreNoFinding(t *testing.T) {
	w, _ := probed(t, 0, func(_, _ int, answer string) string {
		return with(with(answer, "process chronyd", "process chronyd", "kubernetes /etc/kubernetes/manifests"), "listen", "listen tcp 192B 00000000")
	})
	w.Disks[0].With(w.In.Request.UID)
	if err := w.enroll(); err != nil {
		t.Fatalf("%v\n%s", err, w.Log.String())
	}
}

// TestFindingsAreFew: the status of a cluster has room for what hosts say.
func TestFindingsAreFew(t *testing.T) {
	w, _ := probed(t, 8, func(_, _ int, answer string) string {
		return with(answer, "swaps", "swaps", "swap /dev/"+strings.Repeat("x", 1000))
	})
	if err := w.enroll(); err != nil {
		t.Fatalf("%v\n%s", err, w.Log.String())
	}
	got := w.stored().Findings
	if len(got) != 1 || len(got[0].Hosts) != contract.MostFindingHosts || got[0].HostCount != 9 || len(got[0].Message) > contract.MostFindingText {
		t.Errorf("stored %+v", got)
	}
}

// TestFindingsThatCannotBeStored are in the log, and the run goes on.
func TestFindingsThatCannotBeStored(t *testing.T) {
	w, _ := probed(t, 0, good)
	w.outcome.Err = io.ErrUnexpectedEOF
	if err := w.enroll(); err != nil || !strings.Contains(w.Log.String(), "cannot be stored") {
		t.Errorf("%v\n%s", err, w.Log.String())
	}
}
