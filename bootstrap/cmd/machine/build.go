package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/build"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

func buildStep(l layout.Layout, source string, t build.Target) step {
	return step{"build " + t.Name, func(ctx context.Context, log io.Writer) (string, error) {
		built, err := build.Builder{Source: source, Bin: l.BinDir(), Stamp: l.Stamp, Log: log}.Ensure(ctx, t)
		return remark(built), err
	}}
}

func buildCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "build [NAME...]",
		Short: "Build the machine's programs into its bin/ folder, all or the named ones",
		RunE: func(cmd *cobra.Command, names []string) error {
			source, err := source()
			if err != nil {
				return err
			}
			var steps []step
			for _, t := range build.Targets() {
				if len(names) == 0 || slices.Contains(names, t.Name) {
					steps = append(steps, buildStep(l, source, t))
				}
			}
			if len(names) > 0 && len(steps) < len(names) {
				return fmt.Errorf("unknown name among %v; `machine build` without a name lists all", names)
			}
			return runSteps(cmd.Context(), l, "build", steps)
		},
	}
}
