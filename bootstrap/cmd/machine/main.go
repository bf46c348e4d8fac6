// Command machine turns a bare Debian-like machine into a one-node Kubernetes cluster with Tekton
// and this project, and removes that cluster again. It only combines the packages in internal/.
// Logic that can be tested belongs in those packages.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/site"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := site.Load(layout.FromEnv())
	if err == nil {
		err = root(l).ExecuteContext(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "machine:", err)
		os.Exit(1)
	}
}

func root(l layout.Layout) *cobra.Command {
	cmd := &cobra.Command{
		Use:           "machine",
		Short:         "Set up and manage the bootstrap machine, a one-node Kubernetes built from Go modules",
		Long:          "Set up and manage the bootstrap machine, a one-node Kubernetes built from Go modules.\nIts state is in $BPA_STATE (default " + layout.Default + ").",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.AddCommand(upCommand(l), checkSiteCommand(l), deployCommand(l), startCommand(l), stopCommand(l), restartCommand(l), statusCommand(l), downCommand(l), destroyCommand(l), cleanCommand(l), backupCommand(l), restoreCommand(l), restoreBackupsCommand(l), attachHostsCommand(l), unitCommand(l), logsCommand(l), envCommand(l), shellCommand(l),
		buildCommand(l), loadCommand(l), generateCommand(), apiserverCommand(l), superviseCommand(l))
	return cmd
}
