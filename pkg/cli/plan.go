package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

type planOptions struct {
	file   string
	output output
}

func newPlan(s *session) *cobra.Command {
	var o planOptions
	cmd := &cobra.Command{
		Use:   "plan NAME | -f FILE",
		Short: "Show what BPA would do to make a cluster the requested one",
		Long: `Show what BPA would do to make a cluster the requested one: the operations in their
order, the hosts of new nodes, the nodes that are drained and removed, the lost nodes that
are not replaced, and what is not applied. Nothing is changed.

With NAME, the command compares the stored spec with the installed cluster. With -f, it
compares the spec in the file, and the webhook checks it as if it were applied.

The hosts and the nodes that leave are those of the present moment. If no host is found
for a new node, the exit code is 3.`,
		Example: "  kubectl bpa plan edge-1\n  kubectl bpa plan -f edge-1.yaml",
		Args: func(cmd *cobra.Command, args []string) error {
			if o.file != "" && len(args) > 0 {
				return usageError(fmt.Errorf("NAME and --filename exclude each other: the file names the Provisioning"))
			}
			return oneName(o.file == "")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.output.check(); err != nil {
				return err
			}
			return s.plan(cmd.Context(), first(args), &o)
		},
	}
	cmd.Flags().StringVarP(&o.file, "filename", "f", "", "file with a Provisioning; -: stdin")
	o.output.add(cmd)
	completeArgs(cmd, s.clusterNames())
	return cmd
}

func (s *session) plan(ctx context.Context, name string, o *planOptions) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	var p *v1alpha1.Provisioning
	var note string
	if o.file == "" {
		p, err = site.get(ctx, name)
	} else if p, err = s.read(ctx, site, o.file); err == nil {
		var a applied
		a, err = site.asApplied(ctx, p)
		p, note = a.merged, a.note
	}
	if err != nil {
		return err
	}
	view, err := site.plan(ctx, p)
	if err != nil {
		return err
	}
	view.Note = cmp.Or(view.Note, note)
	if o.output.table() {
		_, err = fmt.Fprint(s.Out, view.page())
	} else {
		err = o.output.printReport(s.Out, reportPlan, view)
	}
	if err == nil && view.NoFit != "" {
		return exitf(codeNotYet, "there is no host for a new node of %s: %s", p.Name, clean(view.NoFit))
	}
	return err
}

// applied is a Provisioning as it would be after a file was applied.
type applied struct {
	stored *v1alpha1.Provisioning // as it is now; nil: it does not exist
	merged *v1alpha1.Provisioning // with the identity and the status of the stored object, and with the defaults of the webhook
	note   string                 // says that the API server could not check the edit; empty: it has accepted it
}

// asApplied asks the API server to apply p without storing it.
func (s *site) asApplied(ctx context.Context, p *v1alpha1.Provisioning) (applied, error) {
	stored := &v1alpha1.Provisioning{}
	err := s.client.Get(ctx, client.ObjectKeyFromObject(p), stored)
	if apierrors.IsNotFound(err) && !isKindMissing(err) {
		return applied{merged: p}, nil // read has validated it as the webhook does
	}
	if err != nil {
		return applied{}, s.explain(err)
	}
	a := applied{stored: stored, merged: stored.DeepCopy()}
	a.merged.Spec = p.Spec
	a.merged.Labels, a.merged.Annotations = merged(stored.Labels, p.Labels), merged(stored.Annotations, p.Annotations)
	answer := a.merged.DeepCopy()
	switch err := s.client.Update(ctx, answer, client.DryRunAll); {
	case apierrors.IsForbidden(err):
		a.note = "you have no right to edit this Provisioning, so the webhook was not asked whether it accepts the edit"
	case err != nil:
		return applied{}, fmt.Errorf("the edit would be refused: %w", s.explain(err))
	default:
		a.merged.Spec, a.merged.Labels, a.merged.Annotations = answer.Spec, answer.Labels, answer.Annotations
	}
	return a, nil
}

// merged returns the labels or annotations of an object after a file with the others was applied.
func merged(now, file map[string]string) map[string]string {
	if len(now)+len(file) == 0 {
		return nil
	}
	all := map[string]string{}
	maps.Copy(all, now)
	maps.Copy(all, file)
	return all
}
