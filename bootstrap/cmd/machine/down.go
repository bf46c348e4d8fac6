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
		Short: "Stop everything and remove the cluster; builds, depot and caches stay",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return down(cmd.Context(), l) },
	}
}

func cleanCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "down, and remove the whole state folder",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := down(cmd.Context(), l); err != nil {
				return err
			}
			return os.RemoveAll(l.Root)
		},
	}
}

// down removes in the order of the needs: the supervisor first, or it would restart what is being stopped; mounts
// before files, or their content would be removed.
func down(ctx context.Context, l layout.Layout) error {
	return runSteps(ctx, l, "down", []step{
		{title: "components", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", stopSupervisor(ctx, l) }},
		{title: "containers", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", host.KillContainers(ctx, l) }},
		{title: "bridge and firewall", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", host.RemoveNetwork(ctx) }},
		{title: "control groups", run: func(ctx context.Context, _ io.Writer) (string, error) {
			return "", host.RemoveControlGroups(ctx, l.Run("cgroup"))
		}},
		{title: "mounts and files", run: func(context.Context, io.Writer) (string, error) { return "", host.RemoveFiles(l) }},
		{title: "nothing is left", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", verify(ctx, l) }},
	})
}

// stopSupervisor asks; a supervisor that does not end in time, or is dead, leaves children that are killed.
func stopSupervisor(ctx context.Context, l layout.Layout) error {
	if _, err := os.Stat(l.Run()); errors.Is(err, os.ErrNotExist) {
		return host.KillComponents(ctx, l)
	}
	asked, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	err := supervisor.NewClient(paths(l)).Stop(asked)
	return errors.Join(err, host.KillComponents(ctx, l))
}

func verify(ctx context.Context, l layout.Layout) error {
	left, err := host.Leftovers(ctx, l)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("still there: %s", strings.Join(left, "; "))
	}
	return err
}
