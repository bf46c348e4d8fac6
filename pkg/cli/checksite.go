package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/check"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

func newCheckSite(s *session) *cobra.Command {
	var f checkFlags
	var secret string
	cmd := &cobra.Command{
		Use:   "site",
		Short: "Check the bootstrap machine, and the objects that each run needs",
		Long: `Check the bootstrap machine, and the objects that each run needs: the kinds, the settings,
the Secret with the SSH key and the hosts of the namespace.

Run the command on the bootstrap machine. On another one, only the objects are checked.`,
		Example: "  kubectl bpa check site\n  kubectl bpa check site -n site-a -o json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError(fmt.Errorf("check site accepts no argument, got %s", args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return s.checkSite(cmd.Context(), secret, &f)
		},
	}
	cmd.Flags().StringVar(&secret, "ssh-secret", v1alpha1.DefaultSSHSecret, "Secret with the SSH key of the site")
	f.add(cmd)
	completeArgs(cmd)
	return cmd
}

// checkSite checks the objects of the site and, if the command runs there, the bootstrap machine.
func (s *session) checkSite(ctx context.Context, secret string, f *checkFlags) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	c := &checked{in: check.Input{Machine: true, KubernetesVersion: v1alpha1.DefaultKubernetesVersion, Skip: f.skip}}
	if c.in.Site, err = site.objects(ctx, secret); err != nil {
		return err
	}
	if parsed, err := site.readSettings(ctx, "which name the depot"); err == nil { // its error is a finding
		c.in.Depot = check.Depot{URL: parsed.Depot.URL, CA: parsed.Depot.CA}
	}
	var answers []check.Answer
	if at, here := site.isHere(net.InterfaceAddrs); here {
		c.in.Nodes = []check.Node{{Name: "this machine"}}
		answers = append(answers, s.here(ctx, c.in, f.limit))
	} else {
		c.report.NotAsked = append(c.report.NotAsked, notAsked{"the bootstrap machine", fmt.Sprintf("its API server is at %s, which is not this machine: run the command there", at)})
	}
	if ctx.Err() != nil {
		return exitf(codeInterrupted, "interrupted: nothing was changed")
	}
	return s.showChecks(c, check.Judge(c.in, answers), f)
}

// isHere reports whether the API server, at this address, is on this machine. addresses are those of the machine.
func (s *site) isHere(addresses func() ([]net.Addr, error)) (at string, here bool) {
	if s.config == nil {
		return "an unknown address", false
	}
	at = s.config.Host
	if u, err := url.Parse(s.config.Host); err == nil && u.Hostname() != "" {
		at = u.Hostname()
	}
	ip, err := netip.ParseAddr(at)
	if err != nil {
		return at, at == "localhost"
	}
	all, err := addresses()
	return at, ip.IsLoopback() || err == nil && slices.ContainsFunc(all, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().Unmap() == ip.Unmap()
	})
}

// objects looks at the objects of the site. An API server that does not answer, or a missing right, is an error.
func (s *site) objects(ctx context.Context, secret string) (*check.Site, error) {
	found := &check.Site{}
	for _, kind := range []struct {
		name string
		list client.ObjectList
	}{{"BareMetalHost (Metal3)", &metal3.BareMetalHostList{}}, {"Provisioning (BPA)", &v1alpha1.ProvisioningList{}}, {"PipelineRun (Tekton)", &tekton.PipelineRunList{}}} {
		switch err := s.client.List(ctx, kind.list, client.InNamespace(s.namespace), client.Limit(1)); {
		case err != nil && isKindMissing(err):
			found.Kinds += cmp.Or(map[bool]string{true: ", "}[found.Kinds != ""], "this cluster does not have the kind ") + kind.name
		case err != nil:
			return nil, s.explain(err)
		}
		if hosts, is := kind.list.(*metal3.BareMetalHostList); is && len(hosts.Items) == 0 {
			found.Hosts = "there is no BareMetalHost in namespace " + s.namespace
		}
	}
	if _, err := s.readSettings(ctx, "which name the depot"); err != nil {
		if apierrors.IsForbidden(err) || errors.Is(err, context.Canceled) {
			return nil, s.explain(err)
		}
		found.Settings = err.Error()
	}
	var key corev1.Secret
	switch err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: secret}, &key); {
	case apierrors.IsNotFound(err):
		found.SSHKey = fmt.Sprintf("there is no Secret %s in namespace %s", secret, s.namespace)
	case err != nil:
		return nil, fmt.Errorf("read the SSH key to the servers, Secret %s: %w", secret, s.explain(err))
	default:
		if _, err := ssh.ParseKey(key.Data[node.KeyFile]); err != nil {
			found.SSHKey = fmt.Sprintf("the key %s of Secret %s in namespace %s %v", node.KeyFile, secret, s.namespace, err)
		}
	}
	return found, nil
}
