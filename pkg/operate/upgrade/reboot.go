package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// rebootLimit is the default time in which a patched machine must have booted again. The self-test of
// a large server takes many minutes.
const rebootLimit = 15 * time.Minute

// bootScript prints the ID of the present boot.
const bootScript = "cat /proc/sys/kernel/random/boot_id"

// errSameBoot reports that a machine answers, but has not booted again.
var errSameBoot = errors.New("it answers, but has not booted again")

// reboot lets a node boot again, and waits until it has done so: the ID of its boot is another one
// then. A lost connection alone is no proof.
func (u *upgrader) reboot(ctx context.Context, n contract.Node, before string) error {
	limit := cmp.Or(u.in.BootLimit, rebootLimit)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	started, requested, last := time.Now(), false, errSameBoot
	for pause := u.in.FirstPause(); ; pause = min(2*pause, session.LongestPause) {
		raw, err := u.script(limited, n, u.in.ProbeLimit, bootScript)
		if id := strings.TrimSpace(string(raw)); err == nil && id != "" && id != before {
			fmt.Fprintf(u.ports.Log, "  %s has booted again after %s\n", n.Name, time.Since(started).Round(time.Second))
			return nil
		}
		if err == nil && !requested {
			if err := u.checkReboot(ctx, n); err != nil {
				return err
			}
			var exit *ssh.ExitError
			_, lost := u.script(limited, n, u.in.ProbeLimit, "systemctl reboot")
			if errors.As(lost, &exit) {
				return &task.Error{Reason: contract.ReasonPlaybookFailed, Host: n.Name, Step: "reboot", Err: fmt.Errorf(
					"the packages of %s are patched, but systemctl reboot failed with exit status %d: %s. Reboot the machine, then run: %s",
					n.Name, exit.Status, session.LastLines(session.Redacted(exit.Stderr)), u.retry())}
			}
			requested = lost == nil // else the machine is going down, or the request was lost
		}
		if inTime(limited) {
			last = cmp.Or(err, errSameBoot)
		}
		if wait(limited, pause) {
			continue
		}
		if err := session.Stopped(ctx, "the patch"); err != nil {
			return err
		}
		failed := &task.Error{Reason: session.Reason(last), Host: n.Name, Step: "reboot", Err: fmt.Errorf(
			"the packages of %s are patched, but the machine has not booted again within %s: %w. Look at its console; the next attempt continues", n.Name, limit, last)}
		if errors.Is(last, errSameBoot) {
			failed.Reason = contract.ReasonTaskTimedOut
		}
		return failed
	}
}

// checkReboot checks that etcd has a majority while a control plane node boots: another member may have
// failed since the drain began. The next attempt finds that the node must boot again.
func (u *upgrader) checkReboot(ctx context.Context, n contract.Node) error {
	if session.RoleRank(n) != 0 {
		return nil
	}
	if err := u.spares(ctx, n); err != nil {
		if stop := session.Stopped(ctx, "the patch"); stop != nil {
			return stop
		}
		return &task.Error{Reason: contract.ReasonQuorumAtRisk, Host: n.Name, Step: "reboot", Err: fmt.Errorf(
			"the packages of control plane node %s are patched, but it was not rebooted: %w. The next attempt continues", n.Name, err)}
	}
	return nil
}

// inTime reports whether the context has not ended. The network reports a deadline as an error, and may
// do so a moment before the context does.
func inTime(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() == nil && (!limited || time.Now().Before(deadline))
}

// wait waits for a duration. It returns false if the context ends before.
func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
