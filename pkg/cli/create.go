package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/admission"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// The names of the node sets that create writes.
const (
	setControlPlane = "control-plane"
	setWorker       = "worker"
)

type createOptions struct {
	controlPlanes, workers, standby int32
	version                         string
	waiting                         waitFlags
	dryRun                          serverDryRun
	output                          output
}

func newCreate(s *session) *cobra.Command {
	var o createOptions
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a Provisioning whose nodes fit the free hosts, or write its YAML",
		Long: `Create a Provisioning whose nodes fit the free hosts, or write its YAML.

The command selects hosts as BPA does, and requests of each node set what the smallest of
its hosts has: a later replacement is then not smaller. If the free hosts are not enough,
nothing is created, and the exit code is 3.

With --dry-run=client -o yaml it writes a Provisioning to edit and to apply.`,
		Example: `  kubectl bpa create edge-1 --control-planes 1 --workers 2 --dry-run=client -o yaml >edge-1.yaml
  kubectl bpa create edge-1 --control-planes 3 --workers 4 --standby 1 --wait --timeout=2h`,
		Args: oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return s.create(cmd.Context(), args[0], &o)
		},
	}
	completeArgs(cmd)
	cmd.Flags().Int32Var(&o.controlPlanes, "control-planes", 1, "number of control plane nodes; an odd number, because of etcd")
	cmd.Flags().Int32Var(&o.workers, "workers", 0, "number of workers; 0: the control plane nodes are also workers")
	cmd.Flags().Int32Var(&o.standby, "standby", 0, "number of standby hosts for the workers")
	cmd.Flags().StringVar(&o.version, "kubernetes-version", "", "version of Kubernetes, such as "+v1alpha1.DefaultKubernetesVersion+" (default that of BPA)")
	o.waiting.add(cmd, "the cluster is ready or has failed permanently", "2h")
	o.dryRun.add(cmd)
	cmd.Flags().Lookup("dry-run").Usage = `"client": only show the Provisioning; "server": the API server checks it and stores nothing; or "none"`
	complete(cmd, "dry-run", func(*cobra.Command, []string) []string { return []string{dryRunNone, dryRunClient, dryRunServer} })
	o.output.add(cmd, formatName)
	return cmd
}

func (o *createOptions) check() error {
	switch {
	case o.controlPlanes < 1:
		return usageError(fmt.Errorf("--control-planes is %d: a cluster has at least one control plane node", o.controlPlanes))
	case o.workers < 0 || o.standby < 0:
		return usageError(errors.New("--workers and --standby are numbers of nodes, not below 0"))
	case o.standby > 0 && o.workers == 0:
		return usageError(errors.New("--standby needs --workers: the standby hosts are those of the workers"))
	case o.dryRun.value == dryRunClient && o.waiting.wait:
		return usageError(errors.New("--dry-run=client changes nothing, so there is nothing to wait for: leave out --wait"))
	case o.dryRun.value == dryRunClient:
		return cmp.Or(o.output.check(), o.waiting.check())
	}
	return cmp.Or(o.output.check(), o.waiting.check(), o.dryRun.check(o.waiting.wait))
}

func (s *session) create(ctx context.Context, name string, o *createOptions) error {
	ctx, cancel := withTimeout(ctx, o.waiting.timeout)
	defer cancel()
	site, err := s.connect()
	if err != nil {
		return err
	}
	p, err := site.proposed(ctx, name, o)
	if err != nil {
		return err
	}
	if o.dryRun.value != dryRunClient {
		if err := o.dryRun.of(site).client.Create(ctx, p); apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("there is a Provisioning %s already. See it:\n  %s", name, site.kubectl("bpa status "+name, ""))
		} else if err != nil {
			return fmt.Errorf("create Provisioning %s: %w", name, site.explain(err))
		}
	}
	site.warnWithoutKey(ctx, s, p)
	switch {
	case !o.output.table():
		u, err := site.manifest(p)
		if err != nil {
			return err
		}
		if err := o.output.print(s.Out, u); err != nil || !o.waiting.wait {
			return err
		}
	case o.dryRun.value != dryRunNone:
		return s.unchanged("Provisioning " + name + " can be created")
	default:
		_, _ = fmt.Fprintf(s.Out, "Provisioning %s was created.\n", name)
	}
	if !o.waiting.wait {
		_, err := fmt.Fprintf(s.Out, "Follow it:\n  %s\n", site.kubectl("bpa watch "+name, ""))
		return err
	}
	return s.watchUntil(ctx, site, p, o.waiting.timeout, decided)
}

// proposed returns a Provisioning that the free hosts fit. Its requirements are those that the smallest host of each
// node set meets.
func (s *site) proposed(ctx context.Context, name string, o *createOptions) (*v1alpha1.Provisioning, error) {
	p := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	p.Spec.Kubernetes.Version = o.version
	p.Spec.NodeSets = []v1alpha1.NodeSet{{Name: setControlPlane, Role: v1alpha1.RoleControlPlane, Count: v1alpha1.NodeCount{Active: o.controlPlanes}}}
	if o.workers > 0 {
		p.Spec.NodeSets = append(p.Spec.NodeSets, v1alpha1.NodeSet{Name: setWorker, Role: v1alpha1.RoleWorker, Count: v1alpha1.NodeCount{Active: o.workers, Standby: o.standby}})
	}
	checked := p.DeepCopy()
	checked.SetDefaults(apis.WithinCreate(ctx))
	if err := admission.CheckProvisioning(apis.WithinCreate(ctx), checked).Filter(apis.ErrorLevel); err != nil {
		return nil, usageError(fmt.Errorf("the webhook would reject this: %w", err))
	}
	view, err := s.hosts(ctx)
	if err != nil {
		return nil, err
	}
	fits, err := tryAssign(p, settings.Depot{}, view.facts)
	if err != nil {
		return nil, err
	}
	if fits.NoFit != "" {
		return nil, exitf(codeNotYet, "the free hosts of namespace %s are not enough for %s: %s. See them:\n  %s", s.namespace, name, clean(fits.NoFit), s.kubectl("bpa hosts", ""))
	}
	for i := range p.Spec.NodeSets {
		set := &p.Spec.NodeSets[i]
		for _, a := range fits.Assignment {
			if a.NodeSet == set.Name {
				atMost(&set.HostRequirements, hostNamed(view.facts, a.Host))
			}
		}
	}
	return p, nil
}

func hostNamed(all []hosts.Host, name string) (found hosts.Host) {
	for _, h := range all {
		if h.Name == name {
			found = h
		}
	}
	return found
}

// atMost lowers the requirements to what the host has. What Metal3 does not know is not required.
func atMost(r *v1alpha1.HostRequirements, h hosts.Host) {
	if h.CPU > 0 && (r.CPU == 0 || h.CPU < int(r.CPU)) {
		r.CPU = int32(h.CPU)
	}
	if is, err := resource.ParseQuantity(r.Memory); h.Memory > 0 && (err != nil || is.Value() > h.Memory) {
		r.Memory = fmt.Sprintf("%dMi", h.Memory>>20) // rounded down
		if h.Memory >= 1<<30 {
			r.Memory = fmt.Sprintf("%dGi", h.Memory>>30)
		}
	}
}

// manifest returns a Provisioning as a file has it: without what the API server adds, and without empty fields.
func (s *site) manifest(p *v1alpha1.Provisioning) (*unstructured.Unstructured, error) {
	u, err := s.printed(p)
	if err != nil {
		return nil, err
	}
	delete(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	dropEmpty(u.Object)
	return u, nil
}

// dropEmpty removes the empty objects below an object.
func dropEmpty(o map[string]any) {
	for key, value := range o {
		if below, ok := value.(map[string]any); ok {
			if dropEmpty(below); len(below) == 0 {
				delete(o, key)
			}
		}
	}
}

// warnWithoutKey says how to make the Secret with the SSH key, if it is not there: no run can start without it.
func (s *site) warnWithoutKey(ctx context.Context, session *session, p *v1alpha1.Provisioning) {
	name := p.Spec.SSH.Secret()
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, &corev1.Secret{})
	if apierrors.IsNotFound(err) {
		_, _ = fmt.Fprintf(session.ErrOut, "There is no Secret %s in namespace %s yet. Make it from the key with which BPA logs in to the hosts:\n  %s\n", name, s.namespace,
			s.kubectl("create secret generic "+name, "--type=kubernetes.io/ssh-auth --from-file=ssh-privatekey=FILE"))
	}
}
