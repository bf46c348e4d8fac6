package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

var someReasons = []contract.Reason{
	contract.ReasonHostsNotAvailable, contract.ReasonHostUnreachable, contract.ReasonPlaybookFailed, contract.ReasonAPIUnavailable,
	contract.ReasonCancelled, contract.ReasonTimeout, "",
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func randomNeed(r *rand.Rand) *Need {
	return pick(r, nil, &Need{}, &Need{}, &Need{Missing: "something"})
}

// randomWorld is any world at all, likely or not: whatever Next relies on must not be an accident of how worlds come about.
func randomWorld(r *rand.Rand, now time.Time) Seen {
	s := Seen{
		Name: "edge-1", Deleting: r.IntN(3) == 0, Paused: r.IntN(5) == 0, Slots: []string{"a", "b"},
		Digest: pick(r, "one", "two"), Inputs: pick(r, "one", "two"), Retry: pick(r, "", "x"),
		Invalid:   pick(r, "", "", "", "bad"),
		Leftovers: pick(r, nil, nil, nil, []string{"old"}),
		Pods:      pick(r, nil, nil, []string{"pod"}),
		Hosts:     randomNeed(r), SSH: randomNeed(r),
		Collected:       r.IntN(2) == 0,
		InstalledDigest: pick(r, "", "", "one"),
		Limits:          Limits{Attempts: 3, History: 1 + r.IntN(3)},
	}
	for n := range r.IntN(5) {
		run := Run{
			Name: fmt.Sprintf("edge-1-install-%d", n+1), Number: int32(n + 1), Attempt: int32(1 + r.IntN(4)), Operation: "install",
			Digest: pick(r, "one", "two"), Inputs: pick(r, "one", "two"), Retry: pick(r, "", "x"),
			State: pick(r, Active, Succeeded, Failed, Failed), Cancelling: r.IntN(4) == 0,
			Started: now.Add(-time.Hour),
		}
		if run.State != Active {
			run.Completed = now.Add(-time.Duration(r.IntN(600)) * time.Second)
		}
		for _, name := range []string{contract.TaskSelectHosts, contract.TaskKubespray}[:r.IntN(3)] {
			task := Task{Name: name, State: pick(r, Active, Succeeded, Failed)}
			if reason := pick(r, someReasons...); reason != "" {
				task.Failure = &contract.Failure{Reason: reason, Host: "a"}
			}
			run.Tasks = append(run.Tasks, task)
		}
		s.Runs = append(s.Runs, run)
	}
	if r.IntN(3) == 0 {
		s.Kubeconfig = &Kubeconfig{Endpoint: "https://x", Expires: now.Add(time.Duration(r.IntN(3)-1) * time.Hour), Broken: pick(r, "", "", "bad")}
	}
	if r.IntN(2) == 0 {
		s.Nodes = []contract.Node{{Name: "a", Host: "h1"}, {Name: "b", Host: "h2"}}
		s.Held = pick(r, []string{"h1"}, []string{"h1", "h2"})
	}
	return s
}

// TestNextNeverHarms: in no world at all is a host released while something may work on it, or a run started next to another, or one
// started without hosts and key, or for another cluster than the one that is there, or the newest run deleted.
func TestNextNeverHarms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	count := map[Do]int{}
	for range 20_000 {
		s := randomWorld(r, now)
		step := Next(s, now)
		count[step.Do]++
		bad := ""
		switch step.Do {
		case Release:
			if !s.Deleting || len(s.Pods) > 0 || len(s.ActiveRuns()) > 0 {
				bad = "hosts in use are released"
			}
		case StartRun:
			switch {
			case s.Deleting || s.Paused || s.Invalid != "":
				bad = "a run starts that nobody wants"
			case len(s.ActiveRuns()) > 0 || len(s.Leftovers) > 0:
				bad = "a run starts next to another"
			case s.Hosts == nil || s.SSH == nil || s.Hosts.Missing != "" || s.SSH.Missing != "":
				bad = "a run starts without what it needs"
			case s.Newest() != nil && step.Number <= s.Newest().Number:
				bad = "a run's number is used twice"
			case s.installedDigest() != "" && s.installedDigest() != s.Digest:
				bad = "a run starts that takes hosts from the cluster that is there"
			}
		case Prune:
			for _, name := range step.Runs {
				if name == s.Newest().Name {
					bad = "the newest run is deleted"
				}
			}
		}
		if bad != "" {
			t.Fatalf("%s: %+v in %+v", bad, step, s)
		}
	}
	for _, do := range []Do{Stay, StartRun, CancelRun, StoreKubeconfig, Prune, Release} {
		if count[do] == 0 {
			t.Errorf("%s was never chosen in %v: the worlds are too tame", do, count)
		}
	}
}

// after is what the world looks like when a step was done.
func after(s Seen, step Step, now time.Time) Seen {
	switch step.Do {
	case StartRun:
		s.Runs = append(append([]Run{}, s.Runs...), Run{
			Name: fmt.Sprintf("edge-1-install-%d", step.Number), Number: step.Number, Attempt: step.Attempt, Digest: s.Digest, Inputs: s.Inputs, Retry: s.Retry,
		})
	case StoreKubeconfig:
		s.Kubeconfig = &Kubeconfig{Endpoint: "https://x", Expires: now.Add(time.Hour)}
	case CancelRun, Prune:
		var runs []Run
		for _, r := range s.Runs {
			named := false
			for _, name := range step.Runs {
				named = named || name == r.Name
			}
			if named && step.Do == Prune {
				continue
			}
			r.Cancelling = r.Cancelling || named
			runs = append(runs, r)
		}
		s.Runs = runs
	}
	return s
}

// TestNextReachesAFixpoint: left alone, every world comes to rest after a few steps, and then its status does not change any more.
func TestNextReachesAFixpoint(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for range 5_000 {
		first := randomWorld(r, now)
		s, p := first, &v1alpha1.Provisioning{}
		p.Name = s.Name
		const most = 6
		steps := 0
		for ; steps < most; steps++ {
			step := Next(s, now)
			Report(p, s, step, nil, now)
			s.InstalledDigest = p.Status.InstalledDigest
			if step.Do == Stay || step.Do == Release {
				break
			}
			s = after(s, step, now)
		}
		if steps == most {
			t.Fatalf("no rest after %d steps from %+v", most, first)
		}
		step := Next(s, now)
		Report(p, s, step, nil, now)
		was := p.Status.DeepCopy()
		Report(p, s, Next(s, now), nil, now)
		if diff := cmp.Diff(*was, p.Status); diff != "" {
			t.Fatalf("the status of a steady world changes (-first +second visit):\n%s\n%+v", diff, s)
		}
		if events := Events(was, &p.Status); len(events) > 0 {
			t.Fatalf("a steady world tells %v", events)
		}
	}
}
