package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/config"
	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

// The commands in this file need no source, no Go, no packages and no network.

func startCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "start [COMPONENT]",
		Short: "Start the machine, or a stopped component and those that it needs, and wait until it is ready",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return control(cmd.Context(), l, (*supervisor.Client).StartComponent, args[0], true)
			}
			if err := requirePlan(l); err != nil {
				return err
			}
			return runSteps(cmd.Context(), l, "start", []step{startStep(l)})
		},
	}
}

func stopCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "stop [COMPONENT]",
		Short: "Stop all components, or one and those that need it; containers keep running (down stops them too)",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return control(cmd.Context(), l, (*supervisor.Client).StopComponent, args[0], false)
			}
			if _, err := l.ID(); err != nil {
				return err
			}
			return runSteps(cmd.Context(), l, "stop", []step{stopStep(l)})
		},
	}
}

func restartCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "restart [COMPONENT]",
		Short: "Restart the supervisor and all components, or one component; containers keep running",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return control(cmd.Context(), l, (*supervisor.Client).RestartComponent, args[0], true)
			}
			if err := requirePlan(l); err != nil {
				return err
			}
			return runSteps(cmd.Context(), l, "restart", []step{stopStep(l), startStep(l)})
		},
	}
}

func startStep(l layout.Layout) step {
	return step{title: "control plane and node", run: func(ctx context.Context, _ io.Writer) (string, error) { return start(ctx, l) }}
}

func stopStep(l layout.Layout) step {
	return step{title: "stop components", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", stopSupervisor(ctx, l) }}
}

// control changes one component of a running machine, and waits up to 3 minutes until it is ready, unless it was
// stopped.
func control(ctx context.Context, l layout.Layout, do func(*supervisor.Client, context.Context, string) error, name string, ready bool) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	client := supervisor.NewClient(paths(l))
	err := do(client, ctx, name)
	if errors.Is(err, supervisor.ErrNotRunning) {
		return fmt.Errorf("%w: start it with `machine start`", err)
	}
	if err == nil && ready {
		err = client.AwaitReady(ctx, name)
	}
	return err
}

func unitCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "unit",
		Short: "Print the systemd unit that `up` installs, with which the machine starts after a reboot",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), config.Unit(l))
			return err
		},
	}
}

// installUnit lets systemd start the machine after a reboot.
func installUnit(ctx context.Context, s host.Systemd, l layout.Layout) (string, error) {
	if !s.Runs() {
		return "no systemd runs here: after a reboot, run `machine start`", nil
	}
	if s.Exists() && !s.Has(config.UnitOf(l)) {
		return "", fmt.Errorf("%s is the unit of the machine in another state folder: only one machine can run here; stop and destroy the other one with its BPA_STATE first", s.File)
	}
	changed, err := s.Install(ctx, config.Unit(l))
	return remark(changed), err
}

// afterReboot says what happens after a reboot.
func afterReboot(s host.Systemd, l layout.Layout) string {
	if s.Has(config.UnitOf(l)) {
		return "starts after a reboot (" + s.Unit + ")"
	}
	return "does not start by itself after a reboot: run `machine start` then"
}
