package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// variables returns the environment in which kubectl, kubectl bpa and this command use the machine, as NAME=VALUE.
func variables(l layout.Layout, path string) []string {
	return []string{
		"BPA_STATE=" + l.Root,
		"KUBECONFIG=" + l.Kubeconfig(),
		"PATH=" + l.BinDir() + string(os.PathListSeparator) + path,
	}
}

func envCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:     "env",
		Short:   "Print the variables with which a shell uses this machine",
		Example: `  eval "$(machine env)"`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, v := range variables(l, os.Getenv("PATH")) {
				name, value, _ := strings.Cut(v, "=")
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "export %s=%s\n", name, quoted(value)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// quoted returns a word for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func shellCommand(l layout.Layout) *cobra.Command {
	return &cobra.Command{
		Use:   "shell",
		Short: "Start a shell that uses this machine: kubectl, kubectl bpa and lab are in its PATH",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, v := range variables(l, os.Getenv("PATH")) {
				name, value, _ := strings.Cut(v, "=")
				if err := os.Setenv(name, value); err != nil {
					return err
				}
			}
			shell := cmp.Or(os.Getenv("SHELL"), "/bin/sh")
			return syscall.Exec(shell, []string{shell}, os.Environ())
		},
	}
}

// printNextSteps prints how a person uses the machine.
func printNextSteps(w io.Writer, l layout.Layout) {
	machine := l.Bin("machine")
	fmt.Fprintf(w, `
To use this machine in your shell:
  eval "$(%[1]s env)"        or: %[1]s shell
Then try:
  kubectl get bpa,bmh --all-namespaces
  kubectl bpa --help
  %[1]s status
`, machine)
}
