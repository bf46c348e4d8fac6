package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

type statusOptions struct {
	scope  scope
	output output
}

func newStatus(s *session) *cobra.Command {
	var o statusOptions
	cmd := &cobra.Command{
		Use:     "status [NAME]",
		Aliases: []string{"get"},
		Short:   "Show a Provisioning on one page: conditions, nodes, run, next step",
		Long: `Show a Provisioning on one page: conditions, nodes, run, next step.

Without NAME the command shows the only Provisioning of the namespace, or a
table if there are several. With -A or -l it always shows the table.`,
		Example: "  kubectl bpa status edge-1\n  kubectl bpa get -n site-a -o wide\n  kubectl bpa get -A -l owner=c1",
		Args:    oneName(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.scope.check(first(args)); err != nil {
				return err
			}
			if err := o.output.check(); err != nil {
				return err
			}
			return s.status(cmd.Context(), first(args), &o)
		},
	}
	completeArgs(cmd, s.clusterNames())
	o.scope.add(cmd)
	o.output.add(cmd, formatName, formatWide)
	return cmd
}

func (s *session) status(ctx context.Context, name string, o *statusOptions) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	page, err := s.printStatus(ctx, site, name, o)
	if err == nil && o.output.table() {
		s.reportMachineBackup(ctx, site, page)
	}
	return err
}

// printStatus reports whether it has printed a page, and not a list.
func (s *session) printStatus(ctx context.Context, site *site, name string, o *statusOptions) (page bool, err error) {
	if name == "" {
		all, err := site.list(ctx, o.scope)
		switch {
		case err != nil:
			return false, err
		case !o.output.table():
			list, err := printedList(site, pointers(all))
			if err != nil {
				return false, err
			}
			return false, o.output.print(s.Out, list)
		case len(all) == 0 && o.scope.set():
			_, err := fmt.Fprintf(s.ErrOut, "There is no Provisioning %s.\n", o.scope.where(site))
			return false, err
		case len(all) > 1 || o.scope.set() || o.output.isWide():
			_, err = fmt.Fprint(s.Out, s.table(all, o))
			return false, err
		}
	}
	p, err := site.get(ctx, name)
	if err != nil {
		return false, err
	}
	switch {
	case o.output.isWide():
		_, err = fmt.Fprint(s.Out, s.table([]v1alpha1.Provisioning{*p}, o))
		return false, err
	case !o.output.table():
		u, err := site.printed(p)
		if err != nil {
			return false, err
		}
		return false, o.output.print(s.Out, u)
	}
	software, err := site.softwareFact(ctx, p)
	if err != nil {
		return false, err
	}
	_, err = fmt.Fprint(s.Out, site.page(p, software, s.now()))
	return true, err
}

// table shows Provisionings, one per row, with the columns of kubectl get.
func (s *session) table(all []v1alpha1.Provisioning, o *statusOptions) string {
	head := []string{"NAME", "READY", "REASON", "NODES", "VERSION", "PROGRESS", "ENDPOINT", "AGE"}
	if o.output.isWide() {
		head = append(head, "RUN", "MESSAGE")
	}
	rows := [][]string{o.scope.withNamespace("NAMESPACE", head)}
	for i := range all {
		p := &all[i]
		status, reason := readiness(p)
		progress := ""
		if p.Status.Progress != nil {
			progress = p.Status.Progress.Summary
		}
		row := []string{p.Name, status, reason, p.Status.NodesReady, clean(p.Status.KubernetesVersion), progress, p.Status.APIEndpoint, age(p.CreationTimestamp, s.now())}
		if o.output.isWide() {
			run, message := "", ""
			if p.Status.Run != nil {
				run = p.Status.Run.Name
			}
			if c := p.Status.GetCondition(v1alpha1.ConditionReady); c != nil {
				message = clean(c.Message)
			}
			row = append(row, run, message)
		}
		rows = append(rows, o.scope.withNamespace(p.Namespace, row))
	}
	return columns(rows)
}
