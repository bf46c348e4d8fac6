//go:build integration

package integration

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// participants runs the processes of the contest, and kills some of them.
type participants struct {
	ctx   context.Context
	all   []*running
	kills int

	mu      sync.Mutex
	results []completed   // in the order in which the claimants reported them
	failure string        // standard error of a participant that exited without being killed
	updated chan struct{} // receives a value after each change of results or failure
}

// running is a participant and its current process.
type running struct {
	participant
	process *exec.Cmd
	ended   chan struct{} // closed when the process has exited
}

func startParticipants(t *testing.T, ctx context.Context) *participants {
	t.Helper()
	c := &participants{ctx: ctx, updated: make(chan struct{}, 1)}
	t.Cleanup(func() {
		for _, r := range c.all {
			c.kill(r)
		}
	})
	for n := range replicas {
		c.all = append(c.all, &running{participant: participant{Replica: true, Number: n, Kubeconfig: shared.kubeconfig}})
	}
	for n := range claimants {
		c.all = append(c.all, &running{participant: participant{Number: n, Kubeconfig: shared.kubeconfig}})
	}
	for _, r := range c.all {
		c.start(t, r)
	}
	return c
}

// start starts the process of a participant. A claimant begins with its first unfinished round.
func (c *participants) start(t *testing.T, r *running) {
	t.Helper()
	text, err := json.Marshal(r.participant)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), participantVariable+"="+string(text), "GOMAXPROCS=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.process, r.ended = cmd, make(chan struct{})
	go func(ended chan struct{}) {
		defer close(ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			c.record(r, lines.Bytes())
		}
		if cmd.Wait(); cmd.ProcessState.ExitCode() >= 0 { // not killed
			c.mu.Lock()
			defer c.mu.Unlock()
			c.failure = stderr.String()
			c.notify()
		}
	}(r.ended)
}

// record stores the result in a line of a claimant. It ignores a line that is incomplete because
// the claimant was killed.
func (c *participants) record(r *running, line []byte) {
	var result completed
	if json.Unmarshal(line, &result) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Round = result.Round + 1
	c.results = append(c.results, result)
	c.notify()
}

func (c *participants) notify() {
	select {
	case c.updated <- struct{}{}:
	default:
	}
}

// kill kills the process of a participant, like a power failure, and waits until it has exited.
func (c *participants) kill(r *running) {
	_ = r.process.Process.Kill()
	<-r.ended
}

// runUntil returns when the given number of hosts has been claimed in completed claims. Until then
// it kills and restarts participants at random times.
func (c *participants) runUntil(t *testing.T, hosts int) {
	t.Helper()
	logTick := time.NewTicker(10 * time.Second)
	defer logTick.Stop()
	// next receives a value at the time of the next kill. This time depends on the progress of the
	// participants: with a fixed rate of kills, a slow machine would only start processes.
	var next <-chan time.Time
	for {
		select {
		case <-logTick.C:
			t.Logf("%d hosts in %d claims, %d lost, %d conflicts, %d kills", c.hosts(), len(c.claims()), c.lost(), c.conflicts(), c.kills)
		case <-c.updated:
			c.mu.Lock()
			failure := c.failure
			c.mu.Unlock()
			if failure != "" {
				t.Fatal(failure)
			}
			if c.hosts() >= hosts {
				return
			}
			if next == nil && rand.N(4) == 0 {
				next = time.After(rand.N(time.Second))
			}
		case <-next:
			next = nil
			r := c.all[rand.N(len(c.all))]
			c.kill(r)
			c.kills++
			c.start(t, r)
		case <-c.ctx.Done():
			t.Fatalf("timeout: only %d of %d hosts were claimed", c.hosts(), hosts)
		}
	}
}

func (c *participants) stopClaimants(t *testing.T) { c.stop(t, false) }
func (c *participants) stopReplicas(t *testing.T)  { c.stop(t, true) }

// stop kills all replicas if replica is true, and all claimants if it is false.
func (c *participants) stop(t *testing.T, replica bool) {
	t.Helper()
	for _, r := range c.all {
		if r.Replica == replica {
			c.kill(r)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != "" {
		t.Error(c.failure)
	}
}

// claims returns the rounds whose claimant got its hosts.
func (c *participants) claims() (won []completed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, result := range c.results {
		if result.Hosts != nil {
			won = append(won, result)
		}
	}
	return won
}

// hosts returns the number of hosts in all completed claims.
func (c *participants) hosts() (n int) {
	for _, won := range c.claims() {
		n += len(won.Hosts)
	}
	return n
}

// conflicts returns the number of writes that failed with a conflict.
func (c *participants) conflicts() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, result := range c.results {
		n += result.Conflicts
	}
	return n
}

// lost returns the number of attempts to claim that failed because of other holders.
func (c *participants) lost() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, result := range c.results {
		n += result.Lost
	}
	return n
}
