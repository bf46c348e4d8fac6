package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// followSoftware shows the Softwares of p until each package is installed or has failed. before are the
// Softwares at the time of a request.
func (s *session) followSoftware(ctx context.Context, site *site, p *v1alpha1.Provisioning, before []v1alpha1.Software, o softwareOptions) error {
	last, err := s.awaitSoftware(ctx, site, p, before, o)
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return exitf(codeTimeout, "timeout of %v: %s", o.timeout, softwareSummary(last))
	case ctx.Err() != nil:
		return exitf(codeInterrupted, "interrupted; the controller continues its work: %s", softwareSummary(last))
	case err != nil:
		return err
	}
	if err := s.showSoftware(site, last, ""); err != nil {
		return err
	}
	for i := range last {
		if c := softwareReady(&last[i]); c.Status == corev1.ConditionFalse {
			return fmt.Errorf("software %s of %s is not ready: %s: %s", last[i].Name, p.Name, clean(c.Reason), clean(c.Message))
		}
	}
	return nil
}

// awaitSoftware shows the Softwares until they are settled, and returns their last state.
func (s *session) awaitSoftware(ctx context.Context, site *site, p *v1alpha1.Provisioning, before []v1alpha1.Software, o softwareOptions) ([]v1alpha1.Software, error) {
	out, start, all, uid := newDisplay(s.Out), s.now(), before, p.UID
	defer out.close()
	tick := time.NewTicker(s.pace)
	defer tick.Stop()
	for {
		if len(all) == 0 {
			return all, fmt.Errorf("no Software in namespace %s is for %s", site.namespace, p.Name)
		}
		if softwareSettled(p, all) && (!o.asks() || lookedSince(before, all)) {
			return all, nil
		}
		out.show(update{Elapsed: max(s.now().Sub(start), 0).Truncate(time.Second), Percent: -1, Text: presentSoftware(p, all)})
		select {
		case <-ctx.Done():
			return all, ctx.Err()
		case <-tick.C:
		}
		now, err := site.get(ctx, p.Name)
		if err != nil {
			return all, err
		}
		if now.UID != uid || now.DeletionTimestamp != nil {
			return all, fmt.Errorf("provisioning %s was deleted", p.Name)
		}
		next, err := site.softwareOf(ctx, now)
		if err != nil {
			return all, err
		}
		p, all = now, next
	}
}

// softwareSettled reports whether no run for the software is active or due: the controller has seen all
// Softwares, and has a verdict on each.
func softwareSettled(p *v1alpha1.Provisioning, all []v1alpha1.Software) bool {
	if running(p) && p.Status.Run.Operation == contract.OperationSoftware {
		return false
	}
	return !slices.ContainsFunc(all, func(w v1alpha1.Software) bool { return softwareReady(&w).Status == corev1.ConditionUnknown })
}

// lookedSince reports whether a run has read a node of each Software since before. A Software that had no
// nodes then, or that has none now, counts as read: no run has anything to read for it.
func lookedSince(before, now []v1alpha1.Software) bool {
	for _, w := range now {
		i := slices.IndexFunc(before, func(b v1alpha1.Software) bool { return b.UID == w.UID && b.Name == w.Name })
		if i < 0 || len(w.Status.Nodes) == 0 || len(before[i].Status.Nodes) == 0 {
			continue
		}
		if !slices.ContainsFunc(w.Status.Nodes, func(n v1alpha1.SoftwareNodeStatus) bool { return readAgain(before[i].Status.Nodes, n) }) {
			return false
		}
	}
	return true
}

// readAgain reports whether the time at which a node was read has changed.
func readAgain(before []v1alpha1.SoftwareNodeStatus, now v1alpha1.SoftwareNodeStatus) bool {
	i := slices.IndexFunc(before, func(n v1alpha1.SoftwareNodeStatus) bool { return n.Name == now.Name })
	return now.Checked != nil && (i < 0 || !now.Checked.Equal(before[i].Checked))
}

// presentSoftware describes what happens now.
func presentSoftware(p *v1alpha1.Provisioning, all []v1alpha1.Software) string {
	text := softwareSummary(all)
	switch {
	case running(p) && p.Status.Run.Operation == contract.OperationSoftware:
		_, step := present(p)
		return strings.TrimSuffix(p.Status.Run.Name+": "+step, ": ") + "; " + text
	case running(p):
		return "waiting for PipelineRun " + p.Status.Run.Name + "; " + text
	case p.Spec.Paused:
		return "paused; " + text
	case p.Status.Software != nil && p.Status.Software.Waiting != "":
		return clean(p.Status.Software.Waiting) + "; " + text
	}
	for i := range all {
		if c := softwareReady(&all[i]); c.Status == corev1.ConditionUnknown && c.Message != "" {
			return clean(c.Message) + "; " + text
		}
	}
	return "waiting for the controller; " + text
}
