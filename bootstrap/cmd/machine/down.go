package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

func downCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop everything, containers too, and keep all data; `start` starts it again",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := l.ID(); err != nil {
				if errors.Is(err, layout.ErrNoMachine) { // so CI may stop what it has not started
					fmt.Fprintf(cmd.OutOrStdout(), "%v: nothing to stop\n", err)
					return nil
				}
				return err
			}
			return runSteps(cmd.Context(), l, "down", append(downSteps(l), verifyStep(l)))
		},
	}
}

// downSteps stop everything and keep all data. The order matters. The supervisor stops before everything else, because
// it would restart the components. The mounts are detached after all processes that use them have ended.
func downSteps(l layout.Layout) []step {
	return []step{
		{title: "components", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", stopSupervisor(ctx, l) }},
		{title: "containers", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", host.KillContainers(ctx, l) }},
		{title: "bridge and firewall", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", host.RemoveNetwork(ctx) }},
		{title: "control groups", run: func(ctx context.Context, _ io.Writer) (string, error) {
			return "", host.RemoveControlGroups(ctx, l.Run("cgroup"))
		}},
		{title: "mounts and sockets", run: func(context.Context, io.Writer) (string, error) { return "", host.RemoveRuntimeState(l) }},
	}
}

func verifyStep(l layout.Layout) step {
	return step{title: "verify", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", verify(ctx, l) }}
}

func verify(ctx context.Context, l layout.Layout) error {
	left, err := host.Leftovers(ctx, l)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("still on this machine: %s; run `machine down` again", strings.Join(left, "; "))
	}
	return err
}
