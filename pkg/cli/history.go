package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func newHistory(s *session) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "List the runs of a Provisioning with their results, the oldest first",
		Long: `List the runs of a Provisioning with their results, the oldest first.

For a run that failed, REASON, HOST and MESSAGE are the cause that the controller has
found; -o json and -o yaml have the whole message. The controller deletes old runs, so
the list has only the newest ones. The setting run-history of ConfigMap config-bpa in
namespace bpa-system is the number of runs that it keeps, and run-history-age the time
after which it deletes all but the newest two.`,
		Example: "  kubectl bpa history edge-1\n  kubectl bpa history edge-1 -n site-a -o yaml",
		Args:    oneName(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "" && output != "json" && output != "yaml" {
				return usageError(fmt.Errorf("--output is %q: only json and yaml are supported", output))
			}
			return s.history(cmd.Context(), args[0], output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json or yaml, with all data")
	return cmd
}

func (s *session) history(ctx context.Context, name, output string) error {
	site, err := s.connect()
	if err != nil {
		return err
	}
	p, err := site.get(ctx, name)
	if err != nil {
		return err
	}
	all, err := site.readWork(ctx, site.selections(p.Name)[:2]) // without the pods
	if err != nil {
		return err
	}
	view := historyView{Name: p.Name, Namespace: p.Namespace, Runs: records(p, all)}
	if settings, err := site.settings(ctx); err == nil { // otherwise the number is not known
		view.Kept = settings.RunHistory
	}
	switch output {
	case "json":
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(view)
	case "yaml":
		text, err := yaml.Marshal(view)
		if err != nil {
			return err
		}
		_, err = s.Out.Write(text)
		return err
	}
	_, err = fmt.Fprint(s.Out, site.historyPage(view, metav1.NewTime(s.now())))
	return err
}

// historyPage returns the runs as a table.
func (s *site) historyPage(view historyView, now metav1.Time) string {
	kept := "The controller deletes old runs.\n"
	if view.Kept > 0 {
		kept = fmt.Sprintf("The controller keeps at most the last %d runs.\n", view.Kept)
	}
	if len(view.Runs) == 0 {
		return fmt.Sprintf("%s has no runs. %s", view.Name, kept)
	}
	rows := [][]string{{"RUN", "OPERATION", "ATTEMPT", "STARTED", "DURATION", "RESULT", "REASON", "HOST", "MESSAGE"}}
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
		rows = append(rows, []string{
			r.Name, r.Operation, strconv.Itoa(r.Attempt), started, took, string(r.Result), r.Reason, r.Host, shorten(r.Message, longestCell),
		})
	}
	return columns(rows) + "\n" + kept + "See the log of a run:\n  " + s.kubectl("logs -l tekton.dev/pipelineRun=RUN", "--all-containers --prefix --tail=60") + "\n"
}

// longestCell is the maximum number of characters of a message in a table.
const longestCell = 80

func shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
