package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/check"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
)

type checkHostsOptions struct {
	checkFlags
	hosts []string
	scope scope
	login login
}

func newCheckHosts(s *session) *cobra.Command {
	var o checkHostsOptions
	cmd := &cobra.Command{
		Use:   "hosts [HOST...]",
		Short: "Check hosts for what a cluster needs, without a Provisioning",
		Long: `Check hosts for what a cluster needs, without a Provisioning: those of the namespace, those
with the labels of --selector, or those that are named.

A host may become each node of a cluster with BPA's defaults, so the ports of all roles are
checked, and the limits of a control plane for CPUs and memory are not. "check -f FILE" knows
the roles, the network plugin and the ranges. Hosts are compared with each other: check those
together that are to be in one cluster.`,
		Example: "  kubectl bpa check hosts\n  kubectl bpa check hosts -l rack=r1 -o json\n  kubectl bpa check hosts host-1 host-2 --skip swap",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.hosts = args
			switch {
			case len(args) > 0 && o.scope.set():
				return usageError(errors.New("HOST, and --all-namespaces or --selector, exclude each other"))
			case o.login.port < 1 || o.login.port > 65535:
				return usageError(fmt.Errorf("--ssh-port is %d: give a port from 1 to 65535", o.login.port))
			}
			if err := errors.Join(o.scope.check(first(args)), o.checkFlags.check()); err != nil {
				return err
			}
			return s.checkHosts(cmd.Context(), &o)
		},
	}
	cmd.Flags().StringVar(&o.login.secret, "ssh-secret", v1alpha1.DefaultSSHSecret, "Secret with the SSH key to hosts that no Provisioning holds")
	cmd.Flags().StringVar(&o.login.user, "ssh-user", v1alpha1.DefaultSSHUser, "user for SSH to them")
	cmd.Flags().IntVar(&o.login.port, "ssh-port", v1alpha1.DefaultSSHPort, "port of their SSH servers")
	o.scope.add(cmd)
	o.checkFlags.add(cmd)
	completeArgs(cmd, s.hostNames())
	return cmd
}

// checkHosts checks hosts without a Provisioning.
func (s *session) checkHosts(ctx context.Context, o *checkHostsOptions) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	depot, err := site.depotToCheck(ctx, &o.checkFlags)
	if err != nil {
		return err
	}
	usual := &v1alpha1.Provisioning{}
	usual.SetDefaults(ctx)
	request, err := from.Provisioning(usual, depot)
	if err != nil {
		return err
	}
	c := &checked{in: check.InputOf(request, nil)}
	views, err := site.hostViews(ctx, o.scope)
	if err != nil {
		return err
	}
	missing := slices.Clone(o.hosts)
	for _, v := range views {
		kept := &hostView{namespace: v.namespace}
		for i := range v.facts {
			name := v.facts[i].Name
			if len(o.hosts) > 0 && !slices.Contains(o.hosts, name) {
				continue
			}
			missing = slices.DeleteFunc(missing, func(m string) bool { return m == name })
			if v.facts[i].Bare {
				c.report.NotAsked = append(c.report.NotAsked, notAsked{o.scope.named(v.namespace, name), "it has no operating system yet"})
				continue
			}
			kept.facts, kept.objects = append(kept.facts, v.facts[i]), append(kept.objects, v.objects[i])
		}
		if err := site.in(v.namespace).addHosts(ctx, c, kept, o); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return usageError(fmt.Errorf("namespace %s has no host %s", site.namespace, strings.Join(missing, ", ")))
	}
	if len(c.in.Nodes)+len(c.report.NotAsked) == 0 {
		return fmt.Errorf("there is no BareMetalHost %s: register the servers of the site first", o.scope.where(site))
	}
	return s.runChecks(ctx, c, &o.checkFlags)
}

// addHosts adds hosts of a namespace, with the logins of its Provisionings and of the flags.
func (s *site) addHosts(ctx context.Context, c *checked, view *hostView, o *checkHostsOptions) error {
	if len(view.facts) == 0 {
		return nil
	}
	all, err := s.servers(ctx, view, o.login)
	if err != nil {
		return err
	}
	for i, a := range all {
		if len(a.server.Logins) == 0 {
			return s.noLogin(o.login.secret)
		}
		h := &view.facts[i]
		node := check.Node{Name: o.scope.named(view.namespace, h.Name), MACs: h.MACs, Member: a.expected.Member}
		if address := h.Address("", contract.Access{}); address.IsValid() {
			node.Address = address.String()
		}
		c.report.Hosts = append(c.report.Hosts, checkedHost{Host: h.Name, Namespace: view.namespace})
		c.add(node, a.server)
	}
	return nil
}

// named returns the name of an object for a list over all namespaces.
func (c *scope) named(namespace, name string) string {
	if !c.everywhere {
		return name
	}
	return namespace + "/" + name
}
