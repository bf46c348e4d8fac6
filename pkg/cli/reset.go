package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

type resetOptions struct {
	hosts     []string // sorted
	sshSecret string
	sshUser   string
	sshPort   int
	release   string
	subnet    string
	force     bool
	yes       bool
	dryRun    serverDryRun
}

func newHostsReset(s *session) *cobra.Command {
	var o resetOptions
	cmd := &cobra.Command{
		Use:   "reset HOST...",
		Short: "Remove an old cluster from free hosts",
		Long: `Remove an old cluster from free hosts, so that they can be selected again.

After a cluster was installed on a host, only its Provisioning can use the host. The
deletion of the Provisioning normally resets the host. This command is for hosts that
were released without a reset: after spec.deletionPolicy Retain, or because a host
did not answer. For a Kubernetes that BPA did not install, add --force.

The command starts one run of the Pipeline bpa-reset and follows it. While the run
works, the hosts are in quarantine. After it, each host that is clean loses its mark.
If you interrupt the command, the run continues: the same command follows it again.`,
		Example: "  kubectl bpa hosts reset host-3 -n site-a\n  kubectl bpa hosts reset host-3 host-4 --ssh-user=ubuntu --yes",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError(fmt.Errorf("HOST is missing: name one or more BareMetalHosts; see %s --help", cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.hosts = slices.Compact(slices.Sorted(slices.Values(args)))
			if o.sshPort < 1 || o.sshPort > 65535 {
				return usageError(fmt.Errorf("--ssh-port is %d: give a port from 1 to 65535", o.sshPort))
			}
			if err := o.dryRun.check(false); err != nil {
				return err
			}
			return s.reset(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.sshSecret, "ssh-secret", v1alpha1.DefaultSSHSecret, "Secret of the namespace with the SSH key to the hosts")
	cmd.Flags().StringVar(&o.sshUser, "ssh-user", v1alpha1.DefaultSSHUser, "user for SSH")
	cmd.Flags().IntVar(&o.sshPort, "ssh-port", v1alpha1.DefaultSSHPort, "port of the SSH servers")
	cmd.Flags().StringVar(&o.release, "release", "", "kubespray release, such as v2.31.0, of a site with several releases")
	cmd.Flags().StringVar(&o.subnet, "subnet", "", "subnet of the addresses by which the hosts are reached, such as 10.60.0.0/24")
	cmd.Flags().BoolVar(&o.force, "force", false, "also reset hosts on which BPA has installed no cluster")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	o.dryRun.add(cmd)
	completeArgs(cmd, s.hostNames())
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		return beginning(s.hostNames()(cmd, args), begun), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// reset resets the hosts. If an earlier command has started a run for the same hosts and did not see
// its end, reset follows this run instead of starting another one.
func (s *session) reset(ctx context.Context, o resetOptions) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	found, err := site.lookForReset(ctx, o)
	if err != nil {
		return stoppedReset(ctx, err, site, o)
	}
	if o.dryRun.on() {
		return s.resetDryRun(ctx, site, o, found)
	}
	if found.run == nil && !o.yes {
		if err := s.confirm(ctx, found.targets.chosen); err != nil {
			return err
		}
		if found, err = site.lookAgain(ctx, o, found.targets); err != nil {
			return stoppedReset(ctx, err, site, o)
		}
	}
	run, targets := found.run, found.targets
	if run == nil {
		if run, err = site.startReset(ctx, o, resetName(o.hosts, found.next), targets); err != nil {
			return stoppedReset(ctx, err, site, o)
		}
	}
	_, _ = fmt.Fprintf(s.Out, "PipelineRun %s resets %s; its log:\n  %s\n",
		run.Name, strings.Join(o.hosts, ", "), site.resetLog(run.Name, "-f"))
	ended, err := s.followReset(ctx, site, o, run)
	if err != nil {
		return stoppedReset(ctx, err, site, o)
	}
	return s.concludeReset(ctx, site, o, ended, targets)
}

// resetDryRun shows what a reset would delete, after the API server has checked the run. The other writes of a start
// depend on the run, so they are not checked.
func (s *session) resetDryRun(ctx context.Context, site *site, o resetOptions, found foundReset) error {
	if found.run != nil {
		return s.unchanged(fmt.Sprintf("PipelineRun %s already resets %s", found.run.Name, strings.Join(o.hosts, ", ")))
	}
	run := o.makeResetRun(site.namespace, resetName(o.hosts, found.next))
	if _, err := site.objectsOf(o, run, found.targets); err != nil {
		return err
	}
	if err := site.checkSSHSecret(ctx, o.sshSecret); err != nil {
		return err
	}
	if err := o.dryRun.of(site).client.Create(ctx, run); err != nil {
		return site.explainCreate(err, run, o)
	}
	_, _ = fmt.Fprintln(s.ErrOut, losses(found.targets.chosen))
	return s.unchanged(fmt.Sprintf("PipelineRun %s can be created", run.Name))
}

// foundReset is the state of the cluster before a reset: the hosts, the run that already resets them
// or nil, and the number for a new run.
type foundReset struct {
	targets *resetTargets
	run     *tekton.PipelineRun
	next    int
}

func (s *site) lookForReset(ctx context.Context, o resetOptions) (foundReset, error) {
	targets, err := s.resettable(ctx, o)
	if err != nil {
		return foundReset{}, err
	}
	run, next, err := s.findReset(ctx, o.hosts, targets)
	return foundReset{targets, run, next}, err
}

// lookAgain repeats lookForReset after the confirmation, because the command may have waited for the
// answer for hours. It fails if one of the hosts is another machine by now, or carries another
// cluster: the user has not agreed to delete this one.
func (s *site) lookAgain(ctx context.Context, o resetOptions, confirmed *resetTargets) (foundReset, error) {
	found, err := s.lookForReset(ctx, o)
	if err != nil {
		return foundReset{}, err
	}
	for i, now := range found.targets.chosen { // both are in the order of o.hosts
		if then := confirmed.chosen[i]; now.UID != then.UID || now.UsedBy != then.UsedBy {
			return foundReset{}, fmt.Errorf("nothing was reset: while the command waited for the confirmation, host %s became another machine or got another cluster. To confirm again:\n  %s", now.Name, o.command(s, o.hosts))
		}
	}
	return found, nil
}

// stoppedReset returns the error for a command that ended before the run. After an interrupt, the
// error tells the user how to continue.
func stoppedReset(ctx context.Context, err error, site *site, o resetOptions) error {
	if ctx.Err() == nil {
		return err
	}
	return exitf(codeInterrupted, "interrupted; if the reset has started, it continues. To follow it, and to remove the marks of clean hosts:\n  %s", o.command(site, o.hosts))
}

// command returns the command line that resets hosts with the same options.
func (o resetOptions) command(site *site, names []string) string {
	text := "kubectl bpa hosts reset " + strings.Join(names, " ") + " -n " + site.namespace + site.flags
	for _, f := range []struct {
		flag, value, usual string
	}{
		{"ssh-secret", o.sshSecret, v1alpha1.DefaultSSHSecret}, {"ssh-user", o.sshUser, v1alpha1.DefaultSSHUser},
		{"ssh-port", strconv.Itoa(o.sshPort), strconv.Itoa(v1alpha1.DefaultSSHPort)}, {"release", o.release, ""}, {"subnet", o.subnet, ""},
	} {
		if f.value != f.usual {
			text += " --" + f.flag + "=" + f.value
		}
	}
	if o.force {
		text += " --force"
	}
	return text
}

// confirm asks the user whether to delete the data of the hosts.
func (s *session) confirm(ctx context.Context, chosen []hosts.Host) error {
	return s.agree(ctx, "a reset", losses(chosen))
}

// losses describes what a reset deletes.
func losses(chosen []hosts.Host) string {
	lines := []string{"This stops and removes Kubernetes, with its containers and its data, from:"}
	for _, h := range chosen {
		of := "a Kubernetes that BPA has not installed"
		if h.UsedBy.Name != "" {
			of = "cluster " + h.UsedBy.Cluster()
		}
		lines = append(lines, fmt.Sprintf("  %s  (%s)", h.Name, clean(of)))
	}
	return strings.Join(lines, "\n")
}

// agree shows what a command is about to do, and returns an error unless the user agrees.
func (s *session) agree(ctx context.Context, command, what string) error {
	if file, ok := s.In.(*os.File); ok && !term.IsTerminal(int(file.Fd())) {
		return usageError(fmt.Errorf("%s needs a confirmation, and stdin is not a terminal: add --yes", command))
	}
	_, _ = fmt.Fprintf(s.ErrOut, "%s\nType yes to continue: ", what)
	answer := make(chan string, 1)
	go func() { // a read from a terminal cannot be interrupted
		text, _ := bufio.NewReader(io.LimitReader(s.In, 100)).ReadString('\n')
		answer <- strings.TrimSpace(text)
	}()
	select {
	case <-ctx.Done():
		return exitf(codeInterrupted, "interrupted: nothing was changed")
	case text := <-answer:
		if text == "yes" {
			return nil
		}
	}
	return errors.New("not confirmed: nothing was changed")
}
