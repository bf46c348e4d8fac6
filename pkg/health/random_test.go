package health

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// world is a cluster with one node, in seconds of simulated time.
type world struct {
	random  *rand.Rand
	kubelet bool
	api     bool
	renewed time.Time // the time in the lease, by the clock of the cluster, which is wrong
	beat    time.Time // of the last renewal, by our clock
	// kubeletSince and apiSince are when they changed last.
	kubeletSince, apiSince time.Time
}

// step is one second.
func (w *world) step(now time.Time) {
	if w.random.IntN(150) == 0 {
		w.kubelet, w.kubeletSince = !w.kubelet, now
	}
	if w.random.IntN(400) == 0 {
		w.api, w.apiSince = !w.api, now
	}
	if w.kubelet && w.api && now.Sub(w.beat) >= 10*time.Second {
		w.beat, w.renewed = now, now.Add(-24*time.Hour)
	}
}

// look sees the condition Ready as True for 50 s after the last renewal, as a controller manager sets
// it.
func (w *world) look(now time.Time) Observation {
	if !w.api {
		return Observation{Silent: "connection refused"}
	}
	ready := now.Sub(w.beat) < 50*time.Second || now.Sub(w.apiSince) < 50*time.Second
	return Observation{Nodes: map[string]Node{"w-1": {Ready: ready}}, Leases: map[string]string{"w-1": w.renewed.String()}}
}

// TestRandomWorlds: whatever happens, a stopped kubelet shows within a minute, a silent API server is
// never a node that is not Ready, a cluster that is well for long enough is Ready, and the report
// changes seldom.
func TestRandomWorlds(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(300) {
		w := &world{random: rand.New(rand.NewPCG(seed, 1)), kubelet: true, api: true, kubeletSince: start, apiSince: start}
		var s State
		last, changes := NodeUnknown, []time.Time{}
		next := start
		for now := start; now.Before(start.Add(time.Hour)); now = now.Add(time.Second) {
			w.step(now)
			if now.Before(next) {
				continue
			}
			s.Add(w.look(now), []string{"w-1"}, nil, now)
			next = s.Next(now, 15*time.Second, w.random.Float64())
			r := s.Report()
			n := r.Nodes["w-1"]
			seen[fmt.Sprint(r.API, n.State)]++
			up, apiUp := now.Sub(w.kubeletSince), now.Sub(w.apiSince)
			switch {
			case r.API != APIAnswers && n.State != NodeUnknown:
				t.Fatalf("seed %d, %s: the API server is %s, and the node %s", seed, now, r.API, n.State)
			case !w.api && apiUp > 40*time.Second && r.API != APISilent:
				t.Fatalf("seed %d, %s: the API server is down for %s, and reported as %s", seed, now, apiUp, r.API)
			case w.api && !w.kubelet && up > 60*time.Second && apiUp > 70*time.Second && r.API == APIAnswers && n.State != NodeNotReady:
				t.Fatalf("seed %d, %s: the kubelet is down for %s, and the node reported as %s", seed, now, up, n.State)
			case w.api && w.kubelet && min(up, apiUp) > 7*time.Minute && (n.State != NodeReady || r.API != APIAnswers):
				t.Fatalf("seed %d, %s: everything is well, but reported as %s, %s (%s)", seed, now, r.API, n.State, n.Text)
			}
			if n.State != last {
				last, changes = n.State, append(changes, now)
			}
			if c := len(changes); c > 14 && changes[c-1].Sub(changes[c-14]) < flapTime {
				t.Fatalf("seed %d, %s: %v", seed, now, changes[c-14:])
			}
		}
	}
	for _, want := range []string{"AnswersReady", "AnswersNotReady", "SilentUnknown", "AnswersUnknown"} {
		if seen[want] < 100 {
			t.Errorf("%s was seen only %d times: %v", want, seen[want], seen)
		}
	}
}

// TestAStoppedKubeletShowsInTime takes every second at which the kubelet can stop.
func TestAStoppedKubeletShowsInTime(t *testing.T) {
	worst := time.Duration(0)
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 2))
		stop := start.Add(60*time.Second + time.Duration(random.IntN(20000))*time.Millisecond)
		var s State
		for now := start.Add(time.Duration(random.Float64() * float64(15*time.Second))); ; now = s.Next(now, 15*time.Second, random.Float64()) {
			renewed := min(now.Sub(start), stop.Sub(start)).Truncate(10 * time.Second)
			s.Add(Observation{Nodes: map[string]Node{"w-1": {Ready: true}}, Leases: map[string]string{"w-1": renewed.String()}}, []string{"w-1"}, nil, now)
			if s.Report().Nodes["w-1"].State == NodeNotReady {
				worst = max(worst, now.Sub(stop))
				break
			}
			if now.Sub(stop) > time.Hour {
				t.Fatalf("seed %d: never", seed)
			}
		}
	}
	if worst > 50*time.Second {
		t.Errorf("in the worst case it takes %s", worst)
	}
}

// TestLongLeases: a kubelet whose leases last longer renews them less often.
func TestLongLeases(t *testing.T) {
	for _, test := range []struct{ lasts, stale time.Duration }{{0, 30 * time.Second}, {40 * time.Second, 30 * time.Second}, {20 * time.Second, 30 * time.Second}, {200 * time.Second, 150 * time.Second}} {
		var s State
		for now := start; ; now = now.Add(5 * time.Second) {
			s.Add(Observation{Nodes: map[string]Node{"w-1": {Ready: true}}, Leases: map[string]string{"w-1": "a"}, LeaseTimes: map[string]time.Duration{"w-1": test.lasts}}, []string{"w-1"}, nil, now)
			if s.Report().Nodes["w-1"].State == NodeNotReady {
				if got := now.Sub(start); got != test.stale {
					t.Errorf("a lease of %s is stale after %s, want %s", test.lasts, got, test.stale)
				}
				break
			}
			if now.Sub(start) > time.Hour {
				t.Fatalf("a lease of %s is never stale", test.lasts)
			}
		}
	}
}
