package provisioning

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/test/year"
)

var (
	walkSeed  = flag.Uint64("walk.seed", 0, "play only this seed of TestWalk")
	walkSteps = flag.Int("walk.steps", lifeSteps, "how many operations of each seed TestWalk plays")
	walkLives = flag.Uint64("walk.lives", sameLives, "how many seeds, from 1, TestWalk plays without -walk.time")
	walkTime  = flag.Duration("walk.time", 0, "how long TestWalk plays seeds that are new each time; 0: it plays the same seeds as always")
)

// lifeSteps is the number of operations in the life of one cluster.
const lifeSteps = 60

// visits and podWrites count those of all lives, and earlyEnds the runs that have ended before they were at all nodes.
var visits, podWrites, earlyEnds atomic.Int64

// sameLives is the number of seeds that are played without -walk.time. They are the same each time, because a test of a
// change must not fail for a defect that another change has made. New seeds find new defects: -walk.time=5m.
const sameLives = 200

// forgets reports whether all runs are deleted now and then in the life of a seed. The first 180 seeds are older than this event.
func forgets(seed uint64) bool { return seed > 180 && seed%3 == 0 }

// hurries reports whether a control plane is lost now and then in the life of a seed while nodes are removed or upgraded.
// The first 192 seeds are older than this event.
func hurries(seed uint64) bool { return seed > 192 && seed%2 == 1 }

// TestWalk plays the operations of package year against the controller, with its real code, on a simulated site: see
// walk_api_test.go. After each operation, the cluster must become what the spec says.
func TestWalk(t *testing.T) {
	if *walkSeed != 0 {
		if _, err := walk(*walkSeed, *walkSteps, func() bool { return false }, func(string) {}); err != nil {
			t.Fatal(err)
		}
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // the site is small, and most of what is allocated is used once
	start, first, last := time.Now(), uint64(1), *walkLives
	switch {
	case *walkTime > 0:
		first, last = uint64(start.UnixNano()), math.MaxUint64
	case testing.Short():
		last = 2
	}
	t.Logf("the seeds begin with %d", first)
	before := processorTime()
	over := func() bool { return t.Failed() || *walkTime > 0 && time.Since(start) >= *walkTime }
	var group sync.WaitGroup
	var played, lives atomic.Int64
	seeds := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := range seeds {
				n, err := walk(seed, *walkSteps, over, func(string) {})
				if err != nil {
					t.Error(err)
				}
				played.Add(int64(n))
				lives.Add(1)
			}
		})
	}
	for seed := first; seed <= last && !over(); seed++ {
		seeds <- seed
	}
	close(seeds)
	group.Wait()
	if *walkTime == 0 && *walkLives == sameLives && !testing.Short() && earlyEnds.Load() == 0 && !t.Failed() {
		t.Error("no run has ended early for a control plane that was lost")
	}
	second := time.Since(start).Seconds()
	t.Logf("%.1f seconds of processor time for 1,000 operations", (processorTime()-before).Seconds()*1000/float64(max(played.Load(), 1)))
	t.Logf("%d runs have ended early", earlyEnds.Load())
	t.Logf("%d operations in %d lives: %.0f a second, with %.0f visits of the controller and %.0f writes of pods",
		played.Load(), lives.Load(), float64(played.Load())/second, float64(visits.Load())/second, float64(podWrites.Load())/second)
}

// processorTime returns how long this process has used processors. Unlike the time of day, it does not depend on what
// else the machine does.
func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// TestWalkIsRepeatable: a seed gives the same life each time. -walk.seed and -walk.steps play another one.
func TestWalkIsRepeatable(t *testing.T) {
	const short = 12
	for seed := range uint64(6) {
		steps := short
		if *walkSeed != 0 {
			seed, steps = *walkSeed+seed, *walkSteps
		}
		var lives [2][]string
		for i := range lives {
			_, err := walk(seed, steps, func() bool { return false }, func(what string) { lives[i] = append(lives[i], what) })
			if err != nil {
				t.Fatal(err)
			}
		}
		same := 0
		for same < min(len(lives[0]), len(lives[1])) && lives[0][same] == lives[1][same] {
			same++
		}
		next := func(life []string) []string { return life[max(same-20, 0):min(same+20, len(life))] }
		if diff := cmp.Diff(next(lives[0]), next(lives[1])); diff != "" {
			t.Errorf("seed %d (-first life +second life):\n%s", seed, diff)
		}
	}
}

// walk plays the life of one cluster, at most until it is over. seen gets all that happens. walk returns the number of
// operations that it has played.
func walk(seed uint64, steps int, over func() bool, seen func(what string)) (played int, err error) {
	from := []string{year.Older, year.Patched}[seed%2]
	w := newSimSite(seed, from)
	w.seen, w.forgets, w.hurries = seen, forgets(seed), hurries(seed)
	defer func() {
		visits.Add(int64(w.visits))
		podWrites.Add(int64(w.podWrites))
	}()
	failed := func(step string, err error) error {
		lines := w.history[max(0, len(w.history)-60):]
		return fmt.Errorf("seed %d, %s: %w\n\nlast of all:\n%s\n\n%s\nplay it again: go test ./pkg/reconciler/provisioning -run 'TestWalk$' -walk.seed=%d -walk.steps=%d",
			seed, step, err, strings.Join(lines, "\n"), w.state(), seed, played+1)
	}
	w.say("installation")
	w.want(w.world)
	if err := w.settle(w.unlike); err != nil {
		return played, failed("installation", err)
	}
	defer func() {
		if err == nil {
			err = w.controller.parsed.changed()
		}
	}()
	all := year.Deal(seed, w.world, steps+1) // the last one is only looked at
	for i, step := range all[:steps] {
		if over() {
			break
		}
		w.say(step.String())
		if err := w.step(step, all[i+1].Operation); err != nil {
			return played, failed(step.String(), err)
		}
		played++
	}
	return played, nil
}

// step plays one operation until the cluster is what the world says. If both are edits, the next one can come before
// that.
func (w *simSite) step(step year.Step, next string) error {
	before := w.ofOther()
	w.pace, w.lag = []int{1, 5, 20, 40, 40}[w.random.IntN(5)], []int{0, 20, 50, 80}[w.random.IntN(4)]
	w.laggard = append(slices.Clone(cachedKinds), "", "", "")[w.random.IntN(len(cachedKinds)+3)]
	if w.forgets && w.percent(30) && w.unlike() == "" { // otherwise a run may have results that the controller has not seen yet
		w.forgetRuns()
		w.rounds(30)
	}
	w.play(step)
	w.meanwhile(step.Meanwhile)
	if w.hurries && goesByNode(step.Operation) && w.percent(60) {
		w.rounds(40)
		w.losePlane()
	}
	if edits(step.Operation) && edits(next) && w.percent(25) {
		w.rounds(30)
		return w.wrong
	}
	if step.Operation == year.Silence {
		w.rounds(30)
		w.tidy()
	}
	if err := w.settle(w.unlike); err != nil {
		return err
	}
	for _, more := range []func() bool{w.tidy, w.resetLate} {
		if !more() {
			continue
		}
		if err := w.settle(w.unlike); err != nil {
			return errors.Join(errors.New("after users have tidied up"), err)
		}
	}
	if diff := cmp.Diff(before, w.ofOther()); diff != "" && !touchesOther(step.Operation) {
		return fmt.Errorf("objects of the other Provisioning have changed (-before +after):\n%s", diff)
	}
	w.client.left, w.depotFails, w.drainFails = 0, 0, 0
	return nil
}
