package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/backup"
	"github.com/akraino-icn/bpa/bootstrap/internal/config"
	"github.com/akraino-icn/bpa/bootstrap/internal/kubernetes"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
	"github.com/akraino-icn/bpa/bootstrap/internal/target"
)

// backupLimit is the time for one backup, without the content of the depot.
const backupLimit = 30 * time.Minute

func machineEtcd(l layout.Layout) backup.Etcd {
	return backup.Etcd{URL: config.EtcdURL, PKI: l.PKI()}
}

func backupCommand(l layout.Layout) *cobra.Command {
	var to addressFlags
	var withDepot, withBackups, scheduled bool
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Back up the running machine: all objects, keys, tokens and settings, encrypted",
		Long: "Back up the running machine to the configured target: all objects of its Kubernetes, keys, tokens, settings and the list of\n" +
			"the depot's content, encrypted for the configured key. `machine restore` reads it.\n" +
			"A backup of this command is never removed; of the schedule, and of those before `machine up`, only the newest are kept.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := backup.ReadSettings(l)
			if err != nil {
				return err
			}
			if to.address != "" {
				if err := to.apply(&s); err != nil {
					return err
				}
				s.SameDisk = false
				if err := s.CheckDisk(l); errors.Is(err, backup.ErrSameDisk) { // the user has named the folder
					fmt.Fprintf(cmd.ErrOrStderr(), "WARNING: %v\n", err)
					s.SameDisk = true
				}
			}
			if withDepot && !target.IsFolder(s.To) {
				return fmt.Errorf("the content of the depot is copied to folders only, and %s is on a server: name a folder with --to", s.To)
			}
			kind := backup.Manual
			if scheduled {
				kind = backup.Scheduled
			}
			found, err := makeBackup(cmd.Context(), l, s, kind)
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), found.Path)
			}
			if err == nil && (withBackups || scheduled && s.Backups) {
				err = copyBackups(cmd, l, s, scheduled)
			}
			if err == nil && withDepot {
				err = copyDepot(cmd, l, s, found)
			}
			return err
		},
	}
	to.add(cmd, "target of this backup, instead of the configured one: "+forms)
	cmd.Flags().BoolVar(&withDepot, "with-depot", false, "then copy the content of the depot that the folder lacks; it is not encrypted")
	cmd.Flags().BoolVar(&withBackups, "with-backups", false, "then copy the Backups of clusters that the target lacks, which are encrypted")
	cmd.Flags().BoolVar(&scheduled, "scheduled", false, "this backup counts as one of the schedule")
	_ = cmd.Flags().MarkHidden("scheduled")
	cmd.AddCommand(backupConfigureCommand(l), backupKeyCommand(), backupListCommand(l))
	return cmd
}

func makeBackup(ctx context.Context, l layout.Layout, s backup.Settings, kind backup.Kind) (backup.Found, error) {
	ctx, cancel := context.WithTimeout(ctx, backupLimit)
	defer cancel()
	return backup.Make(ctx, l, s, machineEtcd(l), kind, time.Now())
}

func copyDepot(cmd *cobra.Command, l layout.Layout, s backup.Settings, found backup.Found) error {
	folder := filepath.Join(s.To, "bpa-depot-"+found.Machine)
	done, err := backup.CopyDepot(cmd.Context(), l, folder)
	fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", folder, done)
	if err != nil {
		err = fmt.Errorf("copy the content of the depot: %w; the next `machine backup --with-depot` continues", err)
	}
	return err
}

func backupConfigureCommand(l layout.Layout) *cobra.Command {
	s := backup.Settings{Every: "24h", Keep: 7}
	var to addressFlags
	cmd := &cobra.Command{
		Use:   "configure --recipient KEY --to TARGET",
		Short: "Say for which key, where and how often the machine is backed up",
		Long: "Say for which key, where and how often the machine is backed up. The supervisor follows within a minute.\n" +
			"Flags that are not given keep their values. `machine backup key` makes a key.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := l.ID(); err != nil {
				return err
			}
			have, err := backup.ReadSettings(l)
			if err != nil && !errors.Is(err, backup.ErrNotConfigured) {
				fmt.Fprintf(cmd.ErrOrStderr(), "the earlier settings are replaced: %v\n", err)
			}
			given := cmd.Flags().Changed
			if err == nil {
				s.Recipient = cmp.Or(s.Recipient, have.Recipient)
				s.To, s.Credentials, s.CA = have.To, have.Credentials, have.CA
				if !given("every") {
					s.Every = have.Every
				}
				if !given("keep") {
					s.Keep = have.Keep
				}
				if !given("with-backups") {
					s.Backups = have.Backups
				}
				if !given("same-disk") && !given("to") {
					s.SameDisk = have.SameDisk
				}
			}
			if err := to.apply(&s); err != nil {
				return err
			}
			if s.Recipient == "" || s.To == "" {
				return errors.New("name a public key with --recipient and a target with --to: `machine backup key FILE` makes a key")
			}
			if err := s.Write(cmd.Context(), l); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "a backup is made every %s to %s for %s; %d are kept\n", s.Every, s.To, s.Recipient, s.Keep)
			return err
		},
	}
	cmd.Flags().StringVar(&s.Recipient, "recipient", "", "public key of age, which begins with age1; its private key must not be on this machine")
	to.add(cmd, "target of the backups: "+forms)
	cmd.Flags().StringVar(&s.Every, "every", s.Every, "interval of the schedule")
	cmd.Flags().IntVar(&s.Keep, "keep", s.Keep, "how many backups of the schedule are kept, and as many of those before `machine up`")
	cmd.Flags().BoolVar(&s.Backups, "with-backups", false, "after each backup of the schedule, copy the Backups of clusters that the target lacks")
	cmd.Flags().BoolVar(&s.SameDisk, "same-disk", false, "permit a folder on the disk of the state folder")
	return cmd
}

func backupKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "key FILE",
		Short: "Make a key pair for backups: write the private key to FILE, print the public key",
		Long: "Make a key pair for backups: write the private key to FILE, print the public key.\n" +
			"Keep the private key elsewhere and not on this machine: without it, nobody can read a backup. age-keygen makes such keys too.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			public, err := backup.NewKey(args[0])
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), public)
			}
			return err
		},
	}
}

func backupListCommand(l layout.Layout) *cobra.Command {
	var to addressFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the backups of this machine in the configured target, the newest first",
		Long: "List the backups of this machine in the configured target, the newest first. With --to, list those of all machines in\n" +
			"another target; this works on an empty machine too.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, machine, err := to.list(l)
			if err != nil {
				return err
			}
			all, err := backup.List(cmd.Context(), from, machine)
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "TIME\tKIND\tFILE")
			for _, f := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\n", f.Time.Format(time.RFC3339), f.Kind, f.Path)
			}
			return w.Flush()
		},
	}
	to.add(cmd, "target whose backups are listed, instead of the configured one: "+forms)
	return cmd
}

// backupBeforeUp backs up a machine that is set up, before `up` changes it. Without settings, it does nothing.
func backupBeforeUp(ctx context.Context, l layout.Layout) (string, error) {
	s, err := backup.ReadSettings(l)
	if errors.Is(err, backup.ErrNotConfigured) {
		return "not configured (machine backup configure)", nil
	}
	if _, missing := os.Stat(l.Data("etcd")); errors.Is(missing, os.ErrNotExist) {
		return "nothing to back up yet", nil
	}
	if err == nil {
		err = etcdRuns(ctx, l)
	}
	var found backup.Found
	if err == nil {
		found, err = makeBackup(ctx, l, s, backup.BeforeUp)
	}
	if err != nil {
		return "", fmt.Errorf("%w; no component was changed. To go on without a backup, run `machine up --no-backup`", err)
	}
	return found.Path, nil
}

func etcdRuns(ctx context.Context, l layout.Layout) error {
	_, components, err := supervisor.NewClient(paths(l)).Status(ctx)
	for _, c := range components {
		if c.Name == "etcd" && c.Phase == supervisor.Ready {
			return nil
		}
	}
	return errors.Join(errors.New("etcd does not run, so it cannot be backed up: run `machine start` first"), err)
}

// publishLimit is how long the supervisor waits for the API server, which may hang.
const publishLimit = 5 * time.Second

// publishBackups says in the API server of the machine when the machine was backed up.
func publishBackups(ctx context.Context, l layout.Layout) error {
	api, err := kubernetes.NewClient(l.Net().APIServer(), l.PKI())
	if err != nil {
		return err
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(ctx, publishLimit)
	defer cancel()
	if err := backup.Publish(ctx, l, api); err != nil {
		return fmt.Errorf("publish the age of the last backup: %w", err)
	}
	return nil
}

// schedule makes backups when they are due. Each is made by a process of its own: a target on a network that does not
// answer must not hold up the supervisor.
type schedule struct{ running atomic.Bool }

// tick starts a backup if one is due and none runs, and does not wait for it. Its errors are in the record of backups,
// and in the log of the supervisor.
func (s *schedule) tick(ctx context.Context, l layout.Layout, now time.Time) error {
	settings, err := backup.ReadSettings(l)
	if errors.Is(err, backup.ErrNotConfigured) {
		return nil
	}
	if err != nil {
		return err
	}
	record, _ := backup.ReadRecord(l) // without one, a backup is due
	if !backup.Due(settings, record, now) || !s.running.CompareAndSwap(false, true) {
		return nil
	}
	cmd := exec.CommandContext(ctx, l.Bin("machine"), "backup", "--scheduled")
	cmd.Env = append(os.Environ(), "BPA_STATE="+l.Root, "NOTIFY_SOCKET=")
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		s.running.Store(false)
		return fmt.Errorf("start the backup: %w", err)
	}
	go func() {
		_ = cmd.Wait()
		s.running.Store(false)
	}()
	return nil
}
