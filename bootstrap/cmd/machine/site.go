package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/site"
)

func checkSiteCommand(l layout.Layout) *cobra.Command {
	var print bool
	cmd := &cobra.Command{
		Use:   "check-site [FILE]",
		Short: "Check a file with the networks of a site (site.yaml) and compare it with this machine; --print shows it with all defaults",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			n := l.Net()
			if len(args) == 1 {
				var err error
				if _, n, err = readSite(l, args[0]); err != nil {
					return err
				}
			} else if !print {
				return errors.New("name a FILE to check, or use --print")
			}
			if print {
				fmt.Fprint(cmd.OutOrStdout(), site.Print(n))
				return nil
			}
			if err := host.CheckSite(cmd.Context(), n); err != nil {
				return fmt.Errorf("the file has no error, but does not fit this machine:\n%w", err)
			}
			fmt.Fprintln(cmd.OutOrStdout(), "The file has no error, and fits this machine. With it,")
			printFlows(cmd.OutOrStdout(), n)
			return nil
		},
	}
	cmd.Flags().BoolVar(&print, "print", false, "print the file, or without FILE that of this machine, with all defaults")
	return cmd
}

// readSite reads a file and checks that a machine that exists can get its network.
func readSite(l layout.Layout, path string) (text []byte, n layout.Network, err error) {
	if text, err = os.ReadFile(path); err != nil {
		return nil, n, err
	}
	if n, err = site.Parse(text); err != nil {
		return nil, n, fmt.Errorf("%s:\n%w", path, err)
	}
	if _, missing := os.Stat(paths(l).Plan); missing == nil {
		err = site.Fixed(l.Net(), n)
	}
	return text, n, err
}

// siteStep checks that the network fits this machine, and keeps the text of a new file. The machine on which a backup was restored
// can have other interfaces than the one before.
func siteStep(l layout.Layout, text []byte) step {
	return step{title: "networks of the site", run: func(ctx context.Context, _ io.Writer) (string, error) {
		if err := host.CheckSite(ctx, l.Net()); err != nil {
			return "", fmt.Errorf("%w\nWrite a file that fits (`machine check-site --print` shows the present one), and use `machine up --site FILE`", err)
		}
		if text == nil {
			return "", nil
		}
		return "", site.Store(l, text)
	}}
}

func printFlows(w io.Writer, n layout.Network) {
	for _, flow := range host.Flows(n) {
		fmt.Fprintln(w, "- "+flow)
	}
}
