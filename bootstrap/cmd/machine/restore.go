package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/bootstrap/internal/backup"
	"github.com/akraino-icn/bpa/bootstrap/internal/host"
	"github.com/akraino-icn/bpa/bootstrap/internal/kubernetes"
	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
	"github.com/akraino-icn/bpa/bootstrap/internal/restore"
	"github.com/akraino-icn/bpa/bootstrap/internal/supervisor"
)

func restoreCommand(l layout.Layout) *cobra.Command {
	var keyFile string
	var server accessFlags
	cmd := &cobra.Command{
		Use:   "restore FILE --identity KEYFILE",
		Short: "Make a backup the state of this machine, with all hosts detached and all Provisionings paused",
		Long: "Make a backup the state of this machine, or of an empty one. The machine must be down (`machine down`), and have its programs\n" +
			"(`machine build`). Before any controller starts, all hosts are detached from Metal3 and all Provisionings are paused: the\n" +
			"backup can be older than what runs on the servers. Then `machine start`, and `machine attach-hosts`.\n" +
			"FILE is a file, or an address that `machine backup list` prints.\n" +
			"The state that is replaced stays in before-restore in the state folder, until the next restore.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := backup.ReadKey(keyFile)
			if err != nil {
				return err
			}
			access, err := server.access()
			if err != nil {
				return err
			}
			var report restore.Report
			err = runSteps(cmd.Context(), l, "restore", []step{
				{title: "nothing runs", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", isDown(ctx, l) }},
				{title: "state of the backup", run: func(ctx context.Context, log io.Writer) (string, error) {
					report, err = restore.Restore{Layout: l, Paths: paths(l), File: args[0], Access: access, Keys: keys, PKI: identity(l), Log: log, Now: time.Now()}.Run(ctx)
					return "", err
				}},
				{title: "keys and configuration", run: func(ctx context.Context, _ io.Writer) (string, error) { return "", configure(ctx, l) }},
				syncStep(l),
			})
			if err == nil {
				printReport(cmd.OutOrStdout(), l, report, time.Now())
			}
			return err
		},
	}
	cmd.Flags().StringVar(&keyFile, "identity", "", "file with the private key of age that belongs to the backup (required)")
	_ = cmd.MarkFlagRequired("identity")
	server.add(cmd)
	return cmd
}

// isDown returns an error if anything of the machine runs. Containers outlive the supervisor, and their controllers would
// act on the restored objects with what they remember.
func isDown(ctx context.Context, l layout.Layout) error {
	left, err := host.Leftovers(ctx, l)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("something of a machine runs here (%s): run `machine down` first; nothing was changed", strings.Join(left, "; "))
	}
	return err
}

// finishRestore completes a restore that was interrupted, unless a supervisor runs: then there is none.
func finishRestore(l layout.Layout) error {
	if _, err := l.ID(); err != nil { // not a folder of ours: nothing may be changed in it
		return nil
	}
	if _, err := os.Stat(l.RestoreDir()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	release, err := supervisor.Hold(paths(l))
	if errors.Is(err, supervisor.ErrRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(restore.Finish(l), release())
}

func printReport(w io.Writer, l layout.Layout, r restore.Report, now time.Time) {
	m := r.Manifest
	fmt.Fprintf(w, "\nThe machine %s has the state of %s, %s ago. What it had before is in %s.\n",
		m.Machine, m.Time.Format(time.RFC3339), now.Sub(m.Time).Round(time.Minute), l.BeforeRestore())
	if r.Missing > 0 {
		fmt.Fprintf(w, "The depot lacks %d of the %d files that it had, such as %s. Copy them to %s, or import and upload them again.\n",
			r.Missing, r.Listed, strings.Join(r.First, ", "), l.DepotDir())
	}
	if len(r.Hosts) > 0 {
		fmt.Fprintf(w, "\nAll %d hosts are detached and paused: Metal3 and BPA change none of them until you attach it. In the backup they are:\n", len(r.Hosts))
		printHosts(w, r.Hosts)
	} else {
		fmt.Fprintln(w, "\nThe backup has no host.")
	}
	if len(r.Paused) > 0 {
		fmt.Fprintf(w, "\nThese Provisionings are paused: %s.\n", strings.Join(r.Paused, ", "))
	}
	if len(r.Deleting) > 0 {
		fmt.Fprintf(w, "\nThese Provisionings were being deleted, which goes on after the start, with a reset of their hosts over SSH: %s.\n", strings.Join(r.Deleting, ", "))
	}
	fmt.Fprintln(w, "\nNext:\n  machine start   or, on a new machine: machine up --no-backup")
	if len(r.Hosts) > 0 {
		fmt.Fprintln(w, "  machine attach-hosts   asks each server who it is, and attaches those that agree\n"+
			"  machine attach-hosts NAMESPACE/NAME ...   for the others, when you have compared them with what runs on them.\n"+
			"    A host that has got a cluster since the backup looks free above")
	}
	if len(r.Hosts) > 0 || len(r.Paused) > 0 {
		fmt.Fprintln(w, "  kubectl bpa resume NAME")
	}
	if r.Missing > 0 {
		fmt.Fprintln(w, "  machine restore-backups   brings the Backups of clusters back into the depot, if `machine backup --with-backups` has copied them")
	}
}

func printHosts(w io.Writer, hosts []restore.Host) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "HOST\tSTATE\tCONSUMER\tIMAGE\tONLINE\tNOTE")
	for _, h := range hosts {
		note := ""
		if h.Deleting {
			note = "is being deleted"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%t\t%s\n", h.ID(), cmp.Or(h.State, "-"), cmp.Or(h.Consumer, "-"), cmp.Or(h.Image, "-"), h.Online, note)
	}
	t.Flush()
}

func attachHostsCommand(l layout.Layout) *cobra.Command {
	var all, list bool
	cmd := &cobra.Command{
		Use:   "attach-hosts [NAMESPACE/NAME ... | --all | --list]",
		Short: "After a restore, ask each server who it is and attach the hosts that agree, or attach hosts by name",
		Long: "Without a name, ask the server of each host that a restore has detached over SSH who it is (`kubectl bpa hosts attach -A`), and\n" +
			"attach those that agree with the objects: Metal3 and BPA change them again. With --list, only list the hosts. With names or --all,\n" +
			"attach hosts without asking. Metal3 can switch off or erase a host that runs another cluster than the machine believes.",
		RunE: func(cmd *cobra.Command, names []string) error {
			if all && len(names) > 0 {
				return errors.New("name hosts, or use --all, not both")
			}
			if list && (all || len(names) > 0) {
				return errors.New("--list attaches nothing: leave out the names and --all")
			}
			if !list && !all && len(names) == 0 {
				return askServers(cmd, l)
			}
			api, err := kubernetes.NewClient(l.Net().APIServer(), l.PKI())
			if err != nil {
				return err
			}
			return attachHosts(cmd.Context(), cmd.OutOrStdout(), api, names, all)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "attach all hosts that a restore has detached, without asking")
	cmd.Flags().BoolVar(&list, "list", false, "list the hosts that a restore has detached, and attach none")
	return cmd
}

// askServers lets kubectl-bpa, which has the SSH client of the product, ask the servers and attach the hosts that agree.
// Its exit code 3 says that hosts wait, which its output explains.
func askServers(cmd *cobra.Command, l layout.Layout) error {
	program := l.Bin("kubectl-bpa")
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("no server was asked: %w: run `make build` in a checkout of the source, or use --list and attach hosts by name", err)
	}
	ask := exec.CommandContext(cmd.Context(), program, "hosts", "attach", "-A", "--kubeconfig="+l.Kubeconfig())
	ask.Stdout, ask.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	err := ask.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 3 {
		return nil
	}
	return err
}

func attachHosts(ctx context.Context, w io.Writer, api *kubernetes.Client, names []string, all bool) error {
	if all || len(names) > 0 {
		attached, err := restore.Attach(ctx, api, names)
		for _, name := range attached {
			fmt.Fprintln(w, name, "attached")
		}
		if err != nil {
			return err
		}
	}
	hosts, err := restore.Hosts(ctx, api)
	if err != nil {
		return err
	}
	var waiting []restore.Host
	for _, h := range hosts {
		if !h.Restored.IsZero() {
			waiting = append(waiting, h)
		}
	}
	if len(waiting) == 0 {
		fmt.Fprintln(w, "No host waits for being attached.")
	} else {
		fmt.Fprintf(w, "%d of %d hosts are detached by a restore:\n", len(waiting), len(hosts))
		printHosts(w, waiting)
	}
	paused, err := restore.Paused(ctx, api)
	if len(paused) > 0 {
		fmt.Fprintf(w, "Provisionings that the restore has paused: %s. Resume them with `kubectl bpa resume NAME -n NAMESPACE`.\n", strings.Join(paused, ", "))
	}
	return err
}
