package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

var someReasons = []contract.Reason{
	contract.ReasonHostsNotAvailable, contract.ReasonHostUnreachable, contract.ReasonPlaybookFailed, contract.ReasonAPIUnavailable,
	contract.ReasonCancelled, contract.ReasonTimeout, contract.ReasonClusterUnhealthy, contract.ReasonResetIncomplete, "",
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func randomNeed(r *rand.Rand) *Need {
	return pick(r, nil, &Need{}, &Need{}, &Need{Missing: "something"})
}

// randomWorld returns a random state, likely or not: the properties of Next must hold for every
// state.
func randomWorld(r *rand.Rand, now time.Time) Seen {
	s := Seen{
		Name: "edge-1", Deleting: r.IntN(3) == 0, Paused: r.IntN(5) == 0, Slots: []string{"a", "b"},
		Digest: pick(r, "one", "two"), Inputs: pick(r, "one", "two"), Retry: pick(r, "", "x"),
		Invalid:   pick(r, "", "", "", "bad"),
		Settings:  pick(r, "", "", "", "", "bad"),
		Depot:     pick(r, "", "", "", "", "plain HTTP"),
		Leftovers: pick(r, nil, nil, nil, []string{"old"}),
		Pods:      pick(r, nil, nil, []string{"pod"}),
		Hosts:     randomNeed(r), SSH: randomNeed(r),
		Collected:       r.IntN(2) == 0,
		Generation:      int64(1 + r.IntN(2)),
		KeyChanged:      r.IntN(5) == 0,
		Edited:          r.IntN(2) == 0,
		InstalledDigest: pick(r, "", "", "one"),
		Limits:          Limits{Attempts: 3, History: 1 + r.IntN(3)},
	}
	for n := range r.IntN(5) {
		run := Run{
			Name: fmt.Sprintf("edge-1-install-%d", n+1), Number: int32(n + 1), Attempt: int32(1 + r.IntN(4)), Operation: "install",
			Digest: pick(r, "one", "two"), Inputs: pick(r, "one", "two"), Retry: pick(r, "", "x"),
			Touched: r.IntN(2) == 0, Generation: int64(r.IntN(3)), Superseded: r.IntN(6) == 0,
			State: pick(r, Active, Succeeded, Failed, Failed), Cancelling: r.IntN(4) == 0,
			Started: now.Add(-time.Hour),
		}
		if run.State != Active {
			run.Completed = now.Add(-time.Duration(r.IntN(600)) * time.Second)
		}
		if n > 0 && r.IntN(3) == 0 {
			run.Operation, run.Replaces = contract.OperationAddNodes, pick(r, nil, []string{"w-1=h3"}, []string{"w-1=h3", "w-2=h4"})
		}
		if s.Deleting && r.IntN(3) == 0 {
			run.Operation = contract.OperationReset
		}
		for _, name := range []string{contract.TaskSelectHosts, contract.TaskKubespray, contract.TaskCollectKubeconfig}[:r.IntN(4)] {
			task := Task{Name: name, State: pick(r, Active, Succeeded, Failed)}
			if reason := pick(r, someReasons...); reason != "" {
				task.Failure = &contract.Failure{Reason: reason, Host: "a"}
			}
			run.Tasks = append(run.Tasks, task)
		}
		s.Runs = append(s.Runs, run)
	}
	if r.IntN(5) == 0 {
		s.ForeignRuns = []Run{{Name: "by-hand", State: Active, Cancelling: r.IntN(2) == 0}}
	}
	if r.IntN(3) == 0 {
		s.Kubeconfig = &Kubeconfig{Endpoint: "https://x", Expires: now.Add(time.Duration(r.IntN(3)-1) * time.Hour), Broken: pick(r, "", "", "bad")}
	}
	if r.IntN(2) == 0 {
		s.Sets = []contract.Set{{Name: "w", Active: 2, Standby: 1}}
	}
	if r.IntN(4) > 0 {
		s.Nodes = []contract.Node{
			{Name: "a", Host: "h1", HostUID: "u", Roles: []string{contract.RoleControlPlane, contract.RoleWorker}},
			{Name: "b", Host: "h2", Roles: []string{contract.RoleWorker}},
			{Name: "w-1", Host: "h3", Set: "w", Roles: []string{contract.RoleWorker}},
			{Name: "w-2", Host: "h4", HostUID: "u", Set: "w", Roles: []string{contract.RoleWorker}},
			{Name: "w-3", Host: "h5", Set: "w", Standby: true, Roles: []string{contract.RoleWorker}},
		}[:1+r.IntN(5)]
	}
	s.Touched, s.Recorded, s.Retain = r.IntN(3) == 0, r.IntN(4) > 0, r.IntN(4) == 0
	s.Terminating = r.IntN(9) == 0
	if r.IntN(4) == 0 {
		s.Queue = &Queue{Limit: 1 + r.IntN(3), Active: []string{"x", "y", "z"}[:r.IntN(4)], Elsewhere: r.IntN(2), Ahead: r.IntN(3), Length: 4, Since: now}
	}
	if s.Recorded {
		s.States = contract.HostStates{}
		for _, uid := range []string{"u", "v"}[:r.IntN(3)] {
			s.States[uid] = pick(r, contract.HostUsed, contract.HostClean)
		}
	}
	s.Site = map[string]Host{}
	for _, name := range []string{"h1", "h2", "h3", "h4", "h5", "h6"}[:r.IntN(7)] {
		s.Site[name] = randomHost(r)
	}
	return s
}

// randomHost returns a host that is usually claimed and usually has no problem.
func randomHost(r *rand.Rand) Host {
	h := Host{UID: "u", Ours: true, Claimed: r.IntN(4) > 0, Live: r.IntN(2) == 0, Bare: r.IntN(9) == 0, Imaged: r.IntN(3) == 0, Marked: r.IntN(3) == 0}
	switch r.IntN(9) {
	case 0:
		h.Lost, h.Trouble = true, "in quarantine"
	case 1:
		h = Host{Gone: true, Live: h.Live}
	case 2:
		h = Host{UID: pick(r, "u", "v"), Holder: "Machine m", Live: h.Live}
	case 3:
		h = Host{UID: pick(r, "u", "v"), Live: h.Live}
	case 4:
		h.Trouble = "in error state"
	}
	return h
}

// harmfulReplacement describes why a run must not be started in an installed cluster. It is empty
// if the run may start.
func harmfulReplacement(s Seen, step Step) string {
	lost := 0
	for _, n := range s.Nodes {
		h, known := s.Site[n.Host]
		switch is := !known || !h.Ours || h.Lost; {
		case is && controlPlane(n) && !n.Standby:
			return "a run starts that moves a control plane node to another host"
		case is && !n.Standby && h.Live && (h.Gone || h.Lost || h.Holder != "" || h.UID != n.HostUID):
			lost++
		}
	}
	newest := s.Newest()
	if newest == nil || newest.State != Succeeded || s.asked() {
		return "" // a user requested this run, or it retries a failed run
	}
	switch {
	case step.Operation != contract.OperationAddNodes || len(step.Replaces) == 0:
		return "a run starts in a complete cluster without a request"
	case lost == 0:
		return "a host is replaced on a rumour"
	case !slices.ContainsFunc(s.Nodes, func(n contract.Node) bool { return n.Standby && s.Site[n.Host].Ours && !s.Site[n.Host].Lost }):
		return "a host is replaced automatically without another host"
	case !slices.ContainsFunc(step.Replaces, func(key string) bool { return !slices.Contains(newest.Replaces, key) }):
		return "a loss is made good twice"
	}
	return ""
}

// TestNextNeverHarms: Next never releases a host while something may work on it. It never starts a
// run in any of these cases: another run is active, hosts or key are missing, or the spec describes
// another cluster than the installed one. It never deletes the newest run.
func TestNextNeverHarms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	count, operations := map[Do]int{}, map[string]int{}
	for range 50_000 {
		s := randomWorld(r, now)
		step := Next(s, now)
		count[step.Do]++
		bad := ""
		switch step.Do {
		case Release:
			if !s.Deleting || len(s.Pods) > 0 || len(s.ActiveRuns()) > 0 || len(s.ForeignRuns) > 0 {
				bad = "hosts in use are released"
			}
			if last := s.Newest(); !s.Retain && !s.Terminating && len(s.UsedHosts()) > 0 && (last == nil || !last.resets() || last.State != Succeeded) {
				bad = "hosts that contain a cluster are released without a reset"
			}
		case StartRun:
			resets := step.Operation == contract.OperationReset
			switch {
			case !s.Queue.Turn():
				bad = "a run starts before its turn"
			case resets && (!s.Deleting || s.Retain || s.Terminating || len(s.UsedHosts()) == 0 && s.Recorded):
				bad = "hosts are reset without a reason"
			case resets && (len(s.ActiveRuns()) > 0 || len(s.ForeignRuns) > 0 || len(s.Pods) > 0 || s.SSH == nil || s.SSH.Missing != ""):
				bad = "hosts are reset next to other work, or without a key"
			case resets && s.Newest() != nil && step.Number <= s.Newest().Number:
				bad = "a run's number is used twice"
			case resets:
			case s.Deleting || s.Paused || s.Invalid != "" || s.Settings != "" || s.Depot != "":
				bad = "a run starts without a request"
			case len(s.ActiveRuns()) > 0 || len(s.Leftovers) > 0:
				bad = "a run starts next to another"
			case s.Hosts == nil || s.SSH == nil || s.Hosts.Missing != "" || s.SSH.Missing != "":
				bad = "a run starts without what it needs"
			case s.Newest() != nil && step.Number <= s.Newest().Number:
				bad = "a run's number is used twice"
			case s.installedDigest() != "" && s.installedDigest() != s.Digest:
				bad = "a run starts that takes hosts from the cluster that is there"
			case s.installedDigest() != "":
				bad = harmfulReplacement(s, step)
			case step.Operation == contract.OperationAddNodes:
				bad = "hosts of a cluster that never was are replaced"
			}
			operations[step.Operation]++
		case CancelRun:
			if r := s.Newest(); !s.Deleting && (r.Touched || s.InstalledDigest != "" || s.Paused || r.Generation == s.Generation || !step.Supersede ||
				!s.Edited || s.Settings != "" || s.Depot != "") {
				bad = "a run is cancelled that may have touched hosts, whose spec was not edited, or that no other run can follow"
			}
		case GiveBack:
			for _, name := range step.Hosts {
				if h := s.Site[name]; !h.Ours || !h.Claimed {
					bad = "a host is given back that this object did not claim"
				}
			}
			if s.Deleting || len(s.ActiveRuns()) > 0 || s.touched() || s.InstalledDigest != "" {
				bad = "hosts are given back on which something may be installed"
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
	for _, do := range []Do{Stay, StartRun, CancelRun, StoreKubeconfig, Prune, Release, GiveBack} {
		if count[do] == 0 {
			t.Errorf("%s was never chosen in %v: the worlds are too tame", do, count)
		}
	}
	for _, o := range contract.Operations {
		if operations[o.Name] == 0 {
			t.Errorf("operations %v: the worlds are too tame", operations)
		}
	}
}

// after returns the state after a step was applied.
func after(s Seen, step Step, now time.Time) Seen {
	switch step.Do {
	case StartRun:
		s.Runs = append(append([]Run{}, s.Runs...), Run{
			Name: fmt.Sprintf("edge-1-%s-%d", step.Operation, step.Number), Number: step.Number, Attempt: step.Attempt, Operation: step.Operation,
			Replaces: step.Replaces, Digest: s.Digest, Inputs: s.Inputs, Retry: s.Retry,
		})
	case GiveBack:
		s.Site = maps.Clone(s.Site)
		for _, name := range step.Hosts {
			s.Site[name] = Host{UID: s.Site[name].UID}
		}
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
			r.Cancelling, r.Superseded = r.Cancelling || named, r.Superseded || named && step.Supersede
			runs = append(runs, r)
		}
		s.Runs = runs
		for i := range s.ForeignRuns {
			s.ForeignRuns[i].Cancelling = true
		}
	}
	return s
}

// TestNextReachesAFixpoint: if nothing changes from outside, every state becomes stable after a few
// steps. From then on, the status does not change either.
func TestNextReachesAFixpoint(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for range 5_000 {
		first := randomWorld(r, now)
		s, p := first, &v1alpha1.Provisioning{}
		p.Name, p.Status.InstalledDigest = s.Name, s.InstalledDigest
		const most = 6
		steps := 0
		for ; steps < most; steps++ {
			step := Next(s, now)
			Report(p, s, step, nil, nil, now)
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
		Report(p, s, step, nil, nil, now)
		was := p.Status.DeepCopy()
		Report(p, s, Next(s, now), nil, nil, now)
		if diff := cmp.Diff(*was, p.Status); diff != "" {
			t.Fatalf("the status of a steady world changes (-first +second visit):\n%s\n%+v", diff, s)
		}
		if events := Events(was, &p.Status); len(events) > 0 {
			t.Fatalf("an unchanged state reports events %v", events)
		}
	}
}
