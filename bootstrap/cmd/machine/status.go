package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/backup"
	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/pki"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

func statusCommand(l layout.Layout) *cobra.Command {
	var wait, network bool
	timeout := 5 * time.Minute
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print the state of each component and of backups, and the fingerprint of the depot's CA; fail if a component is not ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if network {
				printFlows(cmd.OutOrStdout(), l.Net())
				return host.CheckFirewall(cmd.Context(), l.Net())
			}
			client := supervisor.NewClient(paths(l))
			if wait {
				ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
				defer cancel()
				_ = client.AwaitReady(ctx) // the table below says what is not ready
			}
			pid, components, err := client.Status(cmd.Context())
			if err != nil {
				return fmt.Errorf("%w: start it with `machine start`", err)
			}
			w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "COMPONENT\tSTATE\tSINCE\tPID\tRESTARTS\tRSS\tLAST EXIT")
			fmt.Fprintf(w, "supervisor\tready\t\t%d\t\t%s\t\n", pid, memory(pid))
			down := 0
			for _, s := range components {
				if s.Phase != supervisor.Ready {
					down++
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", s.Name, s.Phase, time.Since(s.Since).Round(time.Second), s.PID, s.Restarts, memory(s.PID), s.Exit)
			}
			w.Flush()
			if id, err := l.ID(); err == nil {
				fmt.Printf("\nMachine %s in %s, %s\n", id, l.Root, afterReboot(host.MachineUnit, l))
			}
			fmt.Printf("\nBackup: %s\n", backup.Status(l, time.Now()))
			printDepotCA(l)
			if down > 0 {
				return fmt.Errorf("%d components are not ready: see `machine logs NAME`", down)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "first wait until every component is ready")
	cmd.Flags().BoolVar(&network, "network", false, "print which traffic the firewall lets pass instead, and fail if it is not in place")
	cmd.Flags().DurationVar(&timeout, "timeout", timeout, "how long --wait waits")
	return cmd
}

// printDepotCA prints the fingerprint of the depot's CA certificate. Users compare it with their
// copy of the certificate.
func printDepotCA(l layout.Layout) {
	fingerprint, err := pki.Fingerprint(l.DepotCA())
	if err != nil {
		fingerprint = "unknown: " + err.Error()
	}
	fmt.Printf("\nSHA-256 fingerprint of the depot's CA certificate (%s):\n  %s\n", l.DepotCA(), fingerprint)
}

func memory(pid int) string {
	if kib := host.ResidentKiB(pid); kib > 0 {
		return fmt.Sprintf("%d MiB", kib/1024)
	}
	return "-"
}

func logsCommand(l layout.Layout) *cobra.Command {
	var follow bool
	lines := 100
	cmd := &cobra.Command{
		Use:   "logs NAME",
		Short: "Print the end of the log NAME: a component (`machine status` lists them), supervisor, or a command such as up",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := l.Log(args[0] + ".log")
			if strings.ContainsRune(args[0], '/') {
				return fmt.Errorf("%q is not the name of a log: `machine status` lists the components", args[0])
			}
			if _, err := os.Stat(path); err != nil {
				return fmt.Errorf("there is no log of %q (`machine status` lists the components): %w", args[0], err)
			}
			return tailFile(cmd.Context(), path, lines, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines as they are written, until interrupted")
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, "number of lines to print first")
	return cmd
}
