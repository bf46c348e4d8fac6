package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/cobra"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

type hostsOptions struct {
	provisioning string
	file         string
	output       string
}

func newHosts(s *session) *cobra.Command {
	var o hostsOptions
	cmd := &cobra.Command{
		Use:   "hosts",
		Short: "List the site's hosts with their hardware, holder and problems",
		Long: `List the site's hosts with their hardware, holder and problems.

The column USED BY names the cluster that may still be on a host. Only its Provisioning
can use this host, until "kubectl bpa hosts reset" has removed the cluster.

With --for or -f the command does a dry run for a Provisioning. It shows for each
host the nodes that it fits, or why it does not fit, and the hosts that BPA would
select now. Nothing is claimed. If no assignment exists, the command explains why,
and the exit code is 3.`,
		Example: "  kubectl bpa hosts -n site-a\n  kubectl bpa hosts --for edge-1\n  kubectl bpa hosts -f edge-1.yaml -o json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError(fmt.Errorf("hosts accepts no argument, got %s: name a Provisioning for a dry run with --for", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.provisioning != "" && o.file != "":
				return usageError(errors.New("--for and --filename exclude each other: each names a Provisioning for the dry run"))
			case o.output != "" && o.output != "json":
				return usageError(fmt.Errorf("--output is %q: only json is supported", o.output))
			}
			return s.hosts(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.provisioning, "for", "", "name of a Provisioning for a dry run")
	cmd.Flags().StringVarP(&o.file, "filename", "f", "", "file with a Provisioning for a dry run; -: stdin")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "output format; json: all data as JSON")
	cmd.AddCommand(newHostsReset(s))
	return cmd
}

func (s *session) hosts(ctx context.Context, o hostsOptions) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	asked, err := s.asked(ctx, site, o)
	if err != nil {
		return err
	}
	view, err := site.hosts(ctx)
	if err != nil {
		return err
	}
	if asked != nil {
		depot, err := site.depotFor(ctx, asked)
		if err != nil {
			return err
		}
		if view.DryRun, err = tryAssign(asked, depot, view.facts); err != nil {
			return err
		}
	}
	if o.output == "json" {
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(view)
	} else {
		_, err = fmt.Fprint(s.Out, site.hostPage(view))
	}
	if err == nil && view.DryRun != nil && view.DryRun.NoFit != "" {
		return exitf(codeNotYet, "no assignment exists for %s: %s", asked.Name, clean(view.DryRun.NoFit))
	}
	return err
}

// asked returns the Provisioning for the dry run; nil: no dry run.
func (s *session) asked(ctx context.Context, site *site, o hostsOptions) (*v1alpha1.Provisioning, error) {
	switch {
	case o.provisioning != "":
		return site.get(ctx, o.provisioning)
	case o.file != "":
		return s.read(ctx, site, o.file)
	}
	return nil, nil
}

// largestManifest is the maximum number of bytes that are read from a file.
const largestManifest = 4 << 20

// read reads a Provisioning from a file, and sets defaults and validates it like the webhook.
func (s *session) read(ctx context.Context, site *site, name string) (*v1alpha1.Provisioning, error) {
	in := s.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, largestManifest))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	p := &v1alpha1.Provisioning{}
	if err := yaml.UnmarshalStrict(text, p); err != nil {
		return nil, fmt.Errorf("%s is not a valid Provisioning: %w", name, err)
	}
	if p.Kind != "Provisioning" {
		return nil, fmt.Errorf("%s has the kind %q: the file must have a single Provisioning", name, p.Kind)
	}
	if p.Namespace != "" && p.Namespace != site.namespace {
		return nil, fmt.Errorf("%s has the namespace %s: add -n %s", name, p.Namespace, p.Namespace)
	}
	p.Namespace = site.namespace
	p.SetDefaults(site.updating(ctx, p))
	if err := p.Validate(ctx).Filter(apis.ErrorLevel); err != nil { // warnings reject nothing
		return nil, fmt.Errorf("the webhook would reject %s: %w", name, err)
	}
	return p, nil
}

// updating returns a context in which SetDefaults keeps what an update of the stored object keeps. If that
// object cannot be read, the defaults are those of a new object; other requests then report the error.
func (s *site) updating(ctx context.Context, p *v1alpha1.Provisioning) context.Context {
	stored := &v1alpha1.Provisioning{}
	if s.client.Get(ctx, client.ObjectKeyFromObject(p), stored) != nil {
		return ctx
	}
	return apis.WithinUpdate(ctx, stored)
}

// hosts reads the namespace's hosts with their hardware. It also reads the Provisionings, to find
// hosts whose holder does not exist.
func (s *site) hosts(ctx context.Context) (*hostView, error) {
	var list metal3.BareMetalHostList
	if err := s.client.List(ctx, &list, client.InNamespace(s.namespace)); err != nil {
		if isKindMissing(err) {
			return nil, errors.New("this cluster does not have the kind BareMetalHost: install Metal3, or select another cluster with --context or --kubeconfig")
		}
		return nil, s.explain(err)
	}
	var hardware metal3.HardwareDataList
	if err := s.client.List(ctx, &hardware, client.InNamespace(s.namespace)); err != nil && !isKindMissing(err) { // older versions of Metal3 do not have HardwareData
		return nil, s.explain(err)
	}
	all, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	data := map[string]*metal3.HardwareData{}
	for i := range hardware.Items {
		data[hardware.Items[i].Name] = &hardware.Items[i]
	}
	exists := func(name string) bool {
		return slices.ContainsFunc(all, func(p v1alpha1.Provisioning) bool { return p.Name == name })
	}
	view := &hostView{}
	slices.SortFunc(list.Items, func(a, b metal3.BareMetalHost) int { return strings.Compare(a.Name, b.Name) })
	for i := range list.Items {
		view.add(&list.Items[i], data[list.Items[i].Name], exists)
	}
	return view, nil
}
