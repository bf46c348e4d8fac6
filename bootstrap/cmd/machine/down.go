package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

func downCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop everything and remove the cluster; builds, depot and caches stay",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runSteps(cmd.Context(), l, downSteps(l)) },
	}
}

func cleanCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "down, and remove the whole state folder",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := runSteps(cmd.Context(), l, downSteps(l)); err != nil {
				return err
			}
			return os.RemoveAll(l.Root)
		},
	}
}

func downSteps(l layout.Layout) []step {
	return []step{{"todo", func(context.Context, io.Writer) (string, error) { return "", nil }}}
}
