package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

type patchOptions struct {
	waiting waitFlags
	dryRun  serverDryRun
}

func newPatch(s *session) *cobra.Command {
	var o patchOptions
	cmd := &cobra.Command{
		Use:   "patch NAME",
		Short: "Upgrade the OS packages of all nodes, and reboot those that need it",
		Long: `Upgrade the OS packages of all nodes, and reboot those that need it.

The command gives the annotation ` + contract.AnnotationPatch + ` of the Provisioning the
present time as its value. The controller then patches the nodes as it upgrades them:
control plane nodes one by one, then workers in batches of spec.upgrade.maxUnavailable,
each drained before, and checked after. A node that also waits for another Kubernetes
version is drained once for both.

The packages come from the depot and, on a connected site, also from the sources of the
nodes. Only nodes with apt can be patched. With --wait the command then follows the
Provisioning until all nodes are patched.

` + exitCodes(),
		Example: "  kubectl bpa patch edge-1\n  kubectl bpa patch edge-1 -n site-a --wait --timeout=2h",
		Args:    oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(o.waiting.check(), o.dryRun.check(o.waiting.wait)); err != nil {
				return err
			}
			return s.patch(cmd.Context(), args[0], o)
		},
	}
	o.waiting.add(cmd, "all nodes are patched or the patch has failed permanently", "2h")
	o.waiting.was(cmd, "follow", "f")
	o.dryRun.add(cmd)
	completeArgs(cmd, s.clusterNames())
	return cmd
}

func (s *session) patch(ctx context.Context, name string, o patchOptions) error {
	ctx, cancel := withTimeout(ctx, o.waiting.timeout)
	defer cancel()
	site, p, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case p.DeletionTimestamp != nil:
		return beingDeleted(p, "its nodes are not patched")
	case p.Status.InstalledDigest == "":
		return exitf(codeNotYet, "%s has no installed cluster whose nodes could be patched. Follow it:\n  %s", p.Name, site.kubectl("bpa watch "+p.Name, ""))
	}
	value := s.now().UTC().Format(time.RFC3339)
	before := p.DeepCopy()
	if err := o.dryRun.of(site).ask(ctx, p, contract.AnnotationPatch, value, "a patch"); err != nil {
		return err
	}
	if o.dryRun.on() {
		return s.previewed(ctx, site, p, "A patch of the operating systems of all nodes of "+p.Name+" can be requested")
	}
	_, _ = fmt.Fprintln(s.Out, strings.Join(site.afterPatch(before, value), "\n"))
	if !o.waiting.wait {
		_, err := fmt.Fprintf(s.Out, "Follow it:\n  %s\n", site.kubectl("bpa watch "+p.Name, ""))
		return err
	}
	answered := s.answered(p)
	return s.watchUntil(ctx, site, p, o.waiting.timeout, func(now *v1alpha1.Provisioning) bool {
		if verdictOf(now) == ready {
			return now.Status.Patched == value // before that, the controller has not seen the request yet
		}
		return answered(now)
	})
}

// afterPatch describes, as lines, what happens after the request for a patch of p.
func (s *site) afterPatch(p *v1alpha1.Provisioning, value string) []string {
	lines := []string{fmt.Sprintf("A patch of the operating systems of all nodes of %s was requested: %s.", p.Name, value)}
	switch cond := stalled(p); {
	case p.Spec.Paused:
		return append(lines, "No run starts while it is paused. Resume it:", "  "+s.kubectl("bpa resume "+p.Name, ""))
	case cond != nil:
		return append(lines, fmt.Sprintf("It is stalled, and the patch may have to wait: %s: %s", clean(cond.Reason), clean(cond.Message)))
	case running(p):
		lines = append(lines, fmt.Sprintf("The patch begins when PipelineRun %s has ended.", p.Status.Run.Name))
	}
	if u := p.Status.Upgrade; u != nil && !u.OnlyPatch {
		lines = append(lines, fmt.Sprintf("An upgrade to %s is under way: each node that still gets it is drained once for both.", u.To))
	}
	if p.Spec.Upgrade.PauseAfterControlPlane {
		lines = append(lines, "It waits after the control plane nodes, because spec.upgrade.pauseAfterControlPlane is set.")
	}
	return append(lines, "See the order of the nodes:", "  "+s.kubectl("bpa plan "+p.Name, ""))
}
