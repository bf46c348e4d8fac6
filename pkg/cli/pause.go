package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

func newPause(s *session) *cobra.Command {
	var d serverDryRun
	cmd := &cobra.Command{
		Use:   "pause NAME",
		Short: "Start no new run of a Provisioning until it is resumed",
		Long: `Start no new run of a Provisioning until it is resumed. The command sets spec.paused.

A pause does not stop an active run; "kubectl bpa cancel NAME" does. It does not stop
a deletion either. While the Provisioning is paused, the controller still reports the
state of its hosts. It applies edits of the spec after "kubectl bpa resume NAME".`,
		Example: "  kubectl bpa pause edge-1\n  kubectl bpa resume edge-1",
		Args:    oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := d.check(false); err != nil {
				return err
			}
			return s.pause(cmd.Context(), args[0], d)
		},
	}
	d.add(cmd)
	completeArgs(cmd, s.clusterNames())
	return cmd
}

func newResume(s *session) *cobra.Command {
	var d serverDryRun
	cmd := &cobra.Command{
		Use:     "resume NAME",
		Short:   "Let the controller start runs of a paused Provisioning again",
		Long:    `Let the controller start runs of a paused Provisioning again. The command sets spec.paused to false.`,
		Example: "  kubectl bpa resume edge-1",
		Args:    oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := d.check(false); err != nil {
				return err
			}
			return s.resume(cmd.Context(), args[0], d)
		},
	}
	d.add(cmd)
	completeArgs(cmd, s.clusterNames())
	return cmd
}

func (s *session) pause(ctx context.Context, name string, d serverDryRun) error {
	site, p, err := s.setPaused(ctx, name, true, d)
	if err != nil {
		return err
	}
	if d.on() {
		return s.unchanged(name + " can be paused")
	}
	lines := []string{p.Name + " is paused: the controller starts no new run."}
	if p.Spec.Paused {
		lines[0] = p.Name + " was paused already: the controller starts no new run."
	}
	active, err := site.activeRun(ctx, p)
	if err != nil {
		return err
	}
	lines = append(lines, site.notPaused(p, s.now())...)
	if active != nil && !active.IsCancelled() {
		lines = append(lines, describeRun(active, s.now())+" continues. To stop it:", "  "+site.kubectl("bpa cancel "+p.Name, ""))
	}
	lines = append(lines, "Resume it:", "  "+site.kubectl("bpa resume "+p.Name, ""))
	_, err = fmt.Fprintln(s.Out, strings.Join(lines, "\n"))
	return err
}

// notPaused describes what a pause changes, and what continues.
func (s *site) notPaused(p *v1alpha1.Provisioning, now time.Time) []string {
	f := p.Status.Failure
	switch {
	case p.DeletionTimestamp != nil:
		return []string{"It is being deleted: a pause stops neither the deletion nor the reset of its hosts."}
	case f != nil && f.NextAttempt != nil && f.NextAttempt.After(now):
		return []string{fmt.Sprintf("The attempt that was due at %s does not start.", timeOfDay(f.NextAttempt))}
	case verdictOf(p) == ready:
		return []string{"Its cluster keeps running. Edits are not applied, and lost hosts are not replaced."}
	}
	return nil
}

func (s *session) resume(ctx context.Context, name string, d serverDryRun) error {
	site, p, err := s.setPaused(ctx, name, false, d)
	if err != nil {
		return err
	}
	if d.on() {
		return s.unchanged(name + " can be resumed")
	}
	state := "is resumed"
	if !p.Spec.Paused {
		state = "was not paused"
	}
	p.Spec.Paused = false // the advice is about the status before the controller has seen the change
	lines := append([]string{fmt.Sprintf("%s %s.", p.Name, state)}, site.advice(p)...)
	if f := p.Status.Failure; f != nil && f.NextAttempt != nil && !f.NextAttempt.After(s.now()) && !running(p) && p.DeletionTimestamp == nil {
		lines = []string{lines[0], "The controller starts the next attempt as soon as nothing is missing. Follow it:", "  " + site.kubectl("bpa watch "+p.Name, "")}
	}
	_, err = fmt.Fprintln(s.Out, strings.Join(lines, "\n"))
	return err
}

// setPaused sets spec.paused, and returns the Provisioning as it was before.
func (s *session) setPaused(ctx context.Context, name string, paused bool, d serverDryRun) (*site, *v1alpha1.Provisioning, error) {
	site, p, err := s.cluster(ctx, name)
	if err != nil || p.Spec.Paused == paused {
		return site, p, err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"paused":%t}}`, p.UID, paused)
	if err := d.of(site).client.Patch(ctx, p.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
		return nil, nil, fmt.Errorf("set spec.paused of %s to %t: %w", p.Name, paused, site.explain(err))
	}
	return site, p, nil
}
