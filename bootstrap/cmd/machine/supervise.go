package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

func paths(l layout.Layout) supervisor.Paths {
	return supervisor.Paths{Plan: l.Run("plan.json"), Socket: l.SupervisorSocket(), Lock: l.Run("supervisor.lock"), Logs: l.Log()}
}

func superviseCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:    "supervise",
		Short:  "Run the components in the foreground; `machine up` starts this command in the background",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return supervisor.Serve(cmd.Context(), paths(l))
		},
	}
}

// stopSupervisor asks the supervisor to stop, and waits up to 90 s. Then it kills the components
// that still run. There can be some if the supervisor did not end in time or had died before.
func stopSupervisor(ctx context.Context, l layout.Layout) error {
	if _, err := os.Stat(l.Run()); errors.Is(err, os.ErrNotExist) {
		return host.KillComponents(ctx, l)
	}
	stopCtx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	err := supervisor.NewClient(paths(l)).Stop(stopCtx)
	return errors.Join(err, host.KillComponents(ctx, l))
}

// start makes the supervisor run the current plan, and waits up to 3 minutes until every component
// is ready. A running supervisor reloads the plan; otherwise start launches one.
func start(ctx context.Context, l layout.Layout) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	client := supervisor.NewClient(paths(l))
	err := client.Reload(ctx)
	if errors.Is(err, supervisor.ErrNotRunning) {
		ctx, err = launchSupervisor(ctx, l)
	}
	if err != nil {
		return "", err
	}
	if err := client.AwaitReady(ctx); err != nil {
		return "", errors.Join(err, context.Cause(ctx), fmt.Errorf("see the logs in %s", l.Log()))
	}
	return outdatedRemark(ctx, client), nil
}

// launchSupervisor starts the supervisor in the background. It returns a context that ends when the
// supervisor ends, because waiting for readiness is then pointless.
func launchSupervisor(ctx context.Context, l layout.Layout) (context.Context, error) {
	if err := host.ClearStaleState(ctx, l); err != nil {
		return ctx, err
	}
	ended, err := detach(l)
	if err != nil {
		return ctx, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		err := <-ended
		cancel(fmt.Errorf("the supervisor exited (%v): see %s", err, l.Log("supervisor.log")))
	}()
	return ctx, nil
}

// outdatedRemark returns a remark if the supervisor runs an older program than the installed
// bin/machine, and "" otherwise. up does not restart the supervisor by itself, because that
// restarts every component.
func outdatedRemark(ctx context.Context, client *supervisor.Client) string {
	pid, _, err := client.Status(ctx)
	if err != nil {
		return ""
	}
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && strings.HasSuffix(exe, " (deleted)") {
		return "the supervisor runs an older program than bin/machine: run `machine restart` to update it"
	}
	return ""
}

func restartCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "restart",
		Short: "Restart the supervisor and all components; containers keep running",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runSteps(cmd.Context(), l, "restart", []step{
				{title: "stop components", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", stopSupervisor(ctx, l) }},
				{title: "control plane and node", run: func(ctx context.Context, _ io.Writer) (string, error) { return start(ctx, l) }},
			})
		},
	}
}

// detach starts the supervisor in its own session, so that it outlives this command and its
// terminal. If the supervisor exits while this command still runs, ended receives the result.
func detach(l layout.Layout) (ended <-chan error, err error) {
	if err := os.MkdirAll(filepath.Dir(l.Log("supervisor.log")), 0o755); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(l.Log("supervisor.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(l.Bin("machine"), "supervise")
	cmd.Env = append(os.Environ(), "BPA_STATE="+l.Root)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the supervisor: %w", err)
	}
	result := make(chan error, 1)
	go func() { result <- cmd.Wait() }()
	return result, nil
}
