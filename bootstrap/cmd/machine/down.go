package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

func downCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop everything and remove the cluster; keep builds, depot and caches",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return down(cmd.Context(), l) },
	}
}

func cleanCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Do what down does, then remove the whole state folder",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := down(cmd.Context(), l); err != nil {
				return err
			}
			return os.RemoveAll(l.Root)
		},
	}
}

// down stops everything and removes the cluster. The order of the steps matters. The supervisor
// stops before everything else, because it would restart the components. The mounts are detached
// before the files are removed, because the removal would otherwise delete the content of the
// mounts.
func down(ctx context.Context, l layout.Layout) error {
	return runSteps(ctx, l, "down", []step{
		{title: "components", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", stopSupervisor(ctx, l) }},
		{title: "containers", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", host.KillContainers(ctx, l) }},
		{title: "bridge and firewall", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", host.RemoveNetwork(ctx) }},
		{title: "control groups", run: func(ctx context.Context, _ io.Writer) (string, error) {
			return "", host.RemoveControlGroups(ctx, l.Run("cgroup"))
		}},
		{title: "mounts and files", run: func(context.Context, io.Writer) (string, error) { return "", host.RemoveFiles(l) }},
		{title: "verify removal", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", verify(ctx, l) }},
	})
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

func verify(ctx context.Context, l layout.Layout) error {
	left, err := host.Leftovers(ctx, l)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("still on this machine: %s; run `machine down` again", strings.Join(left, "; "))
	}
	return err
}
