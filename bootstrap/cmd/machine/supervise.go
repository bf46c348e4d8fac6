package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
		Short:  "Run the components in the foreground (up starts this in the background)",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return supervisor.Serve(cmd.Context(), paths(l))
		},
	}
}

// start makes the supervisor run the plan, started anew or told to look again, and waits until everything is ready.
func start(ctx context.Context, l layout.Layout) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	client := supervisor.NewClient(paths(l))
	err := client.Reload(ctx)
	if errors.Is(err, supervisor.ErrNotRunning) {
		if err = host.Revive(ctx, l); err == nil {
			err = detach(l)
		}
	}
	if err != nil {
		return "", err
	}
	if err := client.AwaitReady(ctx); err != nil {
		return "", fmt.Errorf("%w; logs are in %s", err, l.Log())
	}
	return "", nil
}

// detach starts the supervisor in a session of its own, so that it outlives this command and its terminal.
func detach(l layout.Layout) error {
	if err := os.MkdirAll(filepath.Dir(l.Log("supervisor.log")), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(l.Log("supervisor.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(l.Bin("machine"), "supervise")
	cmd.Env = append(os.Environ(), "BPA_STATE="+l.Root)
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	return cmd.Process.Release()
}
