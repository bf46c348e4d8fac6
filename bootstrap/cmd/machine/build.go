package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/build"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// buildSteps returns one step for each named target, or for every target if names is empty. The
// Makefile builds the machine command in bin/. If that is the running program, buildSteps omits the
// target of the machine command.
func buildSteps(l layout.Layout, source string, names ...string) []step {
	var steps []step
	for _, t := range build.Targets() {
		named := len(names) == 0 || slices.Contains(names, t.Name) || slices.Contains(names, t.Alias)
		if named && !(t.Name == build.Machine && runsFrom(l.Bin(build.Machine))) {
			steps = append(steps, buildStep(l, source, t))
		}
	}
	return steps
}

func runsFrom(path string) bool {
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(own, there)
}

func isTarget(name string) bool {
	return slices.ContainsFunc(build.Targets(), func(t build.Target) bool { return name != "" && (t.Name == name || t.Alias == name) })
}

func buildStep(l layout.Layout, source string, t build.Target) step {
	progress := &build.Progress{}
	return step{title: "build " + t.Name, progress: progress, run: func(ctx context.Context, log io.Writer) (string, error) {
		built, err := build.Builder{Source: source, Bin: l.BinDir(), Stamp: l.Stamp, Log: log, Progress: progress}.Ensure(ctx, t)
		return remark(built), err
	}}
}

func buildCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "build [NAME...]",
		Short: "Build all programs of the machine, or the named ones, into $BPA_STATE/bin",
		RunE: func(cmd *cobra.Command, names []string) error {
			source, err := source()
			if err != nil {
				return err
			}
			if unknown := slices.DeleteFunc(slices.Clone(names), isTarget); len(unknown) > 0 {
				return fmt.Errorf("no build target is named %v: run `machine build` without a name to build all targets and to see their names", unknown)
			}
			steps := buildSteps(l, source, names...)
			return runSteps(cmd.Context(), l, "build", steps)
		},
	}
}
