package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

type upgradeOptions struct {
	to, release string
	waiting     waitFlags
	dryRun      serverDryRun
}

func newUpgrade(s *session) *cobra.Command {
	var o upgradeOptions
	cmd := &cobra.Command{
		Use:   "upgrade NAME --to VERSION",
		Short: "Upgrade the Kubernetes of a cluster",
		Long: `Upgrade the Kubernetes of a cluster. The command sets spec.kubernetes.version of the
Provisioning, and with --release also spec.kubespray.release. BPA then upgrades the nodes:
control plane nodes one by one, then workers in batches of spec.upgrade.maxUnavailable,
each drained before, and checked after.

With --dry-run=server it shows the order of the nodes without the change. For newer OS
packages on the nodes, see "kubectl bpa patch".`,
		Example: "  kubectl bpa upgrade edge-1 --to 1.35.4 --dry-run=server\n  kubectl bpa upgrade edge-1 --to 1.35.4 --wait --timeout=4h",
		Args:    oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(o.waiting.check(), o.dryRun.check(o.waiting.wait)); err != nil {
				return err
			}
			if o.to == "" && o.release == "" {
				return usageError(errors.New("--to is missing: give the version of Kubernetes, such as --to 1.35.4"))
			}
			return s.upgrade(cmd.Context(), args[0], o)
		},
	}
	cmd.Flags().StringVar(&o.to, "to", "", "version of Kubernetes, such as 1.35.4")
	cmd.Flags().StringVar(&o.release, "release", "", "kubespray release, such as v2.31.0, of a site with several releases")
	o.waiting.add(cmd, "all nodes are upgraded or the upgrade has failed permanently", "4h")
	o.dryRun.add(cmd)
	completeArgs(cmd, s.clusterNames())
	return cmd
}

func (s *session) upgrade(ctx context.Context, name string, o upgradeOptions) error {
	ctx, cancel := withTimeout(ctx, o.waiting.timeout)
	defer cancel()
	site, p, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	if p.DeletionTimestamp != nil {
		return beingDeleted(p, "its nodes are not upgraded")
	}
	fields, what, spec := map[string]any{}, []string{}, *p.Spec.DeepCopy()
	set := func(object, field, title string, value *string, to string) {
		if to != "" && strings.TrimLeft(*value, "v") != strings.TrimLeft(to, "v") {
			fields[object] = map[string]string{field: to}
			what = append(what, fmt.Sprintf("%s: %s to %s", title, cmp.Or(*value, "the default"), to))
			*value = to
		}
	}
	set("kubernetes", "version", "Kubernetes", &spec.Kubernetes.Version, o.to)
	set("kubespray", "release", "kubespray release", &spec.Kubespray.Release, o.release)
	if len(what) == 0 {
		_, err := fmt.Fprintf(s.Out, "The spec of %s has this version already: nothing was changed.\n", p.Name)
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": p.UID}, "spec": fields})
	if err != nil {
		return err
	}
	return s.edit(ctx, site, p, client.RawPatch(types.MergePatchType, patch), spec, strings.Join(what, ", "), o.waiting, o.dryRun)
}

// edit changes the spec of p by the patch, which makes it spec, and then shows or follows what this leads to. what
// describes the change.
func (s *session) edit(ctx context.Context, site *site, p *v1alpha1.Provisioning, patch client.Patch, spec v1alpha1.ProvisioningSpec, what string, w waitFlags, d serverDryRun) error {
	edited := p.DeepCopy()
	edited.Spec = spec
	if err := d.of(site).client.Patch(ctx, edited, patch); err != nil {
		return fmt.Errorf("change the spec of %s (%s): %w", p.Name, what, site.explain(err))
	}
	if d.on() {
		return s.previewed(ctx, site, edited, p.Name+": "+what)
	}
	lines := []string{fmt.Sprintf("%s was changed: %s.", p.Name, what)}
	switch {
	case p.Spec.Paused:
		lines = append(lines, "No run starts while it is paused. Resume it:", "  "+site.kubectl("bpa resume "+p.Name, ""))
	case running(p):
		lines = append(lines, fmt.Sprintf("The change begins when PipelineRun %s has ended.", p.Status.Run.Name))
	}
	if !w.wait {
		lines = append(lines, "See what it does, and follow it:", "  "+site.kubectl("bpa plan "+p.Name, ""), "  "+site.kubectl("bpa watch "+p.Name, ""))
	}
	if _, err := fmt.Fprintln(s.Out, strings.Join(lines, "\n")); err != nil || !w.wait {
		return err
	}
	answered := s.answered(edited)
	return s.watchUntil(ctx, site, edited, w.timeout, func(now *v1alpha1.Provisioning) bool {
		return now.Status.ObservedGeneration >= edited.Generation && answered(now)
	})
}
