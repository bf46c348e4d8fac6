//go:build e2e

package boot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// guest is the system in the folder root. Its systemd runs in a sandbox while it is on.
type guest struct {
	root   string
	cmd    *exec.Cmd
	output bytes.Buffer // of the script init
	init   int          // process id of the guest's process 1, as this machine sees it
}

// on boots the system. It sees the folders of this machine at the same paths.
func (g *guest) on(t *testing.T, folders ...string) {
	t.Helper()
	g.output.Reset()
	g.cmd = exec.Command("../e2e/sandbox", append([]string{"./init", g.root}, folders...)...)
	g.cmd.Stdout, g.cmd.Stderr = &g.output, &g.output
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, time.Minute, "systemd runs", func() bool {
		g.init = firstProcess(g.cmd.Process.Pid)
		if g.init == 0 {
			return false
		}
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", g.init))
		return string(name) == "systemd\n"
	})
	eventually(t, time.Minute, "systemd answers", func() bool {
		out, _ := g.try(t.Context(), "systemctl show -P SystemState")
		return out != "" && out != "initializing"
	})
}

// firstProcess returns the descendant of a process that is process 1 of its namespace, or 0.
func firstProcess(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if ids, found := strings.CutPrefix(line, "NSpid:"); found && len(strings.Fields(ids)) > 1 && strings.HasSuffix(ids, "\t1\n") {
			return pid
		}
	}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", pid))
	for _, field := range strings.Fields(string(children)) {
		var child int
		if _, err := fmt.Sscan(field, &child); err == nil {
			if found := firstProcess(child); found > 0 {
				return found
			}
		}
	}
	return 0
}

// try runs a script in the guest, and returns its standard output without the last newline. The error has its standard error.
func (g *guest) try(ctx context.Context, script string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "nsenter", "--target", fmt.Sprint(g.init), "--all", "--root", "--wd", "env", "-i", "HOME=/root", "KUBECONFIG=/var/lib/bpa/kubeconfig",
		"PATH=/var/lib/bpa/bin:/usr/sbin:/usr/bin:/sbin:/bin", "bash", "-euo", "pipefail", "-c", script)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

func (g *guest) run(t *testing.T, script string) string {
	t.Helper()
	out, err := g.try(t.Context(), script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

// reboot lets systemd stop everything as for a reboot, and returns when no process of the guest is left.
func (g *guest) reboot(t *testing.T) {
	t.Helper()
	began := time.Now()
	g.run(t, "systemctl reboot")
	ended := make(chan struct{})
	go func() { _ = g.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(5 * time.Minute):
		t.Fatal("systemd has not stopped everything after 5 minutes")
	}
	t.Logf("systemd stopped everything in %s", time.Since(began).Round(time.Second))
}

// kill ends all processes of the guest at once.
func (g *guest) kill() {
	if g.init > 0 {
		_ = syscall.Kill(g.init, syscall.SIGKILL)
		_ = g.cmd.Wait()
	}
	g.init = 0
}

func eventually(t *testing.T, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	end := time.After(limit)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("timeout after %s: waiting until %s", limit, what)
		}
	}
}
