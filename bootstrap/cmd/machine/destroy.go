package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/cluster"
	"github.com/akraino-icn/bpa/bootstrap/internal/config"
	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

// removal is a command that deletes data of the machine for good.
type removal struct {
	name    string
	deletes []string // what it deletes beside clusters and Backups
	copies  string   // what becomes of the copies of Backups in the depot
	keeps   string
}

var (
	destroyRemoval = removal{
		name:    "destroy",
		deletes: []string{"every other object of the machine's Kubernetes: hosts, passwords of BMCs, SSH keys, kubeconfigs", "the keys and certificates of the machine, and its logs"},
		copies:  "their copies stay in the depot, but no key is left that opens them",
		keeps:   "programs, the content of the depot, caches",
	}
	cleanRemoval = removal{
		name: "clean", deletes: append(destroyRemoval.deletes, "the depot with all images, files and uploads", "programs and caches"),
		copies: "and their copies in the depot", keeps: "nothing",
	}
)

func destroyCommand(l layout.Layout) *cobra.Command {
	return destroyRemoval.command(l, "Stop everything and delete the cluster with all its objects; keep programs, depot and caches",
		func(cmd *cobra.Command) error {
			return runSteps(cmd.Context(), l, "destroy", destroySteps(l))
		})
}

func cleanCommand(l layout.Layout) *cobra.Command {
	return cleanRemoval.command(l, "Do what destroy does, then delete the whole state folder",
		func(cmd *cobra.Command) error {
			if err := runSteps(cmd.Context(), l, "clean", destroySteps(l)); err != nil {
				return err
			}
			return os.RemoveAll(l.Root)
		})
}

func destroySteps(l layout.Layout) []step {
	return append(downSteps(l),
		step{title: "unit of systemd", run: func(ctx context.Context, _ io.Writer) (string, error) {
			if !host.MachineUnit.Has(config.UnitOf(l)) {
				return "none", nil
			}
			return "", host.MachineUnit.Remove(ctx)
		}},
		step{title: "files", run: func(context.Context, io.Writer) (string, error) { return "", host.RemoveFiles(l) }},
		verifyStep(l))
}

// command returns the command of the removal. It always names what it deletes, and deletes only with the id of the
// machine.
func (r removal) command(l layout.Layout, short string, remove func(*cobra.Command) error) *cobra.Command {
	var yes string
	cmd := &cobra.Command{
		Use:   r.name + " [--yes ID]",
		Short: short,
		Long:  short + ".\nWithout --yes, it only names what it would delete.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			id, err := identify(l)
			if err != nil {
				return err
			}
			provisionings, backups, err := contents(cmd.Context(), l)
			r.describe(cmd.OutOrStdout(), l, id, provisionings, backups, err)
			if err := r.confirm(id, yes); err != nil {
				return err
			}
			return remove(cmd)
		},
	}
	cmd.Flags().StringVar(&yes, "yes", "", "id of the machine, as `machine "+r.name+"` prints it")
	return cmd
}

// contents returns the Provisionings and Backups of the machine. It asks no API server while the supervisor does not
// run, because the request would leave by the default route.
func contents(ctx context.Context, l layout.Layout) (provisionings, backups []string, err error) {
	if _, _, err := supervisor.NewClient(paths(l)).Status(ctx); err != nil {
		return nil, nil, err
	}
	return cluster.Cluster{Layout: l, Log: io.Discard}.Contents(ctx)
}

// identify returns the id of the machine. A machine of before there were ids gets one.
func identify(l layout.Layout) (string, error) {
	if _, err := l.ID(); err != nil {
		return "", err
	}
	if err := l.Claim(); err != nil {
		return "", err
	}
	return l.ID()
}

// confirm returns an error unless given is the id of the machine.
func (r removal) confirm(id, given string) error {
	if given == id && id != "" {
		return nil
	}
	reason := ""
	if given != "" {
		reason = fmt.Sprintf("the id of this machine is not %q; ", given)
	}
	return fmt.Errorf("%snothing was deleted. To delete all of this, run `machine %s --yes %s`", reason, r.name, id)
}

// describe prints what the removal deletes. unknown is the reason why clusters and Backups are not known, or nil.
func (r removal) describe(w io.Writer, l layout.Layout, id string, provisionings, backups []string, unknown error) {
	fmt.Fprintf(w, "`machine %s` deletes from the machine %s in %s, for good:\n", r.name, id, l.Root)
	if unknown != nil {
		fmt.Fprintf(w, "  all clusters and Backups. Which ones is not known: the machine does not answer (%v).\n"+
			"    To see them, run `machine start` first\n", unknown)
	} else {
		fmt.Fprintf(w, "  %d clusters%s\n", len(provisionings), named(provisionings))
		if len(provisionings) > 0 {
			fmt.Fprintln(w, "    They keep running on their hosts, but BPA can never change, repair or remove them again.")
		}
		fmt.Fprintf(w, "  %d Backups%s\n", len(backups), named(backups))
	}
	if unknown != nil || len(backups) > 0 {
		fmt.Fprintf(w, "    Of the Backups: %s.\n", r.copies)
	}
	for _, what := range r.deletes {
		fmt.Fprintf(w, "  %s\n", what)
	}
	fmt.Fprintf(w, "It keeps: %s.\n", r.keeps)
}

func named(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}
