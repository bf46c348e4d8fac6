package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// site is one namespace of the bootstrap cluster, with the user's access to it.
type site struct {
	client    client.WithWatch
	config    *rest.Config
	namespace string
	// flags holds the flags that suggested commands must repeat so that they
	// reach the same cluster, such as " --context=lab".
	flags string
	// access reads and writes the user's kubeconfig, to which --merge adds a context.
	access clientcmd.ConfigAccess
}

// connect returns the site of the user's kubeconfig. Warnings of the API server, such as those of BPA's webhook, go to errOut.
func connect(flags *genericclioptions.ConfigFlags, errOut io.Writer) (*site, error) {
	loader := flags.ToRawKubeConfigLoader()
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w\nName the kubeconfig of the bootstrap cluster with --kubeconfig or KUBECONFIG", err)
	}
	config.WarningHandler = rest.NewWarningWriter(errOut, rest.WarningWriterOptions{Deduplicate: true})
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &site{client: c, config: config, namespace: namespace, flags: repeated(flags), access: loader.ConfigAccess()}, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme), metal3.AddToScheme(scheme), rbacv1.AddToScheme(scheme), tekton.AddToScheme(scheme))
}

// repeated returns the connection flags of the command line.
func repeated(flags *genericclioptions.ConfigFlags) string {
	var s strings.Builder
	for _, f := range []struct {
		name  string
		value *string
	}{{"kubeconfig", flags.KubeConfig}, {"context", flags.Context}} {
		if f.value != nil && *f.value != "" {
			fmt.Fprintf(&s, " --%s=%s", f.name, *f.value)
		}
	}
	return s.String()
}

// get reads one Provisioning. An empty name means the only Provisioning of the
// namespace.
func (s *site) get(ctx context.Context, name string) (*v1alpha1.Provisioning, error) {
	if name == "" {
		return s.only(ctx)
	}
	p := &v1alpha1.Provisioning{}
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, p)
	if apierrors.IsNotFound(err) && !isKindMissing(err) {
		return nil, s.notFound(ctx, name)
	}
	if err != nil {
		return nil, s.explain(err)
	}
	return p, nil
}

// cluster connects to the site and reads a Provisioning of it, as get does.
func (s *session) cluster(ctx context.Context, name string) (*site, *v1alpha1.Provisioning, error) {
	site, err := s.connect()
	if err != nil {
		return nil, nil, err
	}
	p, err := site.get(ctx, name)
	return site, p, err
}

// beingDeleted refuses a change of a Provisioning that is being deleted. so says what does not happen any more.
func beingDeleted(p *v1alpha1.Provisioning, so string) error {
	return fmt.Errorf("%s is being deleted, so %s any more", p.Name, so)
}

func (s *site) only(ctx context.Context) (*v1alpha1.Provisioning, error) {
	all, err := s.list(ctx, scope{})
	if err != nil {
		return nil, err
	}
	if len(all) == 1 {
		return &all[0], nil
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no Provisioning in namespace %s: apply one, or name another namespace with -n", s.namespace)
	}
	return nil, usageError(fmt.Errorf("there are several Provisionings in namespace %s, name one: %s", s.namespace, names(all)))
}

// list returns the Provisionings of a scope, sorted by namespace and name.
func (s *site) list(ctx context.Context, c scope) ([]v1alpha1.Provisioning, error) {
	var all v1alpha1.ProvisioningList
	if err := s.client.List(ctx, &all, c.options(s)...); err != nil {
		return nil, s.explain(err)
	}
	sortValues(all.Items, func(a, b *v1alpha1.Provisioning) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return all.Items, nil
}

func (s *site) notFound(ctx context.Context, name string) error {
	all, err := s.list(ctx, scope{})
	if err != nil || len(all) == 0 {
		return fmt.Errorf("there is no Provisioning %q in namespace %s, nor any other that you can see: apply one, or name another namespace with -n", name, s.namespace)
	}
	return fmt.Errorf("there is no Provisioning %q in namespace %s: there are %s", name, s.namespace, names(all))
}

func names(all []v1alpha1.Provisioning) string {
	list := make([]string, len(all))
	for i := range all {
		list[i] = all[i].Name
	}
	return strings.Join(list, ", ")
}

// explain adds the next step for the user to an error of the API server.
func (s *site) explain(err error) error {
	var netErr net.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case isKindMissing(err):
		return errors.New("this cluster does not have the kind Provisioning: install BPA with \"ko apply -f config/\", or select another cluster with --context or --kubeconfig")
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w\nYour account lacks this right in namespace %s: ask an administrator for it, or use another account with --context or --user", err, s.namespace)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w: the cluster does not accept your credentials; renew them, or select others with --context or --kubeconfig", err)
	case errors.As(err, &netErr):
		return fmt.Errorf("the bootstrap cluster does not answer: %w\nCheck that it runs, and that --context and --kubeconfig name the right cluster", err)
	}
	return err
}

// isKindMissing reports whether the cluster lacks the kind. It returns false if the cluster has the
// kind and lacks only an object.
func isKindMissing(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	// If the kind was removed after discovery, the API server answers with a 404 that names no
	// object.
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsNotFound(err) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
}
