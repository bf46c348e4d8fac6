package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// describeRun names an active run: "PipelineRun edge-1-install-2 (install, attempt 2, running for 03:12)".
func describeRun(run *tekton.PipelineRun, now time.Time) string {
	facts := []string{run.Labels[contract.LabelOperation], "attempt " + run.Labels[contract.LabelAttempt], "not started yet"}
	if start := run.Status.StartTime; start != nil {
		facts[2] = "running for " + clock(max(now.Sub(start.Time), 0))
	}
	return fmt.Sprintf("PipelineRun %s (%s)", run.Name, clean(strings.Join(facts, ", ")))
}

func isReset(run *tekton.PipelineRun) bool {
	return run.Labels[contract.LabelOperation] == contract.OperationReset
}

// resetNotice explains, before the wait, what the cancellation of a reset means.
func resetNotice(p *v1alpha1.Provisioning, run *tekton.PipelineRun) string {
	if p.DeletionTimestamp == nil || !isReset(run) {
		return ""
	}
	return fmt.Sprintf("%s is being deleted, and this run removes the cluster from its hosts. It stops in the middle: parts of\nthe cluster are left on the hosts, which stay claimed.\n", p.Name)
}

// concludeCancel reports how the runs ended and how to continue.
func (s *session) concludeCancel(ctx context.Context, site *site, p *v1alpha1.Provisioning, names []string) error {
	var last *tekton.PipelineRun
	for _, name := range names {
		if name == "" { // a pod without Tekton's label
			continue
		}
		run := &tekton.PipelineRun{}
		err := site.client.Get(ctx, client.ObjectKey{Namespace: site.namespace, Name: name}, run)
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return site.explain(err)
		}
		last = run
	}
	fresh, err := site.get(ctx, p.Name)
	if err != nil { // its deletion may be complete
		return fmt.Errorf("the run has ended; then: %w", err)
	}
	_, err = fmt.Fprintln(s.Out, strings.Join(site.afterCancel(fresh, last), "\n"))
	return err
}

// afterCancel returns the next steps as lines. run is the cancelled run, as it ended; nil: it was
// deleted.
func (s *site) afterCancel(p *v1alpha1.Provisioning, run *tekton.PipelineRun) []string {
	retry := "  " + s.kubectl("bpa retry "+p.Name, "")
	switch {
	case run != nil && run.IsSuccessful():
		return []string{fmt.Sprintf("PipelineRun %s succeeded before it was cancelled. See the state:", run.Name), "  " + s.kubectl("bpa status "+p.Name, "")}
	case p.DeletionTimestamp != nil && p.Spec.DeletionPolicy == v1alpha1.DeletionRetain:
		return []string{"The deletion continues: the hosts are released as they are, because spec.deletionPolicy is Retain."}
	case p.DeletionTimestamp != nil && run != nil && isReset(run):
		return []string{
			"The deletion does not continue by itself: the hosts stay claimed until they are reset. Start the reset again:", retry,
			"Or release the hosts as they are, with the rest of the cluster on them. They cannot be selected until you",
			"reset them with \"kubectl bpa hosts reset\":",
			"  " + s.kubectl("patch bpa "+p.Name, `--type=merge -p '{"spec":{"deletionPolicy":"Retain"}}'`),
		}
	case p.DeletionTimestamp != nil:
		return []string{"The deletion continues: the controller now removes the cluster from the hosts and releases them."}
	}
	lines := []string{"The run and its pods have ended. A command that already ran on a host may continue for a while; the next run",
		"removes what it leaves. Hosts with a part of the cluster stay claimed."}
	switch {
	case p.Spec.Paused:
		return append(lines, "The Provisioning is paused, so no run starts. Start the next one:", retry, "  "+s.kubectl("bpa resume "+p.Name, ""),
			"If the spec was edited after the cancelled run had started, resume is enough.")
	case nextIsAsked(p, run):
		return append(lines, "The spec was edited, or a retry was requested, after the run had started: if that needs a run, the controller",
			"starts it now. Follow it:", "  "+s.kubectl("bpa watch "+p.Name, ""), "To stop that run too:",
			"  "+s.kubectl("bpa pause "+p.Name, ""), "  "+s.kubectl("bpa cancel "+p.Name, ""))
	}
	return append(lines, "The controller starts no other run by itself. Start the next one:", retry,
		"Or edit the spec; the next run then uses the new spec:", "  "+s.kubectl("edit provisioning "+p.Name, ""))
}

// nextIsAsked reports whether a user has asked for another run after this one was started: by an
// edit, which may or may not need a run, or by a retry.
func nextIsAsked(p *v1alpha1.Provisioning, run *tekton.PipelineRun) bool {
	if run == nil {
		return false
	}
	asked := p.Annotations[contract.AnnotationRetry]
	if asked != "" && asked != run.Annotations[contract.AnnotationRetry] {
		return true
	}
	generation, err := strconv.ParseInt(run.Annotations[runs.AnnotationGeneration], 10, 64) // absent if an older build of BPA started the run
	return err == nil && generation < p.Generation
}

// idle describes a Provisioning without an active run, and what happens next.
func (s *site) idle(p *v1alpha1.Provisioning, now time.Time) []string {
	f := p.Status.Failure
	switch {
	case p.DeletionTimestamp != nil:
		return []string{"It is being deleted. If its hosts contain a part of the cluster, the controller starts a reset."}
	case p.Spec.Paused:
		return []string{"It is paused, so no run starts."}
	case f != nil && f.NextAttempt != nil && f.NextAttempt.After(now):
		return []string{fmt.Sprintf("The controller starts the next attempt at %s. To prevent it:", timeOfDay(f.NextAttempt)), "  " + s.kubectl("bpa pause "+p.Name, "")}
	case verdictOf(p) == underway:
		return []string{"If the controller is about to start a run, a pause prevents it:", "  " + s.kubectl("bpa pause "+p.Name, "")}
	}
	return []string{"See its state:", "  " + s.kubectl("bpa status "+p.Name, "")}
}
