package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

type cancelOptions struct {
	waiting waitFlags
	dryRun  serverDryRun
}

func newCancel(s *session) *cobra.Command {
	o := cancelOptions{waiting: waitFlags{wait: true}}
	cmd := &cobra.Command{
		Use:   "cancel NAME",
		Short: "Cancel the active run of a Provisioning",
		Long: `Cancel the active run of a Provisioning, and wait until the run and its pods have ended.

The controller does not repeat a cancelled run by itself. The next run starts after
"kubectl bpa retry NAME" or after an edit of the spec, when all pods of the cancelled
run have ended. Hosts with a part of the cluster stay claimed.

A command that already runs on a host, such as kubeadm, may continue for a while. The
next run removes what it leaves.

During a deletion the active run removes the cluster from the hosts. If it is
cancelled, the deletion waits for "kubectl bpa retry NAME".

The command cancels every active PipelineRun with the label of the cluster, also one
that a user has copied. If you interrupt the command, the run continues to stop.

` + exitCodes(),
		Example: "  kubectl bpa cancel edge-1\n  kubectl bpa cancel edge-1 -n site-a --timeout=5m",
		Args:    oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.dryRun.on() && !cmd.Flags().Changed("wait") {
				o.waiting.wait = false
			}
			if err := cmp.Or(o.waiting.check(), o.dryRun.check(o.waiting.wait)); err != nil {
				return err
			}
			return s.cancel(cmd.Context(), args[0], o)
		},
	}
	o.waiting.add(cmd, "the run and its pods have ended", "5m")
	o.dryRun.add(cmd)
	completeArgs(cmd, s.clusterNames())
	return cmd
}

func (s *session) cancel(ctx context.Context, name string, o cancelOptions) error {
	ctx, stop := withTimeout(ctx, o.waiting.timeout)
	defer stop()
	site, p, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	now, err := site.readWork(ctx, site.selections(p.Name))
	if err != nil {
		return err
	}
	var stopping []string
	for _, run := range now.runs {
		if run.IsDone() {
			continue
		}
		if err := s.cancelRun(ctx, site, p, run, o.dryRun); err != nil {
			return err
		}
		stopping = append(stopping, run.Name)
	}
	if o.dryRun.on() && len(stopping) > 0 {
		return nil
	}
	if len(stopping) == 0 { // an earlier cancellation may not be complete
		for _, left := range now.unfinished(nil) {
			stopping = append(stopping, left.run)
		}
		slices.Sort(stopping)
		stopping = slices.Compact(stopping)
	}
	switch {
	case len(stopping) == 0:
		_, err = fmt.Fprintf(s.Out, "%s has no active run: nothing was cancelled.\n%s\n", p.Name, strings.Join(site.idle(p, s.now()), "\n"))
		return err
	case !o.waiting.wait:
		_, err = fmt.Fprintf(s.Out, "To wait until the run and its pods have ended:\n  %s\n", site.kubectl("bpa cancel "+p.Name, ""))
		return err
	}
	if err := s.followCancel(ctx, site, p.Name, stopping); err != nil {
		return stoppedCancel(ctx, err, site, p, o)
	}
	return s.concludeCancel(ctx, site, p, stopping)
}

// cancelRun asks Tekton to stop the run. If the run ends before that, Tekton refuses the change, which
// is no error.
func (s *session) cancelRun(ctx context.Context, site *site, p *v1alpha1.Provisioning, run *tekton.PipelineRun, d serverDryRun) error {
	if run.IsCancelled() {
		_, err := fmt.Fprintf(s.Out, "%s is already being cancelled.\n", describeRun(run, s.now()))
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"status":%q}}`, run.UID, tekton.PipelineRunSpecStatusCancelled)
	err := d.of(site).client.Patch(ctx, run.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	if err != nil {
		fresh := &tekton.PipelineRun{}
		again := site.client.Get(ctx, client.ObjectKeyFromObject(run), fresh)
		if apierrors.IsNotFound(again) || again == nil && (fresh.IsDone() || fresh.UID != run.UID) {
			return nil // concludeCancel reports how it ended
		}
		return fmt.Errorf("cancel PipelineRun %s: %w", run.Name, site.explain(err))
	}
	if d.on() {
		return s.unchanged(describeRun(run, s.now()) + " can be cancelled")
	}
	_, err = fmt.Fprintf(s.Out, "Cancelled %s.\n%s", describeRun(run, s.now()), resetNotice(p, run))
	return err
}

// stoppedCancel returns the error for a command that ended before the run.
func stoppedCancel(ctx context.Context, err error, site *site, p *v1alpha1.Provisioning, o cancelOptions) error {
	again := fmt.Sprintf("the run continues to stop. To wait for it:\n  %s", site.kubectl("bpa cancel "+p.Name, ""))
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return exitf(codeTimeout, "timeout of %v: %s\n%s", o.waiting.timeout, again, site.whyItLasts())
	case ctx.Err() != nil:
		return exitf(codeInterrupted, "interrupted; %s", again)
	}
	return err
}
