package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

type softwareOptions struct {
	check, update, retry bool
	follow               bool
	timeout              time.Duration
	output               string
}

// asks reports whether the command requests a run.
func (o softwareOptions) asks() bool { return o.check || o.update || o.retry }

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

With --follow the command waits until each package is installed or has failed. With a
request it waits until the run for it has ended: packages of a node that does not answer
can still be pending then. The run waits while no node is alive; see --timeout.

` + exitCodes(),
		Example: "  kubectl bpa software edge-1\n  kubectl bpa software edge-1 --check --follow\n  kubectl bpa software -n site-a -o json",
		Args:    oneName(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.validate(first(args)); err != nil {
				return usageError(err)
			}
			return s.software(cmd.Context(), first(args), o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.check, "check", false, "request a look at all nodes that changes nothing")
	flags.BoolVar(&o.update, "update", false, "request that packages without automatic updates are updated too")
	flags.BoolVar(&o.retry, "retry", false, "request that what has failed is tried again, and what was changed by hand is repaired")
	flags.BoolVarP(&o.follow, "follow", "f", false, "wait until each package is installed or has failed, then show the packages")
	flags.DurationVar(&o.timeout, "timeout", 0, "with --follow: stop after this time, such as 30m; 0: no limit")
	flags.StringVarP(&o.output, "output", "o", "", "output format: json or yaml, with all data")
	return cmd
}

func (o softwareOptions) validate(name string) error {
	requests := 0
	for _, set := range []bool{o.check, o.update, o.retry} {
		if set {
			requests++
		}
	}
	switch {
	case requests > 1:
		return errors.New("--check, --update and --retry exclude each other")
	case name == "" && (requests > 0 || o.follow):
		return errors.New("--check, --update, --retry and --follow need NAME: give the name of a Provisioning")
	case o.output != "" && o.output != "json" && o.output != "yaml":
		return fmt.Errorf("--output is %q: only json and yaml are supported", o.output)
	case o.output != "" && (requests > 0 || o.follow):
		return errors.New("--output shows the present state: leave out --check, --update, --retry and --follow")
	case o.timeout < 0:
		return fmt.Errorf("--timeout is %v: give a positive time, or 0 for no limit", o.timeout)
	case o.timeout > 0 && !o.follow:
		return errors.New("--timeout needs --follow")
	}
	return nil
}

func (s *session) software(ctx context.Context, name string, o softwareOptions) error {
	ctx, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	site, err := s.connect()
	if err != nil {
		return err
	}
	if name == "" {
		all, err := site.softwares(ctx)
		if err != nil {
			return err
		}
		return s.showSoftware(site, all, o.output)
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
		if err := s.requestSoftware(ctx, site, p, all, o); err != nil || !o.follow {
			return err
		}
	}
	if o.follow {
		return s.followSoftware(ctx, site, p, all, o)
	}
	if len(all) == 0 && o.output == "" {
		_, err := fmt.Fprintf(s.Out, "No Software in namespace %s is for %s: its nodes get no packages from BPA.\n", site.namespace, p.Name)
		return err
	}
	if err := s.showSoftware(site, all, o.output); err != nil || o.output != "" {
		return err
	}
	_, err = fmt.Fprint(s.Out, softwareRunText(p))
	return err
}

var errNoSoftwareKind = errors.New(`this cluster does not have the kind Software: upgrade BPA with "ko apply -f config/"`)

// softwares lists the Softwares of the namespace, sorted by cluster and name.
func (s *site) softwares(ctx context.Context) ([]v1alpha1.Software, error) {
	var list v1alpha1.SoftwareList
	switch err := s.client.List(ctx, &list, client.InNamespace(s.namespace)); {
	case isKindMissing(err):
		return nil, errNoSoftwareKind
	case err != nil:
		return nil, s.explain(err)
	}
	slices.SortFunc(list.Items, func(a, b v1alpha1.Software) int {
		if c := strings.Compare(clusterOf(&a), clusterOf(&b)); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list.Items, nil
}

// softwareOf lists the Softwares of the cluster of p, sorted by name.
func (s *site) softwareOf(ctx context.Context, p *v1alpha1.Provisioning) ([]v1alpha1.Software, error) {
	all, err := s.softwares(ctx)
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
func (s *session) requestSoftware(ctx context.Context, site *site, p *v1alpha1.Provisioning, all []v1alpha1.Software, o softwareOptions) error {
	switch {
	case p.DeletionTimestamp != nil:
		return fmt.Errorf("%s is being deleted, so its nodes are not changed any more", p.Name)
	case p.Status.InstalledDigest == "":
		return exitf(codeNotYet, "%s has no installed cluster yet. Its nodes get their packages when they are installed. Follow it:\n  %s", p.Name, site.kubectl("bpa watch "+p.Name, ""))
	case len(all) == 0:
		return fmt.Errorf("no Software in namespace %s is for %s: create one with spec.cluster: %s", site.namespace, p.Name, p.Name)
	}
	value, what := s.now().UTC().Format(time.RFC3339Nano), "Another attempt for the software of %s was requested. It also repairs what was changed by hand."
	switch {
	case o.check:
		value, what = value+" "+contract.SoftwareCheck, "A look at the software of %s was requested. It changes no node."
	case o.update:
		value, what = value+" "+contract.SoftwareUpdate, "An update of the software of %s was requested, with the packages that are not updated automatically."
	}
	before := p.DeepCopy()
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[contract.AnnotationSoftware] = value
	if err := site.client.Patch(ctx, p, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("request a run for the software of %s: %w", p.Name, site.explain(err))
	}
	lines := []string{fmt.Sprintf(what, p.Name)}
	switch {
	case p.Spec.Paused:
		lines = append(lines, "No run starts while it is paused. Resume it:", "  "+site.kubectl("bpa resume "+p.Name, ""))
	case running(p):
		lines = append(lines, fmt.Sprintf("It begins after PipelineRun %s has ended.", p.Status.Run.Name))
	}
	if !o.follow {
		lines = append(lines, "See the result:", "  "+site.kubectl("bpa software "+p.Name, "--follow"))
	}
	_, err := fmt.Fprintln(s.Out, strings.Join(lines, "\n"))
	return err
}

// showSoftware writes the packages of Softwares.
func (s *session) showSoftware(site *site, all []v1alpha1.Software, output string) error {
	switch output {
	case "json":
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(viewSoftware(site.namespace, all))
	case "yaml":
		text, err := yaml.Marshal(viewSoftware(site.namespace, all))
		if err != nil {
			return err
		}
		_, err = s.Out.Write(text)
		return err
	}
	text := site.softwarePage(all, s.now())
	if len(all) == 0 {
		text = fmt.Sprintf("There are no Softwares in namespace %s.\n", site.namespace)
	}
	_, err := fmt.Fprint(s.Out, text)
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
