// Command lab creates machines for BPA without hardware. See lab --help.
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
		Short:         "Create compute nodes without hardware: artifacts for the depot, nodes as systemd containers, and their BareMetalHosts",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(artifactsCommand(), varsCommand(), upCommand(), downCommand(), addCommand(), removeCommand(), resetCommand(), sshCommand())
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}
