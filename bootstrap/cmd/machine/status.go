package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/pki"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

func statusCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Print every component's state and the depot's fingerprint; fails when a component is not ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			pid, components, err := supervisor.NewClient(paths(l)).Status(cmd.Context())
			if err != nil {
				return fmt.Errorf("%w; `machine up` starts it", err)
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
			printAuthority(l)
			if down > 0 {
				return fmt.Errorf("%d components are not ready; see `machine logs NAME`", down)
			}
			return nil
		},
	}
}

// printAuthority shows what a copy of the depot's certificate is compared with.
func printAuthority(l layout.Layout) {
	fingerprint, err := pki.Fingerprint(l.DepotCA())
	if err != nil {
		fingerprint = "unknown: " + err.Error()
	}
	fmt.Printf("\nThe depot's authority (%s), SHA-256:\n  %s\n", l.DepotCA(), fingerprint)
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
		Short: "Print the end of a component's log (names: see status; also supervisor and up)",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := l.Log(args[0] + ".log")
			if strings.ContainsRune(args[0], '/') {
				return errors.New("a component's name has no slash")
			}
			if _, err := os.Stat(path); err != nil {
				return fmt.Errorf("no log of %q; `machine status` lists the components: %w", args[0], err)
			}
			return tailFile(cmd.Context(), path, lines, follow)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on printing what is added")
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, "number of lines to begin with")
	return cmd
}
