package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/backup"
	"github.com/akraino-icn/bpa/bootstrap/internal/kubernetes"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

func machineCopies(l layout.Layout) (backup.Copies, error) {
	api, err := kubernetes.NewClient(l.Net().APIServer(), l.PKI())
	return backup.Copies{Layout: l, API: api, Depot: "http://" + layout.DepotLocal}, err
}

// copyBackups copies the Backups of clusters that the target lacks. A copy of the schedule ends before the next one.
func copyBackups(cmd *cobra.Command, l layout.Layout, s backup.Settings, scheduled bool) error {
	ctx := cmd.Context()
	if scheduled {
		limited, cancel := context.WithTimeout(ctx, max(s.Interval(), backupLimit))
		defer cancel()
		ctx = limited
	}
	copies, err := machineCopies(l)
	if err != nil {
		return err
	}
	to, err := s.Target(ctx, l)
	if err != nil {
		return err
	}
	done, err := copies.Store(ctx, to)
	fmt.Fprintf(cmd.OutOrStdout(), "Backups of clusters: %s\n", done)
	if err != nil {
		err = fmt.Errorf("copy the Backups of clusters: %w; the next copy continues", err)
	}
	if scheduled {
		err = errors.Join(err, backup.RecordCopies(l, err))
	}
	return err
}

func restoreBackupsCommand(l layout.Layout) *cobra.Command {
	var from addressFlags
	cmd := &cobra.Command{
		Use:   "restore-backups",
		Short: "Copy the Backups of clusters that the depot lacks back from where they were copied to",
		Long: "Copy the Backups of clusters that the depot lacks back from the configured target, or from that of --to, to which\n" +
			"`machine backup --with-backups` has copied them. The machine must run. Then `kubectl bpa restore` can use them.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, _, err := from.list(l)
			if err != nil {
				return err
			}
			copies, err := machineCopies(l)
			if err != nil {
				return err
			}
			done, err := copies.Return(cmd.Context(), t)
			fmt.Fprintf(cmd.OutOrStdout(), "Backups of clusters: %s\n", done)
			return err
		},
	}
	from.add(cmd, "target that has the copies, instead of the configured one: "+forms)
	return cmd
}
