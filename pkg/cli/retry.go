package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

type retryOptions struct {
	waiting waitFlags
	dryRun  serverDryRun
}

func newRetry(s *session) *cobra.Command {
	var o retryOptions
	cmd := &cobra.Command{
		Use:   "retry NAME",
		Short: "Request another attempt after a failed or cancelled run",
		Long: `Request another attempt after a failed or cancelled run.

The command gives the annotation ` + contract.AnnotationRetry + ` of the Provisioning a new
value. The controller then starts the next attempt, as soon as all pods of the last
run have ended. It counts the attempts from 1 again, and also uses hosts again that
failed before.

If a run is active, nothing is changed. With --wait the command then follows the
Provisioning like "kubectl bpa watch".

` + exitCodes(),
		Example: "  kubectl bpa retry edge-1\n  kubectl bpa retry edge-1 -n site-a --wait --timeout=45m",
		Args:    oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(o.waiting.check(), o.dryRun.check(o.waiting.wait)); err != nil {
				return err
			}
			return s.retry(cmd.Context(), args[0], o)
		},
	}
	o.waiting.add(cmd, "the cluster is ready or has failed permanently", "45m")
	o.waiting.was(cmd, "watch", "w")
	o.dryRun.add(cmd)
	completeArgs(cmd, s.clusterNames())
	return cmd
}

func (s *session) retry(ctx context.Context, name string, o retryOptions) error {
	ctx, cancel := withTimeout(ctx, o.waiting.timeout)
	defer cancel()
	site, p, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	active, err := site.activeRun(ctx, p)
	if err != nil {
		return err
	}
	if active != nil && !active.IsCancelled() {
		_, _ = fmt.Fprintf(s.Out, "%s is active: nothing was changed. To stop it first:\n  %s\n", describeRun(active, s.now()), site.kubectl("bpa cancel "+p.Name, ""))
	} else {
		before := p.DeepCopy()
		if err := o.dryRun.of(site).ask(ctx, p, contract.AnnotationRetry, s.stamp(), "another attempt"); err != nil {
			return err
		}
		if o.dryRun.on() {
			return s.unchanged("Another attempt of " + p.Name + " can be requested")
		}
		_, _ = fmt.Fprintln(s.Out, strings.Join(site.afterRetry(before, active, s.now()), "\n"))
	}
	if !o.waiting.wait {
		_, err := fmt.Fprintf(s.Out, "Follow it:\n  %s\n", site.kubectl("bpa watch "+p.Name, ""))
		return err
	}
	return s.watchUntil(ctx, site, p, o.waiting.timeout, s.answered(p))
}

// activeRun returns the run that the status names, if it has not ended; otherwise nil. It reads the
// PipelineRun, because after a cancellation the status may not show the end of the run yet.
func (s *site) activeRun(ctx context.Context, p *v1alpha1.Provisioning) (*tekton.PipelineRun, error) {
	if !running(p) {
		return nil, nil
	}
	run := &tekton.PipelineRun{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: p.Status.Run.Name}, run)
	switch {
	case apierrors.IsNotFound(err) && !isKindMissing(err), err == nil && run.IsDone():
		return nil, nil
	case err != nil:
		return nil, s.explain(err)
	}
	return run, nil
}

// retryPace is the time in which the controller normally answers a retry.
const retryPace = 15 * time.Second

// answered returns a function that reports whether a state has the verdict on the retry of p.
// Without a failed run, the status does not say which retry it has seen. Therefore a verdict counts
// only after the status has changed, or if it does not change for some time.
func (s *session) answered(p *v1alpha1.Provisioning) func(*v1alpha1.Provisioning) bool {
	limit := s.now().Add(retryPace)
	return func(now *v1alpha1.Provisioning) bool {
		return verdictOf(now) != underway && (!equality.Semantic.DeepEqual(p.Status, now.Status) || !s.now().Before(limit))
	}
}

// afterRetry describes, as lines, what happens after a retry of p. stopping is the cancelled run
// that has not ended yet; nil: there is none.
func (s *site) afterRetry(p *v1alpha1.Provisioning, stopping *tekton.PipelineRun, now time.Time) []string {
	lines := []string{fmt.Sprintf("Another attempt of %s was requested.", p.Name)}
	f := p.Status.Failure
	if f != nil && stopping == nil {
		lines = append(lines, fmt.Sprintf("Last failure%s: %s", ofRun(p), oneLine(f)))
	}
	paused := p.Spec.Paused && p.DeletionTimestamp == nil
	switch {
	case paused:
		return append(lines, "No run starts while it is paused. Resume it:", "  "+s.kubectl("bpa resume "+p.Name, ""))
	case stopping != nil:
		return append(lines, fmt.Sprintf("The next attempt starts when PipelineRun %s, which was cancelled, and its pods have ended.", stopping.Name))
	case f != nil && f.NextAttempt != nil && f.NextAttempt.After(now):
		return append(lines, fmt.Sprintf("The controller would have tried again at %s. It tries again now.", timeOfDay(f.NextAttempt)))
	case f != nil && f.NextAttempt != nil:
		return append(lines, "The next attempt starts as soon as nothing is missing: "+clean(f.Hint))
	case f != nil && p.DeletionTimestamp != nil:
		return append(lines, "The controller resets the hosts again, and then releases them.")
	case f != nil:
		return append(lines, "The controller starts the next attempt now.")
	case running(p): // the status does not show the end yet
		return append(lines, fmt.Sprintf("PipelineRun %s has ended. The controller starts the next attempt now.", p.Status.Run.Name))
	case p.DeletionTimestamp != nil:
		return append(lines, "It is being deleted, and no reset has failed, so the retry changes nothing.")
	case verdictOf(p) == ready:
		if len(p.Status.Plugins) > 0 {
			return append(lines, "Its cluster is ready. A run applies its plugins again.")
		}
		return append(lines, "Its cluster is ready. A run starts only if a node or a standby host is missing.")
	case stalled(p) != nil:
		cond := stalled(p)
		return append(lines, fmt.Sprintf("It was stalled: %s: %s", clean(cond.Reason), clean(cond.Message)), "If another run can repair this, it starts now.")
	}
	_, text := present(p)
	return append(lines, "No run has failed. A run starts as soon as nothing is missing; now: "+text)
}

// ofRun names the run whose failure is in the status.
func ofRun(p *v1alpha1.Provisioning) string {
	run := p.Status.Run
	if run == nil {
		return ""
	}
	return fmt.Sprintf(" (PipelineRun %s, %s, attempt %d)", run.Name, run.Operation, run.Attempt)
}
