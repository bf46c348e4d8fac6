// Command lab gives BPA machines to work on where there are none: see lab --help.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:           "lab",
		Short:         "Compute nodes without hardware: artifacts for the depot, nodes as systemd containers, BareMetalHosts that describe them",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(artifactsCommand(), varsCommand(), upCommand(), downCommand(), addCommand(), removeCommand(), resetCommand(), sshCommand())
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}
