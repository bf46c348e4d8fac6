package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

type softwareOptions struct {
	check, update, retry bool
	waiting              waitFlags
	dryRun               serverDryRun
	scope                scope
	output               output
}

// asks reports whether the command requests a run.
func (o *softwareOptions) asks() bool { return o.check || o.update || o.retry }

func newSoftware(s *session) *cobra.Command {
	var o softwareOptions
	cmd := &cobra.Command{
		Use:   "software [NAME]",
		Short: "Show the packages on the nodes of a cluster, or request a run for them",
		Long: `Show the packages on the nodes of a cluster that its Softwares request, failures first.
NAME is the name of a Provisioning. Without NAME the command shows all Softwares of the
namespace.

The status has what the last run has seen. A run starts when a Software is edited, when a
newer package is uploaded, when a node joins, and on request. The flags that request a run
give the annotation ` + contract.AnnotationSoftware + ` of the Provisioning the present time:
  --check   looks at all nodes, and changes none of them
  --update  also updates packages of Softwares with autoUpdate: false, and those that only the sources of the nodes have
  --retry   tries again what has failed, and repairs what was changed by hand

With --wait the command waits until each package is installed or has failed. With a
request it waits until the run for it has ended: packages of a node that does not answer
can still be pending then. The run waits while no node is alive; see --timeout.

` + exitCodes(),
		Example: "  kubectl bpa software edge-1\n  kubectl bpa software edge-1 --check --wait\n  kubectl bpa software -A -o json",
		Args:    oneName(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(first(args)); err != nil {
				return err
			}
			return s.software(cmd.Context(), first(args), &o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.check, "check", false, "request a look at all nodes that changes nothing")
	flags.BoolVar(&o.update, "update", false, "request that packages without automatic updates are updated too")
	flags.BoolVar(&o.retry, "retry", false, "request that what has failed is tried again, and what was changed by hand is repaired")
	completeArgs(cmd, s.clusterNames())
	o.waiting.add(cmd, "each package is installed or has failed, then show the packages", "30m")
	o.waiting.was(cmd, "follow", "f")
	o.dryRun.add(cmd)
	o.scope.add(cmd)
	o.output.add(cmd, formatName, formatWide)
	return cmd
}

func (o *softwareOptions) validate(name string) error {
	requests := 0
	for _, set := range []bool{o.check, o.update, o.retry} {
		if set {
			requests++
		}
	}
	switch {
	case requests > 1:
		return usageError(errors.New("--check, --update and --retry exclude each other"))
	case name == "" && (requests > 0 || o.waiting.wait):
		return usageError(errors.New("--check, --update, --retry and --wait need NAME: give the name of a Provisioning"))
	case o.dryRun.on() && requests == 0:
		return usageError(errors.New("--dry-run needs --check, --update or --retry: without them the command changes nothing"))
	}
	if err := cmp.Or(o.scope.check(name), o.output.check()); err != nil {
		return err
	}
	if !o.output.table() && (requests > 0 || o.waiting.wait) {
		return usageError(errors.New("--output shows the present state: leave out --check, --update, --retry and --wait"))
	}
	if err := o.dryRun.check(o.waiting.wait); err != nil {
		return err
	}
	return o.waiting.check()
}

func (s *session) software(ctx context.Context, name string, o *softwareOptions) error {
	ctx, cancel := withTimeout(ctx, o.waiting.timeout)
	defer cancel()
	site, err := s.connect()
	if err != nil {
		return err
	}
	if name == "" {
		all, err := site.softwares(ctx, o.scope)
		if err != nil {
			return err
		}
		return s.showSoftware(site, all, o)
	}
	p, err := site.get(ctx, name)
	if err != nil {
		return err
	}
	all, err := site.softwareOf(ctx, p)
	if err != nil {
		return err
	}
	if o.asks() {
		if err := s.requestSoftware(ctx, site, p, all, o); err != nil || !o.waiting.wait {
			return err
		}
	}
	if o.waiting.wait {
		return s.followSoftware(ctx, site, p, all, o)
	}
	if len(all) == 0 && o.output.table() {
		_, err := fmt.Fprintf(s.Out, "No Software in namespace %s is for %s: its nodes get no packages from BPA.\n", site.namespace, p.Name)
		return err
	}
	if err := s.showSoftware(site, all, o); err != nil || !o.output.table() {
		return err
	}
	_, err = fmt.Fprint(s.Out, softwareRunText(p))
	return err
}

var errNoSoftwareKind = errors.New(`this cluster does not have the kind Software: upgrade BPA with "ko apply -f config/"`)

// softwares lists the Softwares of a scope, sorted by namespace, cluster and name.
func (s *site) softwares(ctx context.Context, c scope) ([]v1alpha1.Software, error) {
	var list v1alpha1.SoftwareList
	switch err := s.client.List(ctx, &list, c.options(s)...); {
	case isKindMissing(err):
		return nil, errNoSoftwareKind
	case err != nil:
		return nil, s.explain(err)
	}
	sortValues(list.Items, func(a, b *v1alpha1.Software) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(clusterOf(a), clusterOf(b)), strings.Compare(a.Name, b.Name))
	})
	return list.Items, nil
}

// softwareOf lists the Softwares of the cluster of p, sorted by name.
func (s *site) softwareOf(ctx context.Context, p *v1alpha1.Provisioning) ([]v1alpha1.Software, error) {
	all, err := s.softwares(ctx, scope{})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(w v1alpha1.Software) bool {
		if c := w.Status.GetCondition(v1alpha1.ConditionSoftwareAccepted); c.IsTrue() && w.Status.ObservedGeneration == w.Generation && w.Status.Cluster != "" {
			return w.Status.Cluster != p.Name // other Provisionings can have the name or the label too
		}
		name := w.ClusterName()
		return name == "" || name != p.Name && name != p.Labels[v1alpha1.LabelCluster]
	}), nil
}

// clusterOf returns the name of the Provisioning of a Software. Before the controller has seen the
// Software, it is the name that the Software requests.
func clusterOf(w *v1alpha1.Software) string {
	if w.Status.Cluster != "" {
		return w.Status.Cluster
	}
	return w.ClusterName()
}

// requestSoftware requests a run for the Softwares of p.
func (s *session) requestSoftware(ctx context.Context, site *site, p *v1alpha1.Provisioning, all []v1alpha1.Software, o *softwareOptions) error {
	switch {
	case p.DeletionTimestamp != nil:
		return beingDeleted(p, "its nodes are not changed")
	case p.Status.InstalledDigest == "":
		return exitf(codeNotYet, "%s has no installed cluster yet. Its nodes get their packages when they are installed. Follow it:\n  %s", p.Name, site.kubectl("bpa watch "+p.Name, ""))
	case len(all) == 0:
		return fmt.Errorf("no Software in namespace %s is for %s: create one with spec.cluster: %s", site.namespace, p.Name, p.Name)
	}
	value, what := s.stamp(), "Another attempt for the software of %s was requested. It also repairs what was changed by hand."
	switch {
	case o.check:
		value, what = value+" "+contract.SoftwareCheck, "A look at the software of %s was requested. It changes no node."
	case o.update:
		value, what = value+" "+contract.SoftwareUpdate, "An update of the software of %s was requested, with the packages that are not updated automatically."
	}
	if err := o.dryRun.of(site).ask(ctx, p, contract.AnnotationSoftware, value, "a run for the software"); err != nil {
		return err
	}
	if o.dryRun.on() {
		return s.unchanged("A run for the software of " + p.Name + " can be requested")
	}
	lines := []string{fmt.Sprintf(what, p.Name)}
	switch {
	case p.Spec.Paused:
		lines = append(lines, "No run starts while it is paused. Resume it:", "  "+site.kubectl("bpa resume "+p.Name, ""))
	case running(p):
		lines = append(lines, fmt.Sprintf("It begins after PipelineRun %s has ended.", p.Status.Run.Name))
	}
	if !o.waiting.wait {
		lines = append(lines, "See the result:", "  "+site.kubectl("bpa software "+p.Name, "--wait"))
	}
	_, err := fmt.Fprintln(s.Out, strings.Join(lines, "\n"))
	return err
}

// showSoftware writes the packages of Softwares.
func (s *session) showSoftware(site *site, all []v1alpha1.Software, o *softwareOptions) error {
	switch {
	case o.output.isName():
		list, err := printedList(site, pointers(all))
		if err != nil {
			return err
		}
		return o.output.print(s.Out, list)
	case !o.output.table() && o.scope.everywhere:
		var views []softwareView
		for _, part := range byNamespace(all) {
			views = append(views, viewSoftware(part[0].Namespace, part))
		}
		return printReports(&o.output, s.Out, reportSoftware, views)
	case !o.output.table():
		return o.output.printReport(s.Out, reportSoftware, viewSoftware(site.namespace, all))
	case len(all) == 0:
		_, err := fmt.Fprintf(s.Out, "There are no Softwares %s.\n", o.scope.where(site))
		return err
	}
	var pages []string
	for _, part := range byNamespace(all) {
		pages = append(pages, site.in(part[0].Namespace).softwarePage(part, s.now(), o.output.cell))
	}
	_, err := fmt.Fprint(s.Out, strings.Join(pages, "\n"))
	return err
}

// softwareFact describes the software of a cluster in one line; empty: it has no Softwares, or the user
// may not read them.
func (s *site) softwareFact(ctx context.Context, p *v1alpha1.Provisioning) (string, error) {
	all, err := s.softwareOf(ctx, p)
	switch {
	case errors.Is(err, errNoSoftwareKind), apierrors.IsForbidden(err):
		return "", nil // the page about the Provisioning is complete without this line
	case err != nil || len(all) == 0:
		return "", err
	}
	text := softwareSummary(all)
	if r := p.Status.Software; r != nil && r.Failure != nil {
		text += "; run " + r.Run + " failed: " + oneLine(r.Failure)
	}
	return text, nil
}
