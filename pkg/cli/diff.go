package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

type diffOptions struct {
	file   string
	output output
}

// diffView is the output of "kubectl bpa diff".
type diffView struct {
	Provisioning string `json:"provisioning"`
	Exists       bool   `json:"exists"`
	// Diff is a unified diff of the stored and the applied object, as YAML; empty: they are equal.
	Diff string `json:"diff,omitempty"`
	// Plan is what BPA would do after the file was applied.
	Plan *planView `json:"plan"`
}

func newDiff(s *session) *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff -f FILE",
		Short: "Show what a file would change in a Provisioning, and what BPA would then do",
		Long: `Show what a file would change in a Provisioning, and what BPA would then do. The API server
and the webhook check the file and set the defaults, but nothing is stored. Then follows the
plan of kubectl bpa plan.

The whole spec of the file counts: what the file leaves out gets its default. Labels and
annotations that the file leaves out stay.

The exit code is 0 if there is nothing to apply, and 3 if the file differs from what is
there.`,
		Example: "  kubectl bpa diff -f edge-1.yaml\n  kubectl bpa diff -f - -o jsonpath='{.plan.operations[*].operation}' < edge-1.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError(fmt.Errorf("unexpected %s: --filename names the file, and the file names the Provisioning", strings.Join(args, " ")))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.file == "" {
				return usageError(errors.New("--filename is missing: give a file with a Provisioning, or - for stdin"))
			}
			if err := o.output.check(); err != nil {
				return err
			}
			return s.diff(cmd.Context(), &o)
		},
	}
	cmd.Flags().StringVarP(&o.file, "filename", "f", "", "file with a Provisioning; -: stdin")
	o.output.add(cmd)
	return cmd
}

func (s *session) diff(ctx context.Context, o *diffOptions) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	p, err := s.read(ctx, site, o.file)
	if err != nil {
		return err
	}
	a, err := site.asApplied(ctx, p)
	if err != nil {
		return err
	}
	view := &diffView{Provisioning: p.Name, Exists: a.stored != nil}
	if view.Diff, err = a.diff(); err != nil {
		return err
	}
	if view.Plan, err = site.plan(ctx, a.merged); err != nil {
		return err
	}
	view.Plan.Note = cmp.Or(view.Plan.Note, a.note)
	if !o.output.table() {
		err = o.output.printReport(s.Out, reportDiff, view)
	} else {
		_, err = fmt.Fprint(s.Out, view.page())
	}
	if err == nil && view.Diff != "" {
		return exitf(codeNotYet, "%s is not as the file requests. Apply it:\n  %s", p.Name, site.kubectl("apply -f "+o.file, ""))
	}
	return err
}

func (v *diffView) page() string {
	if v.Diff == "" {
		return v.Provisioning + " is as the file requests: there is nothing to apply.\n\n" + v.Plan.page()
	}
	return v.Diff + "\n" + v.Plan.page()
}

// diff returns a unified diff of the stored and the applied object.
func (a applied) diff() (string, error) {
	before, err := asApplicable(a.stored)
	if err != nil {
		return "", err
	}
	after, err := asApplicable(a.merged)
	if err != nil {
		return "", err
	}
	return difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: slices.Collect(strings.Lines(before)), B: slices.Collect(strings.Lines(after)), FromFile: "stored", ToFile: "applied", Context: 3,
	})
}

// asApplicable returns as YAML what a file can change in p; nil: an empty text.
func asApplicable(p *v1alpha1.Provisioning) (string, error) {
	if p == nil {
		return "", nil
	}
	type meta struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Labels      map[string]string `json:"labels,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	annotations := maps.Clone(p.Annotations)
	delete(annotations, corev1.LastAppliedConfigAnnotation) // it repeats the file
	text, err := yaml.Marshal(struct {
		Metadata meta                      `json:"metadata"`
		Spec     v1alpha1.ProvisioningSpec `json:"spec"`
	}{meta{p.Name, p.Namespace, p.Labels, annotations}, p.Spec})
	return string(text), err
}
