package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

type historyOptions struct {
	scope  scope
	output output
}

func newHistory(s *session) *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history [NAME]",
		Short: "List the runs of a Provisioning with their results, the oldest first",
		Long: `List the runs of a Provisioning with their results, the oldest first. Without NAME the
command lists the runs of all Provisionings of the namespace.

For a run that failed, REASON, HOST and MESSAGE are the cause that the controller has
found; -o wide, -o json and -o yaml have the whole message. The controller deletes old
runs, so the list has only the newest ones. The setting run-history of ConfigMap config-bpa
in namespace bpa-system is the number of runs that it keeps, and run-history-age the time
after which it deletes all but the newest two.`,
		Example: "  kubectl bpa history edge-1\n  kubectl bpa history edge-1 -n site-a -o yaml\n  kubectl bpa history -A",
		Args:    oneName(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.scope.check(first(args)); err != nil {
				return err
			}
			if err := o.output.check(); err != nil {
				return err
			}
			return s.history(cmd.Context(), first(args), &o)
		},
	}
	completeArgs(cmd, s.clusterNames())
	o.scope.add(cmd)
	o.output.add(cmd, formatName, formatWide)
	return cmd
}

func (s *session) history(ctx context.Context, name string, o *historyOptions) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	views, objects, err := site.histories(ctx, name, o.scope)
	if err != nil {
		return err
	}
	switch {
	case o.output.isName():
		list, err := printedList(site, objects)
		if err != nil {
			return err
		}
		return o.output.print(s.Out, list)
	case !o.output.table() && name != "":
		return o.output.printReport(s.Out, reportHistory, views[0])
	case !o.output.table():
		return printReports(&o.output, s.Out, reportHistory, views)
	case len(views) == 0:
		_, err := fmt.Fprintf(s.ErrOut, "There is no Provisioning %s.\n", o.scope.where(site))
		return err
	case name == "":
		_, err = fmt.Fprint(s.Out, o.table(views, metav1.NewTime(s.now()), true))
		return err
	}
	_, err = fmt.Fprint(s.Out, site.historyPage(views[0], metav1.NewTime(s.now()), o))
	return err
}

// histories returns the runs of one Provisioning, or of each one of a scope, and the PipelineRuns.
func (s *site) histories(ctx context.Context, name string, c scope) (views []historyView, objects []client.Object, err error) {
	var all []v1alpha1.Provisioning
	if name == "" {
		all, err = s.list(ctx, c)
	} else {
		var p *v1alpha1.Provisioning
		if p, err = s.get(ctx, name); err == nil {
			all = []v1alpha1.Provisioning{*p}
		}
	}
	if err != nil {
		return nil, nil, err
	}
	kept := 0
	if settings, err := s.settings(ctx); err == nil { // otherwise the number is not known
		kept = settings.RunHistory
	}
	for i := range all {
		p := &all[i]
		there := s.in(p.Namespace)
		work, err := there.readWork(ctx, there.selections(p.Name)[:2]) // without the pods
		if err != nil {
			return nil, nil, err
		}
		view := historyView{Name: p.Name, Namespace: p.Namespace, Kept: kept, Runs: records(p, work)}
		for _, r := range view.Runs {
			at := slices.IndexFunc(work.runs, func(run *tekton.PipelineRun) bool { return run.Name == r.Name })
			objects = append(objects, work.runs[at])
		}
		views = append(views, view)
	}
	return views, objects, nil
}

// table returns runs as a table. of adds the columns that tell the Provisionings apart.
func (o *historyOptions) table(views []historyView, now metav1.Time, of bool) string {
	add := func(namespace, provisioning string, row ...string) []string {
		if of {
			row = append([]string{provisioning}, row...)
		}
		return o.scope.withNamespace(namespace, row)
	}
	rows := [][]string{add("NAMESPACE", "PROVISIONING", "RUN", "OPERATION", "ATTEMPT", "STARTED", "DURATION", "RESULT", "REASON", "HOST", "MESSAGE")}
	for _, view := range views {
		for _, r := range view.Runs {
			started, took := "", ""
			if r.StartTime != nil {
				started = r.StartTime.UTC().Format(time.RFC3339)
				end := r.CompletionTime
				if end == nil {
					end = &now
				}
				took = clock(max(end.Sub(r.StartTime.Time), 0))
			}
			rows = append(rows, add(view.Namespace, view.Name,
				r.Name, r.Operation, strconv.Itoa(r.Attempt), started, took, string(r.Result), r.Reason, r.Host, o.output.cell(r.Message)))
		}
	}
	return columns(rows)
}

// historyPage returns the runs of one Provisioning as a table, with the next command.
func (s *site) historyPage(view historyView, now metav1.Time, o *historyOptions) string {
	kept := "The controller deletes old runs.\n"
	if view.Kept > 0 {
		kept = fmt.Sprintf("The controller keeps at most the last %d runs.\n", view.Kept)
	}
	if len(view.Runs) == 0 {
		return fmt.Sprintf("%s has no runs. %s", view.Name, kept)
	}
	return o.table([]historyView{view}, now, false) + "\n" + kept + "See the log of a run:\n  " + s.runLog(view.Name, "NUMBER", "--tail=60") + "\n"
}

// longestCell is the maximum number of characters of a message in a table.
const longestCell = 80

func shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
