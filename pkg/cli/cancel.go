package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

type cancelOptions struct {
	timeout time.Duration
	wait    bool
}

func newCancel(s *session) *cobra.Command {
	var o cancelOptions
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
			if err := checkTimeout(o.timeout, "", true); err != nil {
				return err
			}
			return s.cancel(cmd.Context(), args[0], o)
		},
	}
	cmd.Flags().BoolVar(&o.wait, "wait", true, "wait until the run and its pods have ended")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "stop waiting after this time, such as 5m; 0: no limit")
	return cmd
}

func (s *session) cancel(ctx context.Context, name string, o cancelOptions) error {
	ctx, stop := withTimeout(ctx, o.timeout)
	defer stop()
	site, err := s.connect()
	if err != nil {
		return err
	}
	p, err := site.get(ctx, name)
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
		if err := s.cancelRun(ctx, site, p, run); err != nil {
			return err
		}
		stopping = append(stopping, run.Name)
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
	case !o.wait:
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
func (s *session) cancelRun(ctx context.Context, site *site, p *v1alpha1.Provisioning, run *tekton.PipelineRun) error {
	if run.IsCancelled() {
		_, err := fmt.Fprintf(s.Out, "%s is already being cancelled.\n", describeRun(run, s.now()))
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"status":%q}}`, run.UID, tekton.PipelineRunSpecStatusCancelled)
	err := site.client.Patch(ctx, run.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	if err != nil {
		fresh := &tekton.PipelineRun{}
		again := site.client.Get(ctx, client.ObjectKeyFromObject(run), fresh)
		if apierrors.IsNotFound(again) || again == nil && (fresh.IsDone() || fresh.UID != run.UID) {
			return nil // concludeCancel reports how it ended
		}
		return fmt.Errorf("cancel PipelineRun %s: %w", run.Name, site.explain(err))
	}
	_, err = fmt.Fprintf(s.Out, "Cancelled %s.\n%s", describeRun(run, s.now()), resetNotice(p, run))
	return err
}

// stoppedCancel returns the error for a command that ended before the run.
func stoppedCancel(ctx context.Context, err error, site *site, p *v1alpha1.Provisioning, o cancelOptions) error {
	again := fmt.Sprintf("the run continues to stop. To wait for it:\n  %s", site.kubectl("bpa cancel "+p.Name, ""))
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return exitf(codeTimeout, "timeout of %v: %s\n%s", o.timeout, again, site.whyItLasts())
	case ctx.Err() != nil:
		return exitf(codeInterrupted, "interrupted; %s", again)
	}
	return err
}
