// Command machine turns a bare Debian-like machine into a one-node Kubernetes with Tekton and the project on it, and
// back again. It is a thin shell over the packages in internal/; it holds no logic that they could test.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := root(layout.FromEnv()).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "machine:", err)
		os.Exit(1)
	}
}

func root(l layout.Layout) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "machine",
		Short:         "The bootstrap machine: a one-node Kubernetes built from Go modules",
		Long:          "The bootstrap machine: a one-node Kubernetes built from Go modules.\nIts state is in $BPA_STATE (default " + layout.Default + ").",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(upCommand(l), deployCommand(l), downCommand(l), cleanCommand(l), restartCommand(l), statusCommand(l), logsCommand(l),
		buildCommand(l), loadCommand(l), generateCommand(), apiserverCommand(l), superviseCommand(l))
	return cmd
}
