package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

func newWatch(s *session) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "watch [NAME]",
		Short: "Follow a Provisioning until its cluster is ready or has failed permanently",
		Long: `Follow a Provisioning until its cluster is ready or has failed permanently.

The command also fails if a user must act before the Provisioning can continue,
such as after a change of the spec of an installed cluster (condition Stalled).

Each change is one line: the time of the run, percent, task and step, and the
number of ready nodes. On a terminal the last line is a progress bar. Without NAME
the command follows the only Provisioning of the namespace.

` + exitCodes(),
		Example: "  kubectl bpa watch edge-1\n  kubectl bpa watch edge-1 -n site-a --timeout=45m",
		Args:    oneName(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkTimeout(timeout, "", true); err != nil {
				return err
			}
			return s.watch(cmd.Context(), first(args), timeout)
		},
	}
	completeArgs(cmd, s.clusterNames())
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "stop after this time, such as 45m; 0: no limit")
	return cmd
}

// exitCodes returns the part of longHelp that lists the exit codes.
func exitCodes() string {
	_, codes, _ := strings.Cut(longHelp, "Exit codes:")
	return "Exit codes:" + codes
}

var errTimeout = errors.New("timeout")

// checkTimeout returns a usage error if the time of --timeout is negative, or if it has no effect
// because the command does not wait. flag is the flag that makes it wait; empty: it waits anyway.
func checkTimeout(timeout time.Duration, flag string, waits bool) error {
	switch {
	case timeout < 0:
		return usageError(fmt.Errorf("--timeout is %v: give a positive time, or 0 for no limit", timeout))
	case timeout > 0 && !waits:
		return usageError(fmt.Errorf("--timeout needs %s", flag))
	}
	return nil
}

// withTimeout returns a context that ends after the time of --timeout; 0: no limit.
func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, timeout, errTimeout)
}

func (s *session) watch(ctx context.Context, name string, timeout time.Duration) error {
	ctx, cancel := withTimeout(ctx, timeout)
	defer cancel()
	site, p, err := s.cluster(ctx, name)
	if err != nil {
		return stopped(ctx, err, nil, timeout)
	}
	return s.watchUntil(ctx, site, p, timeout, decided)
}

// decided reports whether a verdict is known.
func decided(p *v1alpha1.Provisioning) bool { return verdictOf(p) != underway }

// watchUntil follows the Provisioning until end returns true, and then reports the verdict. ctx has
// the timeout already.
func (s *session) watchUntil(ctx context.Context, site *site, p *v1alpha1.Provisioning, timeout time.Duration, end func(*v1alpha1.Provisioning) bool) error {
	last, err := s.follow(ctx, site, p, end)
	if err != nil {
		return stopped(ctx, err, last, timeout)
	}
	return s.conclude(site, last)
}

// follow shows the Provisioning until end returns true, and returns its last state.
func (s *session) follow(ctx context.Context, site *site, p *v1alpha1.Provisioning, end func(*v1alpha1.Provisioning) bool) (*v1alpha1.Provisioning, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out, progress := newDisplay(s.Out), newReporter()
	defer out.close()
	states, err := site.observe(ctx, p.Name)
	if err != nil {
		return p, err
	}
	// The display shows the elapsed time, so it is updated even if nothing changes.
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	uid := p.UID
	for {
		out.show(progress.next(p, s.now()))
		if end(p) {
			return p, nil
		}
		select {
		case <-ctx.Done():
			return p, ctx.Err()
		case <-tick.C:
		case state := <-states:
			switch {
			case state.err != nil:
				return p, site.explain(state.err)
			case state.provisioning == nil || state.provisioning.UID != uid:
				return p, fmt.Errorf("provisioning %s was deleted", p.Name)
			}
			p = state.provisioning
		}
	}
}

// stopped returns the error for a watch that ended before a verdict. p may be nil.
func stopped(ctx context.Context, err error, p *v1alpha1.Provisioning, timeout time.Duration) error {
	now := "the Provisioning was not read"
	if p != nil {
		_, now = present(p)
		now = fmt.Sprintf("%s is neither ready nor failed; last seen: %s", p.Name, now)
	}
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return exitf(codeTimeout, "timeout of %v: %s", timeout, now)
	case ctx.Err() != nil:
		return exitf(codeInterrupted, "interrupted; the controller continues its work: %s", now)
	}
	return err
}

// conclude writes the result to stdout if the cluster is ready, and otherwise
// returns it as an error.
func (s *session) conclude(site *site, p *v1alpha1.Provisioning) error {
	advice := strings.Join(site.advice(p), "\n")
	switch {
	case verdictOf(p) == failed && stalled(p) != nil:
		return fmt.Errorf("%s is stalled\n%s", p.Name, advice)
	case verdictOf(p) == failed:
		return fmt.Errorf("%s failed permanently\n%s\n%s", p.Name, failureTable(p.Status.Failure), advice)
	}
	_, _ = fmt.Fprintf(s.Out, "%s is ready: %s\n%s\n", p.Name, s.summary(p), advice)
	return nil
}

func (s *session) summary(p *v1alpha1.Provisioning) string {
	_, n := countNodes(p)
	text := fmt.Sprintf("%d nodes", n)
	if n == 1 {
		text = "1 node"
	}
	if took := elapsed(p, s.now()); took != noRun {
		text += ", installed in " + clock(took)
	}
	if p.Status.APIEndpoint != "" {
		text += ", " + p.Status.APIEndpoint
	}
	return text
}

// failureTable returns a failure with one field per line. It leaves out empty fields.
func failureTable(f *v1alpha1.FailureStatus) string {
	var rows []string
	for _, row := range [][2]string{
		{"reason", f.Reason}, {"task", f.Task}, {"node", f.Host}, {"step", f.Step}, {"message", f.Message},
	} {
		if value := clean(row[1]); value != "" {
			rows = append(rows, fmt.Sprintf("  %-8s %s", row[0], value))
		}
	}
	return strings.Join(rows, "\n")
}
