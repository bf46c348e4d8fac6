package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

type hostsOptions struct {
	provisioning string
	file         string
	scope        scope
	output       output
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
		Example: "  kubectl bpa hosts -n site-a\n  kubectl bpa hosts --for edge-1\n  kubectl bpa hosts -f edge-1.yaml -o json\n  kubectl bpa hosts -A -l rack=r1",
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
			case o.provisioning+o.file != "" && o.scope.set():
				return usageError(errors.New("a dry run is about all hosts of one namespace: leave out --all-namespaces and --selector"))
			case o.provisioning+o.file != "" && o.output.isName():
				return usageError(errors.New("--output is \"name\", which shows no dry run: leave out --for and --filename"))
			}
			if err := o.scope.check(""); err != nil {
				return err
			}
			if err := o.output.check(); err != nil {
				return err
			}
			return s.hosts(cmd.Context(), &o)
		},
	}
	cmd.Flags().StringVar(&o.provisioning, "for", "", "name of a Provisioning for a dry run")
	cmd.Flags().StringVarP(&o.file, "filename", "f", "", "file with a Provisioning for a dry run; -: stdin")
	complete(cmd, "for", s.clusterNames())
	completeArgs(cmd)
	o.scope.add(cmd)
	o.output.add(cmd, formatName)
	cmd.AddCommand(newHostsImport(s), newHostsReset(s), newHostsAttach(s))
	return cmd
}

func (s *session) hosts(ctx context.Context, o *hostsOptions) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	asked, err := s.asked(ctx, site, o)
	if err != nil {
		return err
	}
	where := site
	if asked != nil {
		where = site.in(asked.HostNamespace())
	}
	views, err := where.hostViews(ctx, o.scope)
	if err != nil {
		return err
	}
	for _, v := range views {
		v.explain(s.now())
	}
	if asked != nil {
		depot, err := site.depotFor(ctx, asked)
		if err != nil {
			return err
		}
		if len(views) == 0 {
			views = []*hostView{{}}
		}
		if views[0].DryRun, err = tryAssign(asked, depot, views[0].facts); err != nil {
			return err
		}
	}
	if o.output.table() {
		_, err = fmt.Fprint(s.Out, where.hostPage(views, o.scope))
	} else {
		err = s.printHosts(site, views, o)
	}
	if err == nil && asked != nil && views[0].DryRun.NoFit != "" {
		return exitf(codeNotYet, "no assignment exists for %s: %s", asked.Name, clean(views[0].DryRun.NoFit))
	}
	return err
}

// printHosts writes all data, or the names of the BareMetalHosts.
func (s *session) printHosts(site *site, views []*hostView, o *hostsOptions) error {
	all := hostView{Hosts: []hostRow{}} // not nil, so that JSON has an empty list
	for _, v := range views {
		all.Hosts, all.objects, all.DryRun = append(all.Hosts, v.Hosts...), append(all.objects, v.objects...), v.DryRun
	}
	if !o.output.isName() {
		return o.output.printReport(s.Out, reportHosts, all)
	}
	list, err := printedList(site, all.objects)
	if err != nil {
		return err
	}
	return o.output.print(s.Out, list)
}

// asked returns the Provisioning for the dry run; nil: no dry run.
func (s *session) asked(ctx context.Context, site *site, o *hostsOptions) (*v1alpha1.Provisioning, error) {
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
	var is metav1.TypeMeta
	if yaml.Unmarshal(text, &is) == nil && is.Kind != "Provisioning" { // before its fields, which would all be unknown
		return nil, fmt.Errorf("%s has the kind %q: the file must have a single Provisioning", name, is.Kind)
	}
	p := &v1alpha1.Provisioning{}
	if err := yaml.UnmarshalStrict(text, p); err != nil {
		return nil, fmt.Errorf("%s is not a valid Provisioning: %w", name, err)
	}
	if p.Namespace != "" && p.Namespace != site.namespace {
		return nil, fmt.Errorf("%s has the namespace %s: add -n %s", name, p.Namespace, p.Namespace)
	}
	p.Namespace = site.namespace
	p.SetDefaults(site.updating(ctx, p))
	if err := admission.CheckProvisioning(ctx, p).Filter(apis.ErrorLevel); err != nil { // warnings reject nothing
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

// hosts reads the namespace's hosts with their hardware.
func (s *site) hosts(ctx context.Context) (*hostView, error) {
	views, err := s.hostViews(ctx, scope{})
	if err != nil || len(views) == 0 {
		return &hostView{}, err
	}
	return views[0], nil
}

// exists reports whether a Provisioning of another namespace exists that can hold hosts of this one. A user who may not
// read it gets no command that takes its hosts away.
func (s *site) exists(ctx context.Context, o hosts.Owner) bool {
	p := &v1alpha1.Provisioning{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, p)
	return err == nil && ownerOf(p) == o || client.IgnoreNotFound(err) != nil
}

// hostViews reads the hosts of a scope with their hardware, and returns those of each namespace that has one. It also
// reads the Provisionings, to find hosts whose holder does not exist.
func (s *site) hostViews(ctx context.Context, c scope) ([]*hostView, error) {
	var list metal3.BareMetalHostList
	if err := s.client.List(ctx, &list, c.options(s)...); err != nil {
		if isKindMissing(err) {
			return nil, errors.New("this cluster does not have the kind BareMetalHost: install Metal3, or select another cluster with --context or --kubeconfig")
		}
		return nil, s.explain(err)
	}
	beside := scope{everywhere: c.everywhere} // the selector is for hosts
	var hardware metal3.HardwareDataList
	if err := s.client.List(ctx, &hardware, beside.options(s)...); err != nil && !isKindMissing(err) { // older versions of Metal3 do not have HardwareData
		return nil, s.explain(err)
	}
	all, err := s.list(ctx, beside)
	if err != nil {
		return nil, err
	}
	data := map[client.ObjectKey]*metal3.HardwareData{}
	for i := range hardware.Items {
		data[client.ObjectKeyFromObject(&hardware.Items[i])] = &hardware.Items[i]
	}
	sortValues(list.Items, func(a, b *metal3.BareMetalHost) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	var views []*hostView
	for _, part := range byNamespace(list.Items) {
		view := &hostView{namespace: part[0].Namespace}
		exists := func(o hosts.Owner) bool {
			if o.Namespace != view.namespace && !c.everywhere { // these Provisionings were not listed
				return s.exists(ctx, o)
			}
			return slices.ContainsFunc(all, func(p v1alpha1.Provisioning) bool { return ownerOf(&p) == o })
		}
		for i := range part {
			view.add(&part[i], data[client.ObjectKeyFromObject(&part[i])], exists)
		}
		views = append(views, view)
	}
	return views, nil
}
