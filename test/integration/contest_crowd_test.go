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

// crowd runs the players, and kills them.
type crowd struct {
	ctx     context.Context
	players []*running
	kills   int

	mu      sync.Mutex
	over    []completed // in the order in which they were told
	failure string      // of a player that ended by itself
	told    chan struct{}
}

// running is a player and its present process.
type running struct {
	player
	process *exec.Cmd
	ended   chan struct{}
}

func startCrowd(t *testing.T, ctx context.Context) *crowd {
	t.Helper()
	c := &crowd{ctx: ctx, told: make(chan struct{}, 1)}
	t.Cleanup(func() {
		for _, r := range c.players {
			c.kill(r)
		}
	})
	for n := range replicas {
		c.players = append(c.players, &running{player: player{Replica: true, Number: n, Kubeconfig: shared.kubeconfig}})
	}
	for n := range claimants {
		c.players = append(c.players, &running{player: player{Number: n, Kubeconfig: shared.kubeconfig}})
	}
	for _, r := range c.players {
		c.start(t, r)
	}
	return c
}

// start runs a player from the round on that it has not ended.
func (c *crowd) start(t *testing.T, r *running) {
	t.Helper()
	text, err := json.Marshal(r.player)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), playerVariable+"="+string(text), "GOMAXPROCS=1")
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
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
			c.tell(r, lines.Bytes())
		}
		if cmd.Wait(); cmd.ProcessState.ExitCode() >= 0 { // not killed
			c.mu.Lock()
			defer c.mu.Unlock()
			c.failure = complaint.String()
			c.wake()
		}
	}(r.ended)
}

// tell notes a line of a claimant. A line that its death cut short counts for nothing.
func (c *crowd) tell(r *running, line []byte) {
	var over completed
	if json.Unmarshal(line, &over) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Round = over.Round + 1
	c.over = append(c.over, over)
	c.wake()
}

func (c *crowd) wake() {
	select {
	case c.told <- struct{}{}:
	default:
	}
}

// kill ends a player at once, as a power cut does.
func (c *crowd) kill(r *running) {
	_ = r.process.Process.Kill()
	<-r.ended
}

// playUntil lets them play until so many hosts were claimed, and kills one of them now and then.
func (c *crowd) playUntil(t *testing.T, hosts int) {
	t.Helper()
	say := time.NewTicker(10 * time.Second)
	defer say.Stop()
	var next <-chan time.Time // when to kill: it depends on what they get done, or a slow machine would do nothing but start players
	for {
		select {
		case <-say.C:
			t.Logf("%d hosts in %d claims, %d lost, %d late, %d kills", c.hosts(), len(c.claims()), c.lost(), c.late(), c.kills)
		case <-c.told:
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
			r := c.players[rand.N(len(c.players))]
			c.kill(r)
			c.kills++
			c.start(t, r)
		case <-c.ctx.Done():
			t.Fatalf("in the time that there is only %d of %d hosts were claimed", c.hosts(), hosts)
		}
	}
}

func (c *crowd) stopClaimants(t *testing.T) { c.stop(t, false) }
func (c *crowd) stopReplicas(t *testing.T)  { c.stop(t, true) }

func (c *crowd) stop(t *testing.T, replica bool) {
	t.Helper()
	for _, r := range c.players {
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

// claims are those that were completed.
func (c *crowd) claims() (won []completed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, over := range c.over {
		if over.Hosts != nil {
			won = append(won, over)
		}
	}
	return won
}

func (c *crowd) hosts() (n int) {
	for _, won := range c.claims() {
		n += len(won.Hosts)
	}
	return n
}

// late counts the writes that others were before.
func (c *crowd) late() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, over := range c.over {
		n += over.Late
	}
	return n
}

func (c *crowd) lost() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, over := range c.over {
		n += over.Lost
	}
	return n
}
