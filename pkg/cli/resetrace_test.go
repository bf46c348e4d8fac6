package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/apis"
	duckv1 "knative.dev/pkg/apis/duck/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	hostfacts "github.com/akraino-icn/bpa/pkg/hosts/facts"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// slowUser answers yes to the confirmation. Before the answer, meanwhile happens.
type slowUser struct {
	meanwhile func()
	answer    *strings.Reader
}

func newSlowUser(meanwhile func()) *slowUser { return &slowUser{meanwhile, strings.NewReader("yes\n")} }

func (u *slowUser) Read(p []byte) (int, error) {
	if u.meanwhile != nil {
		u.meanwhile()
		u.meanwhile = nil
	}
	return u.answer.Read(p)
}

// startAndLeave runs a command that starts a run, and interrupts it then: the run continues.
func (r *resets) startAndLeave(args ...string) {
	r.t.Helper()
	started := r.started
	defer func() { r.started = started }()
	ctx, interrupt := context.WithCancel(r.t.Context())
	defer interrupt()
	r.started = func(*tekton.PipelineRun) { interrupt() }
	r.expect(r.run(ctx, append([]string{"hosts", "reset", "--yes"}, args...)...), codeInterrupted)
}

// mustNotStart fails the test if a run is started. It ends this run, so that its command ends.
func (r *resets) mustNotStart() {
	r.started = func(run *tekton.PipelineRun) {
		r.t.Errorf("run %s was started", run.Name)
		r.end(run, contract.HostStates{}, "")
	}
}

func (r *resets) runs() []string {
	r.t.Helper()
	var all tekton.PipelineRunList
	if err := r.cluster.List(r.t.Context(), &all); err != nil {
		r.t.Fatal(err)
	}
	names := []string{}
	for _, run := range all.Items {
		names = append(names, run.Name)
	}
	return names
}

// putInQuarantine puts a host in quarantine for a run.
func (r *resets) putInQuarantine(host, run string) {
	r.t.Helper()
	h := &metal3.BareMetalHost{}
	r.get(host, h)
	h.Annotations[contract.AnnotationQuarantine] = quarantinePrefix + run
	r.update(h)
}

// addRun creates a run of another user.
func (r *resets) addRun(name string, changes ...func(*tekton.PipelineRun)) {
	r.t.Helper()
	run := resetOptions{hosts: []string{"host-1"}, sshSecret: "ssh-key"}.makeResetRun("site-a", name)
	run.Spec.Status, run.UID = "", types.UID("other-"+name)
	for _, change := range changes {
		change(run)
	}
	creating, created := r.creating, r.created
	defer func() { r.creating, r.created = creating, created }()
	r.creating, r.created = func(*tekton.PipelineRun) {}, func(*tekton.PipelineRun) {}
	if err := r.cluster.Create(r.t.Context(), run); err != nil {
		r.t.Error(err)
	}
}

func isDone(run *tekton.PipelineRun) {
	run.Status.Conditions = duckv1.Conditions{{Type: apis.ConditionSucceeded, Status: corev1.ConditionFalse, Reason: "Failed"}}
}

func isPending(run *tekton.PipelineRun) { run.Spec.Status = tekton.PipelineRunSpecStatusPending }

// TestResetThatStartsDuringAConfirmation checks that a command starts no second run for a host if
// another command has started one while the first one waited for its confirmation.
func TestResetThatStartsDuringAConfirmation(t *testing.T) {
	r := newResets(t, sshKey(), usedHost(1), usedHost(2))
	r.typed = newSlowUser(func() { r.startAndLeave("host-1") })
	r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "host-2"), codeFailed, "PipelineRun reset-host-1-1 already resets host-1: follow it with\n  kubectl bpa hosts reset host-1 -n site-a")
	if diff := cmp.Diff([]string{"reset-host-1-1"}, r.runs()); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if one, two := r.marks("host-1"), r.marks("host-2"); one != "site-a/edge-9 gone|being reset by PipelineRun reset-host-1-1" || two != "site-a/edge-9 gone|" {
		t.Errorf("host-1 has %q, host-2 has %q", one, two)
	}
}

// TestSameResetDuringAConfirmation checks that a command follows the run that another command has
// started for the same hosts during the confirmation.
func TestSameResetDuringAConfirmation(t *testing.T) {
	r := newResets(t, sshKey(), usedHost(1))
	r.typed = newSlowUser(func() {
		r.startAndLeave("host-1")
		run := &tekton.PipelineRun{}
		r.get("reset-host-1-1", run)
		r.end(run, contract.HostStates{"host-uid-1": contract.HostClean}, "")
	})
	r.expect(r.run(t.Context(), "hosts", "reset", "host-1"), codeDone, "host-1 is clean")
	if diff := cmp.Diff([]string{"reset-host-1-1"}, r.runs()); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

// TestHostThatChangesDuringAConfirmation checks that a confirmation counts only for the machine and
// the cluster that the user has seen.
func TestHostThatChangesDuringAConfirmation(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*metal3.BareMetalHost)
		says   string
	}{
		"another cluster": {func(h *metal3.BareMetalHost) { h.Annotations[contract.AnnotationUsedBy] = "site-a/edge-8 new" }, "host host-1 became another machine or got another cluster. To confirm again:\n  kubectl bpa hosts reset host-1 -n site-a"},
		"another machine": {func(h *metal3.BareMetalHost) { h.UID = "host-uid-7" }, "host host-1 became another machine"},
		"claimed":         {heldByMachine, "it is held by Machine m"},
		"clean":           {func(h *metal3.BareMetalHost) { h.Annotations = nil }, "BPA has installed no cluster on it since its last reset"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newResets(t, sshKey(), usedHost(1))
			r.mustNotStart()
			r.typed = newSlowUser(func() {
				h := &metal3.BareMetalHost{}
				r.get("host-1", h)
				test.change(h)
				r.update(h)
			})
			r.expect(r.run(t.Context(), "hosts", "reset", "host-1"), codeFailed, "nothing was reset", test.says)
			if got := r.runs(); len(got) > 0 || strings.Contains(r.marks("host-1"), quarantinePrefix) {
				t.Errorf("runs %v, host-1 has %q", got, r.marks("host-1"))
			}
		})
	}
}

// TestHostInQuarantineForAnotherRun checks the lock of a host. The other command puts the host in
// quarantine when the command has already checked that no run resets the host.
func TestHostInQuarantineForAnotherRun(t *testing.T) {
	name := resetName([]string{"host-1", "host-2"}, 1)
	for what, test := range map[string]struct {
		other    func(*resets) // creates the other run
		replaced bool
	}{
		"working":                     {func(r *resets) { r.addRun("other") }, false},
		"about to start":              {func(r *resets) { r.addRun("other", isPending) }, false},
		"ended":                       {func(r *resets) { r.addRun("other", isDone) }, true},
		"of a run that was deleted":   {func(*resets) {}, true},
		"working, and host-1 is free": {func(r *resets) { r.addRun("other") }, false},
	} {
		t.Run(what, func(t *testing.T) {
			locked, free := "host-1", "host-2"
			if strings.Contains(what, "host-1 is free") {
				locked, free = free, locked
			}
			r := newResets(t, sshKey(), usedHost(1), usedHost(2))
			r.created = func(run *tekton.PipelineRun) {
				test.other(r)
				r.putInQuarantine(locked, "other")
			}
			if test.replaced {
				r.started = func(run *tekton.PipelineRun) {
					r.end(run, contract.HostStates{"host-uid-1": contract.HostClean, "host-uid-2": contract.HostClean}, "")
				}
				r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "host-2", "--yes"), codeDone, "host-1 is clean", "host-2 is clean")
				return
			}
			r.mustNotStart()
			r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "host-2", "--yes"), codeFailed, "PipelineRun other already resets host "+locked, "kubectl logs -l tekton.dev/pipelineRun=other -n site-a --all-containers --prefix -f")
			if diff := cmp.Diff([]string{"other"}, r.runs()); diff != "" {
				t.Errorf("runs, of which %s had to be removed (-want +got):\n%s", name, diff)
			}
			if got := r.marks(locked); got != "site-a/edge-9 gone|being reset by PipelineRun other" {
				t.Errorf("%s has %q", locked, got)
			}
			if got := r.marks(free); got != "site-a/edge-9 gone|" {
				t.Errorf("%s has %q", free, got)
			}
		})
	}
}

// TestResetsOfTheSameName checks that a command changes nothing if another one has just created the
// run for the same hosts.
func TestResetsOfTheSameName(t *testing.T) {
	r := newResets(t, sshKey(), usedHost(1))
	r.creating = func(run *tekton.PipelineRun) {
		r.addRun(run.Name)
		r.putInQuarantine("host-1", run.Name)
	}
	r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "--yes"), codeFailed, "another command has just created PipelineRun reset-host-1-1, which resets host-1. To follow it:\n  kubectl bpa hosts reset host-1 -n site-a")
	if diff := cmp.Diff([]string{"reset-host-1-1"}, r.runs()); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if got := r.marks("host-1"); got != "site-a/edge-9 gone|being reset by PipelineRun reset-host-1-1" {
		t.Errorf("host-1 has %q", got)
	}
}

// TestRunThatLostItsQuarantine checks that a clean host keeps its mark and its quarantine if another
// run has replaced the quarantine meanwhile, or a user has ended it.
func TestRunThatLostItsQuarantine(t *testing.T) {
	for _, why := range []string{"being reset by PipelineRun other", "fan"} {
		r := newResets(t, sshKey(), usedHost(1))
		r.started = func(run *tekton.PipelineRun) {
			h := &metal3.BareMetalHost{}
			r.get("host-1", h)
			h.Annotations[contract.AnnotationQuarantine] = why
			r.update(h)
			r.end(run, contract.HostStates{"host-uid-1": contract.HostClean}, "")
		}
		r.expect(r.run(t.Context(), "hosts", "reset", "host-1", "--yes"), codeFailed, "host-1: it is clean, but host host-1 is no longer in quarantine for PipelineRun reset-host-1-1, so nothing was changed")
		if got, want := r.marks("host-1"), "site-a/edge-9 gone|"+why; got != want {
			t.Errorf("host-1 has %q, want %q", got, want)
		}
	}
}

// TestEndOfAQuarantine checks which run may end a quarantine, with and without a clean host.
func TestEndOfAQuarantine(t *testing.T) {
	for name, test := range map[string]struct {
		quarantine string
		exists     types.UID // UID of the run with the name of the quarantine; empty: it was deleted
		ends       bool
	}{
		"of this run":              {"mine", "uid", true},
		"of this run, deleted":     {"mine", "", true},
		"of a run of its name":     {"mine", "uid-of-another", false},
		"of another run":           {"other", "uid-of-another", false},
		"of another run, deleted":  {"other", "", false},
		"of a run with its prefix": {"mine-2", "", false},
	} {
		for _, isClean := range []bool{true, false} {
			objects := []client.Object{usedHost(1, func(h *metal3.BareMetalHost) {
				h.Annotations[contract.AnnotationQuarantine] = quarantinePrefix + test.quarantine + quarantineBefore + "fan"
			})}
			if test.exists != "" {
				run := resetOptions{}.makeResetRun("site-a", test.quarantine)
				run.UID = test.exists
				objects = append(objects, run)
			}
			r := newResets(t, objects...)
			host, mine := &metal3.BareMetalHost{}, &tekton.PipelineRun{}
			r.get("host-1", host)
			mine.Name, mine.UID = "mine", "uid"
			err := (&site{client: r.cluster, namespace: "site-a"}).endQuarantine(t.Context(), mine, hostfacts.Of(host, nil), isClean)
			want := "site-a/edge-9 gone|" + host.Annotations[contract.AnnotationQuarantine]
			switch {
			case test.ends && isClean:
				want = "|fan"
			case test.ends:
				want = "site-a/edge-9 gone|fan"
			}
			if got := r.marks("host-1"); got != want || (err != nil) != (isClean && !test.ends) {
				t.Errorf("%s, clean: %t: host-1 has %q, want %q; error %v", name, isClean, got, want, err)
			}
		}
	}
}
