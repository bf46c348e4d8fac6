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

// followSoftware shows the Softwares of p until each package is installed or has failed. After a request it does so
// until the run for it has ended, also if a node that does not answer still waits for its packages.
func (s *session) followSoftware(ctx context.Context, site *site, p *v1alpha1.Provisioning, all []v1alpha1.Software, o *softwareOptions) error {
	p, all, err := s.awaitSoftware(ctx, site, p, all, o)
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return exitf(codeTimeout, "timeout of %v: %s", o.waiting.timeout, softwareSummary(all))
	case ctx.Err() != nil:
		return exitf(codeInterrupted, "interrupted; the controller continues its work: %s", softwareSummary(all))
	case err != nil:
		return err
	}
	if err := s.showSoftware(site, all, o); err != nil {
		return err
	}
	if _, err := fmt.Fprint(s.Out, softwareRunText(p)); err != nil {
		return err
	}
	if r := p.Status.Software; o.asks() && r != nil && r.Failure != nil {
		return fmt.Errorf("run %s for the software of %s failed: %s", r.Run, p.Name, oneLine(r.Failure))
	}
	for i := range all {
		switch c := softwareReady(&all[i]); c.Status {
		case corev1.ConditionFalse:
			return fmt.Errorf("software %s of %s is not ready: %s: %s", all[i].Name, p.Name, clean(c.Reason), clean(c.Message))
		case corev1.ConditionUnknown:
			return exitf(codeNotYet, "the run has ended, and software %s of %s is not complete yet: %s", all[i].Name, p.Name, clean(c.Message))
		}
	}
	return nil
}

// awaitSoftware shows the Softwares until they are settled, and returns their last state.
func (s *session) awaitSoftware(ctx context.Context, site *site, p *v1alpha1.Provisioning, all []v1alpha1.Software, o *softwareOptions) (*v1alpha1.Provisioning, []v1alpha1.Software, error) {
	out, start, uid, asked := newDisplay(s.Out), s.now(), p.UID, p.Annotations[contract.AnnotationSoftware]
	defer out.close()
	tick := time.NewTicker(s.pace)
	defer tick.Stop()
	for {
		if len(all) == 0 {
			return p, all, fmt.Errorf("no Software in namespace %s is for %s", site.namespace, p.Name)
		}
		if o.asks() && softwareAnswered(p, all, asked) || !o.asks() && softwareSettled(p, all) {
			return p, all, nil
		}
		out.show(update{Elapsed: max(s.now().Sub(start), 0).Truncate(time.Second), Percent: -1, Text: presentSoftware(p, all)})
		select {
		case <-ctx.Done():
			return p, all, ctx.Err()
		case <-tick.C:
		}
		now, err := site.get(ctx, p.Name)
		if err != nil {
			return p, all, err
		}
		if now.UID != uid || now.DeletionTimestamp != nil {
			return p, all, fmt.Errorf("provisioning %s was deleted", p.Name)
		}
		next, err := site.softwareOf(ctx, now)
		if err != nil {
			return p, all, err
		}
		p, all = now, next
	}
}

// softwareSettled reports whether no run for the software is active or due: the controller has seen all
// Softwares, and has a verdict on each.
func softwareSettled(p *v1alpha1.Provisioning, all []v1alpha1.Software) bool {
	if softwareRuns(p) {
		return false
	}
	return !slices.ContainsFunc(all, func(w v1alpha1.Software) bool { return softwareReady(&w).Status == corev1.ConditionUnknown })
}

// softwareAnswered reports whether the run for a request has ended, and no other one follows now. A newer request
// of another user replaces this one.
func softwareAnswered(p *v1alpha1.Provisioning, all []v1alpha1.Software, asked string) bool {
	r := p.Status.Software
	if r == nil || softwareRuns(p) || r.Asked != asked && p.Annotations[contract.AnnotationSoftware] == asked {
		return false
	}
	return softwareSettled(p, all) || r.Failure != nil || r.Next == "" && !softwareWorks(all)
}

// softwareRuns reports whether a run for Softwares is active.
func softwareRuns(p *v1alpha1.Provisioning) bool {
	return running(p) && p.Status.Run.Operation == contract.OperationSoftware
}

// softwareWorks reports whether the controller has not seen a Software yet, or the end of the work on a package.
func softwareWorks(all []v1alpha1.Software) bool {
	works := func(p v1alpha1.SoftwarePackageStatus) bool {
		return p.State == string(contract.SoftwareInstalling) || p.State == string(contract.SoftwareRemoving)
	}
	return slices.ContainsFunc(all, func(w v1alpha1.Software) bool {
		return w.Status.ObservedGeneration != w.Generation || slices.ContainsFunc(w.Status.Nodes, func(n v1alpha1.SoftwareNodeStatus) bool {
			return slices.ContainsFunc(n.Packages, works)
		})
	})
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
