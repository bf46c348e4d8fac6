package kubespray

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A machine that Metal3 has just imaged boots while the task waits for it.
func TestWaitsForAMachineThatBoots(t *testing.T) {
	w := newFixture(t, 1)
	w.in.BootLimit = 20 * time.Second
	address := net.JoinHostPort(w.servers[1].Address, strconv.Itoa(w.servers[1].Port))
	w.servers[1].Stop()
	ports := w.ports()
	w.attempts(&ports, func(at string, attempt int32) error {
		if at == w.in.Nodes[1].Address && attempt == 3 { // now its SSH server starts
			listener, err := net.Listen("tcp", address)
			if err != nil {
				return err
			}
			sshtest.StartOn(t, listener, w.user.PublicKey(), w.shellOf(1), w.hostKey)
		}
		return nil
	})
	if _, err := Run(t.Context(), w.in, ports); err != nil {
		t.Fatalf("%v\n%s", err, &w.log)
	}
	if !strings.Contains(w.log.String(), "Waiting for 1 node to answer") {
		t.Errorf("the log does not report the wait:\n%s", &w.log)
	}
}

func TestDoesNotWait(t *testing.T) {
	stranger, strangerFile := sshtest.NewKey(t)
	for name, tc := range map[string]struct {
		spoil  func(w *fixture)
		reason contract.Reason
	}{
		"for a login that is rejected": {func(w *fixture) { w.in.PrivateKey = strangerFile }, contract.ReasonSSHDenied},
		"for another host key":         {func(w *fixture) { w.pin("uid-1", stranger.PublicKey()) }, contract.ReasonHostKeyChanged},
		"for a host that answered in an earlier run": {func(w *fixture) {
			w.record(`{"uid-1":"used"}`)
			w.servers[0].Stop()
		}, contract.ReasonHostUnreachable},
		"without a limit": {func(w *fixture) {
			w.in.BootLimit = 0
			w.servers[0].Stop()
		}, contract.ReasonHostUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, 0)
			w.in.BootLimit = 20 * time.Second
			tc.spoil(w)
			ports := w.ports()
			counts := w.attempts(&ports, func(string, int32) error { return nil })
			_, err := Run(t.Context(), w.in, ports)
			if n := counts[w.in.Nodes[0].Address].Load(); task.FailureOf(err).Reason != tc.reason || n != 1 {
				t.Errorf("%d attempts, %v; want one attempt and %s", n, err, tc.reason)
			}
		})
	}
}

// The wait ends at once if the task is cancelled, and at the limit.
func TestTheWaitEnds(t *testing.T) {
	w := newFixture(t, 0)
	w.servers[0].Stop()
	w.in.BootLimit = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	ports := w.ports()
	w.attempts(&ports, func(_ string, attempt int32) error {
		if attempt == 2 {
			cancel()
		}
		return nil
	})
	if _, err := Run(ctx, w.in, ports); err == nil || ctx.Err() == nil {
		t.Errorf("Run: %v", err)
	}
	w.in.BootLimit = 300 * time.Millisecond
	if _, err := w.run(); task.FailureOf(err).Reason != contract.ReasonHostUnreachable {
		t.Errorf("after the limit: %v", err)
	}
}
