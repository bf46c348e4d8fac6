package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/survey"
)

type attachOptions struct {
	hosts  []string
	all    bool
	scope  scope
	login  login
	limit  time.Duration
	dryRun serverDryRun
}

func newHostsAttach(s *session) *cobra.Command {
	var o attachOptions
	cmd := &cobra.Command{
		Use:   "attach [HOST... | --all]",
		Short: "After a restore, ask each server who it is and attach the hosts that agree",
		Long: `After a restore, ask each server who it is and attach the hosts that agree.

"machine restore" detaches all hosts from Metal3, because a backup can be older than
the servers. This command asks the server of each such host over SSH, all in parallel,
and shows a table:

  agrees   the server has what the objects say: Metal3 and BPA may change it again
  newer    BPA has changed the server since the backup
  unknown  another machine answers, or nothing says whose the server is
  silent   no address of the host answers

Hosts that agree are attached. The others wait. If you know better, name them, or
use --all: they are attached whatever their servers say. Servers are not changed.
The exit code is 3 while a host waits.`,
		Example: "  kubectl bpa hosts attach -A --dry-run=server\n  kubectl bpa hosts attach -A\n  kubectl bpa hosts attach host-3 -n site-a",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.hosts = args
			switch {
			case o.all && len(args) > 0:
				return usageError(errors.New("HOST and --all exclude each other"))
			case o.login.port < 1 || o.login.port > 65535:
				return usageError(fmt.Errorf("--ssh-port is %d: give a port from 1 to 65535", o.login.port))
			case o.limit <= 0:
				return usageError(fmt.Errorf("--ask-timeout is %s: give a time for one server, such as 1m", o.limit))
			}
			if err := errors.Join(o.scope.check(first(args)), o.dryRun.check(false)); err != nil {
				return err
			}
			return s.attach(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.all, "all", false, "also attach the hosts that do not agree")
	cmd.Flags().StringVar(&o.login.secret, "ssh-secret", v1alpha1.DefaultSSHSecret, "Secret with the SSH key to hosts that no Provisioning holds")
	cmd.Flags().StringVar(&o.login.user, "ssh-user", v1alpha1.DefaultSSHUser, "user for SSH to them")
	cmd.Flags().IntVar(&o.login.port, "ssh-port", v1alpha1.DefaultSSHPort, "port of their SSH servers")
	cmd.Flags().DurationVar(&o.limit, "ask-timeout", time.Minute, "time in which one server must answer")
	o.scope.add(cmd)
	o.dryRun.add(cmd)
	completeArgs(cmd, s.hostNames())
	return cmd
}

// attach asks the servers of the hosts that a restore has detached, and attaches those that agree or that the user has
// chosen.
func (s *session) attach(ctx context.Context, o attachOptions) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	waiting, err := site.detached(ctx, o)
	if err != nil {
		return err
	}
	if len(waiting) == 0 {
		_, err := fmt.Fprintln(s.Out, "No host waits for being attached.")
		return err
	}
	if err := s.ask(ctx, waiting, o.limit, func(a *askedHost) string { return string(a.standing) }); err != nil {
		return err
	}
	rows := [][]string{{"NAMESPACE", "NAME", "SERVER", "WHY", "HOST"}}
	var left []*askedHost
	var failed []error
	for _, a := range waiting {
		what := "waits"
		if o.all || len(o.hosts) > 0 || a.standing == survey.Agrees {
			what = "attached"
			if err := reattach(ctx, o.dryRun.of(site).client, a.object); err != nil {
				what = "waits"
				failed = append(failed, fmt.Errorf("attach host %s/%s: %w", a.object.Namespace, a.object.Name, site.explain(err)))
			}
		}
		if what == "waits" {
			left = append(left, a)
		}
		rows = append(rows, []string{a.object.Namespace, a.object.Name, string(a.standing), clean(a.why), what})
	}
	if _, err := fmt.Fprint(s.Out, columns(rows)); err != nil {
		return err
	}
	if o.dryRun.on() {
		failed = append(failed, s.unchanged("hosts with \"attached\" can be attached"))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if len(left) > 0 {
		return exitf(codeNotYet, "%d of %d hosts wait. Metal3 and BPA do not change them. Compare each with what runs on it; if the objects are right:\n  kubectl bpa hosts attach %s -n %s%s",
			len(left), len(waiting), left[0].object.Name, left[0].object.Namespace, site.flags)
	}
	return nil
}

// detached returns the chosen hosts that a restore has detached. It fails if a named host is none of them.
func (s *site) detached(ctx context.Context, o attachOptions) ([]*askedHost, error) {
	views, err := s.hostViews(ctx, o.scope)
	if err != nil {
		return nil, err
	}
	var waiting []*askedHost
	for _, v := range views {
		there := s.in(v.namespace)
		kept := &hostView{namespace: v.namespace}
		for i, object := range v.objects {
			if _, has := object.Annotations[contract.AnnotationDetachedByRestore]; has && (len(o.hosts) == 0 || slices.Contains(o.hosts, object.Name)) {
				kept.objects, kept.facts = append(kept.objects, object), append(kept.facts, v.facts[i])
			}
		}
		if len(kept.objects) == 0 {
			continue
		}
		all, err := there.servers(ctx, kept, o.login)
		if err != nil {
			return nil, err
		}
		waiting = append(waiting, all...)
	}
	var none []string
	for _, name := range o.hosts {
		if !slices.ContainsFunc(waiting, func(a *askedHost) bool { return a.object.Name == name }) {
			none = append(none, name)
		}
	}
	if len(none) > 0 {
		return nil, fmt.Errorf("no restore has detached %s in namespace %s, so nothing was changed", strings.Join(none, ", "), s.namespace)
	}
	return waiting, nil
}

// reattach removes from a host what a restore has added. It fails if the host was changed since it was read: the answer
// of its server was compared with what was read.
func reattach(ctx context.Context, c client.Client, host *metal3.BareMetalHost) error {
	changed := host.DeepCopy()
	delete(changed.Annotations, contract.AnnotationDetachedByRestore)
	for name, value := range map[string]string{metal3.PausedAnnotation: contract.RestoredPaused, metal3.DetachedAnnotation: contract.RestoredDetached} {
		if changed.Annotations[name] == value { // that of a user stays
			delete(changed.Annotations, name)
		}
	}
	return c.Patch(ctx, changed, client.MergeFromWithOptions(host, client.MergeFromWithOptimisticLock{}))
}
