package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/akraino-icn/bpa/pkg/check"
	"github.com/akraino-icn/bpa/pkg/check/visit"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

const longHelp = `Follow and use the clusters that the Binary Provisioning Agent (BPA) installs on
a site's bare-metal hosts. One Provisioning object describes each cluster.

Exit codes:
    0  done; for watch: the cluster is ready
    1  failed; for watch: the cluster failed permanently, or was deleted
    2  the command line is wrong
    3  the requested result does not exist yet
  124  the time of --timeout is over
  130  interrupted`

// Run executes the command line and returns its exit code. It writes errors to
// the streams' ErrOut.
func Run(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	flags := genericclioptions.NewConfigFlags(true)
	root := newRoot(flags, &session{
		IOStreams: streams,
		now:       time.Now,
		pace:      resetPace,
		connect:   func() (*site, error) { return connect(flags, streams.ErrOut) },
		dial:      node.DialSSH,
		here:      visit.Here,
	})
	root.SetArgs(args)
	return finish(root.ExecuteContext(ctx), streams)
}

// finish writes the error and returns the exit code.
func finish(err error, streams genericiooptions.IOStreams) int {
	if err == nil {
		return codeDone
	}
	_, _ = fmt.Fprintf(streams.ErrOut, "error: %v\n", err)
	var coded *codedError
	if errors.As(err, &coded) {
		return coded.code
	}
	return codeFailed
}

// session holds the data that all commands share.
type session struct {
	genericiooptions.IOStreams
	now     func() time.Time
	pace    time.Duration // between two looks at a run
	connect func() (*site, error)
	dial    node.Dial
	here    func(ctx context.Context, in check.Input, limit time.Duration) check.Answer // asks this machine
}

func newRoot(flags *genericclioptions.ConfigFlags, s *session) *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-bpa",
		Short:         "Follow and use the clusters that BPA provisions",
		Long:          longHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl bpa"},
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Errorf("%w: see %s --help", err, cmd.CommandPath()))
	})
	flags.AddFlags(root.PersistentFlags())
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Look at clusters", []*cobra.Command{newStatus(s), newWatch(s), newHistory(s), newEvents(s), newLogs(s), newPlan(s), newDiff(s), newKubeconfig(s), newEnv(s), newSoftware(s)}},
		{"Change clusters", []*cobra.Command{newCreate(s), newScale(s), newUpgrade(s), newRetry(s), newCancel(s), newPause(s), newResume(s), newPatch(s), newAdopt(s)}},
		{"Backups", []*cobra.Command{newBackup(s), newBackups(s), newRestore(s)}},
		{"The site", []*cobra.Command{newCheck(s), newHosts(s), newPlugins(s), newBundle(s), newDepot(s)}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, cmd := range g.commands {
			cmd.GroupID = g.title
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(newOptions())
	root.SetUsageFunc(usage(root.UsageFunc()))
	root.CompletionOptions.DisableDefaultCmd = true // it explains a program that nobody types: kubectl completes plugins
	s.completeKubectl(root, flags)
	return root
}

// globalFlagsHint is in the help of each command, in the place of the flags of kubectl, which are the same in all commands.
const globalFlagsHint = "  kubectl's own, such as -n, --context and --as: kubectl bpa options"

// usage returns cobra's own function for the usage of a command, with globalFlagsHint. A template would do the same, but cobra
// would have it executed by text/template (see the doc of third_party/go/template).
func usage(own func(*cobra.Command) error) func(*cobra.Command) error {
	return func(cmd *cobra.Command) error {
		var text strings.Builder
		out := cmd.OutOrStderr()
		cmd.SetOut(&text)
		err := own(cmd)
		cmd.SetOut(out)
		if err != nil {
			return err
		}
		help := text.String()
		if flags := strings.TrimRight(cmd.InheritedFlags().FlagUsages(), " \n"); flags != "" {
			help = strings.Replace(help, flags, globalFlagsHint, 1)
		}
		_, err = fmt.Fprint(out, help)
		return err
	}
}

// newOptions lists the flags that all commands have, as kubectl options does.
func newOptions() *cobra.Command {
	return &cobra.Command{
		Use:   "options",
		Short: "List the flags that all commands have",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), "These flags of kubectl can be passed to each command:\n\n"+cmd.Root().PersistentFlags().FlagUsages())
			return err
		},
	}
}

// unknownCommand suggests the commands that were perhaps meant.
func unknownCommand(root *cobra.Command, name string) error {
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(name); len(near) > 0 {
		return usageError(fmt.Errorf("unknown command %q: did you mean %s? See kubectl bpa --help", name, strings.Join(near, " or ")))
	}
	return usageError(fmt.Errorf("unknown command %q: the commands are %s", name, commandNames(root)))
}

// commandNames lists the commands for a message.
func commandNames(root *cobra.Command) string {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return strings.Join(names, ", ")
}

// oneName accepts exactly one argument NAME. If required is false, it also accepts a command line
// without arguments.
func oneName(required bool) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 1 && strings.TrimSpace(args[0]) != "", len(args) == 0 && !required:
			return nil
		case len(args) > 1:
			return usageError(fmt.Errorf("expected one NAME, got %d: %s", len(args), strings.Join(args, " ")))
		}
		return usageError(fmt.Errorf("NAME is missing: give the name of a Provisioning; see %s --help", cmd.CommandPath()))
	}
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
