package session_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh/sshtest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A machine that Metal3 has just imaged boots while the task waits for it.
func TestWaitsForAMachineThatBoots(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.In.BootLimit = 20 * time.Second
	address := net.JoinHostPort(w.Servers[1].Address, strconv.Itoa(w.Servers[1].Port))
	w.Servers[1].Stop()
	ports := w.Ports()
	w.Attempts(&ports, func(at string, attempt int32) error {
		if at == w.In.Nodes[1].Address && attempt == 3 { // now its SSH server starts
			listener, err := net.Listen("tcp", address)
			if err != nil {
				return err
			}
			sshtest.StartOn(t, listener, w.User.PublicKey(), w.ShellOf(1), w.HostKey)
		}
		return nil
	})
	if _, err := kubespray.Run(t.Context(), w.In, ports); err != nil {
		t.Fatalf("%v\n%s", err, &w.Log)
	}
	if !strings.Contains(w.Log.String(), "Waiting for 1 node to answer") {
		t.Errorf("the log does not report the wait:\n%s", &w.Log)
	}
}

func TestDoesNotWait(t *testing.T) {
	stranger, strangerFile := sshtest.NewKey(t)
	for name, tc := range map[string]struct {
		spoil  func(w *kubespraytest.Fixture)
		reason contract.Reason
	}{
		"for a login that is rejected": {func(w *kubespraytest.Fixture) { w.In.PrivateKey = strangerFile }, contract.ReasonSSHDenied},
		"for another host key":         {func(w *kubespraytest.Fixture) { w.Pin("uid-1", stranger.PublicKey()) }, contract.ReasonHostKeyChanged},
		"for a host that answered in an earlier run": {func(w *kubespraytest.Fixture) {
			w.Record(`{"uid-1":"used"}`)
			w.Servers[0].Stop()
		}, contract.ReasonHostUnreachable},
		"without a limit": {func(w *kubespraytest.Fixture) {
			w.In.BootLimit = 0
			w.Servers[0].Stop()
		}, contract.ReasonHostUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.New(t, 0)
			w.In.BootLimit = 20 * time.Second
			tc.spoil(w)
			ports := w.Ports()
			counts := w.Attempts(&ports, func(string, int32) error { return nil })
			_, err := kubespray.Run(t.Context(), w.In, ports)
			if n := counts[w.In.Nodes[0].Address].Load(); task.FailureOf(err).Reason != tc.reason || n != 1 {
				t.Errorf("%d attempts, %v; want one attempt and %s", n, err, tc.reason)
			}
		})
	}
}

// The wait ends at once if the task is cancelled, and at the limit.
func TestTheWaitEnds(t *testing.T) {
	w := kubespraytest.New(t, 0)
	w.Servers[0].Stop()
	w.In.BootLimit = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	ports := w.Ports()
	w.Attempts(&ports, func(_ string, attempt int32) error {
		if attempt == 2 {
			cancel()
		}
		return nil
	})
	if _, err := kubespray.Run(ctx, w.In, ports); err == nil || ctx.Err() == nil {
		t.Errorf("Run: %v", err)
	}
	w.In.BootLimit = 300 * time.Millisecond
	if _, err := w.Run(); task.FailureOf(err).Reason != contract.ReasonHostUnreachable {
		t.Errorf("after the limit: %v", err)
	}
}
