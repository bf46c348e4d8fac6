package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

type logsOptions struct {
	run    string // number or name; empty: the newest run
	task   string // empty: all tasks
	follow bool
	tail   int64 // lines of each step; negative: all
}

func newLogs(s *session) *cobra.Command {
	var o logsOptions
	cmd := &cobra.Command{
		Use:   "logs [NAME]",
		Short: "Show the log of a run: what its tasks have printed",
		Long: `Show the log of a run: what its tasks have printed, each line with the name of the task.
Without --run, it is the newest run of the cluster. kubectl bpa history lists the runs.

The log is in the pods of the run. They are deleted with the run, and when somebody deletes
them: the setting run-history of ConfigMap config-bpa in namespace bpa-system is the number
of runs that the controller keeps. The cause of a failure is also in kubectl bpa history.

With -f, the command goes on until the run has ended.`,
		Example: "  kubectl bpa logs edge-1 -f\n  kubectl bpa logs edge-1 --run 3 --task kubespray\n  kubectl bpa logs edge-1 --run edge-1-20261121023000-backup",
		Args:    oneName(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			return interrupted(cmd.Context(), s.logs(cmd.Context(), first(args), o))
		},
	}
	cmd.Flags().StringVar(&o.run, "run", "", "number or name of a run, also of one of a Backup (default: the newest run of the cluster)")
	cmd.Flags().StringVar(&o.task, "task", "", "show only the log of this task, such as kubespray")
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on until the run has ended")
	cmd.Flags().Int64Var(&o.tail, "tail", -1, "show only the last lines of each step; -1: all")
	completeArgs(cmd, s.clusterNames())
	complete(cmd, "run", s.names(func() client.ObjectList { return &tekton.PipelineRunList{} }, func(run client.Object, args []string) bool {
		return len(args) == 0 || run.GetLabels()[contract.LabelCluster] == args[0] || strings.HasPrefix(run.GetName(), args[0]+"-")
	}))
	complete(cmd, "task", func(*cobra.Command, []string) []string { return taskNames() })
	return cmd
}

func taskNames() (all []string) {
	for _, task := range contract.Tasks {
		all = append(all, task.Name)
	}
	return append(all, contract.TaskBackup)
}

func (s *session) logs(ctx context.Context, name string, o logsOptions) error {
	site, p, err := s.cluster(ctx, name)
	if err != nil {
		return err
	}
	run, selections, err := site.runToShow(ctx, p, o.run)
	if err != nil {
		return err
	}
	pods, err := corev1client.NewForConfig(site.config)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	l := &logReader{site: site, pods: pods, options: o, out: &lockedWriter{out: s.Out}, errOut: &lockedWriter{out: s.ErrOut}, begun: map[stepKey]bool{}}
	if o.follow {
		return l.follow(ctx, p, run, selections)
	}
	all, err := site.readWork(ctx, selections)
	if err != nil {
		return err
	}
	shown, err := l.show(ctx, all.of(run.UID, run.Name))
	if err != nil || shown > 0 {
		return err
	}
	return site.noLog(p, run, all, o)
}

// runToShow returns a run of p, and where its tasks and pods are. It returns an error that lists the runs if there is no such run.
func (s *site) runToShow(ctx context.Context, p *v1alpha1.Provisioning, which string) (*tekton.PipelineRun, []*selection, error) {
	if backup, is := strings.CutSuffix(which, "-"+contract.OperationBackup); is {
		return s.runOfBackup(ctx, p, backup, which)
	}
	selections := s.selections(p.Name)
	all, err := s.readWork(ctx, selections[:1])
	if err != nil {
		return nil, nil, err
	}
	var kept []string
	for _, r := range records(p, all) { // sorted
		kept = append(kept, r.Name)
	}
	if len(kept) == 0 {
		return nil, nil, exitf(codeNotYet, "%s has no run. The conditions say what it waits for:\n  %s", p.Name, s.kubectl("bpa status "+p.Name, ""))
	}
	name := cmp.Or(which, kept[len(kept)-1])
	if n, err := strconv.Atoi(which); err == nil {
		name = ""
		if i := slices.IndexFunc(kept, func(run string) bool { return number(run) == n }); i >= 0 {
			name = kept[i]
		}
	}
	if !slices.Contains(kept, name) {
		return nil, nil, fmt.Errorf("there is no run %s of %s: the controller has deleted it, and its log with it, or it never was. There are %s", which, p.Name, strings.Join(kept, ", "))
	}
	return all.runs[slices.IndexFunc(all.runs, func(r *tekton.PipelineRun) bool { return r.Name == name })], selections, nil
}

// runOfBackup returns the run of a Backup of p, which does not count as a run of p.
func (s *site) runOfBackup(ctx context.Context, p *v1alpha1.Provisioning, backup, run string) (*tekton.PipelineRun, []*selection, error) {
	var b v1alpha1.Backup
	err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: backup}, &b)
	if apierrors.IsNotFound(err) && !isKindMissing(err) || err == nil && b.Spec.Provisioning != p.Name {
		return nil, nil, fmt.Errorf("there is no run %s: %s has no Backup %s. List its Backups:\n  %s", run, p.Name, backup, s.kubectl("bpa backups "+p.Name, ""))
	}
	if err != nil {
		return nil, nil, s.explain(err)
	}
	selections := s.selections(p.Name)
	for _, source := range selections {
		source.options = []client.ListOption{client.InNamespace(s.namespace), client.MatchingLabels{contract.LabelBackup: backup}}
	}
	all, err := s.readWork(ctx, selections[:1])
	if err != nil {
		return nil, nil, err
	}
	for _, r := range all.runs {
		if r.Name == run {
			return r, selections, nil
		}
	}
	return nil, nil, fmt.Errorf("there is no run %s any more, nor its log: its result is in the Backup:\n  %s", run, s.kubectl("bpa backups "+p.Name, ""))
}

// of returns the part of a work that belongs to one run: a run that was deleted and created again has another UID.
func (w work) of(uid types.UID, run string) work {
	w.runs = slices.DeleteFunc(slices.Clone(w.runs), func(r *tekton.PipelineRun) bool { return r.UID != uid })
	w.tasks = slices.DeleteFunc(slices.Clone(w.tasks), func(t *tekton.TaskRun) bool { return t.Labels[pipeline.PipelineRunLabelKey] != run })
	w.pods = slices.DeleteFunc(slices.Clone(w.pods), func(p *corev1.Pod) bool { return p.Labels[pipeline.PipelineRunLabelKey] != run })
	slices.SortFunc(w.pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	return w
}

// noLog explains why nothing of a run can be shown.
func (s *site) noLog(p *v1alpha1.Provisioning, run *tekton.PipelineRun, all work, o logsOptions) error {
	r := makeRecord(run, all.of(run.UID, run.Name).tasks)
	if !run.IsDone() {
		return exitf(codeNotYet, "run %s has printed nothing yet. Follow it:\n  %s", run.Name, s.runLog(p.Name, run.Name, "-f"))
	}
	of := ""
	if o.task != "" {
		of = " of task " + o.task
	}
	text := fmt.Sprintf("there is no log%s of run %s any more: it was in the run's pods, and they are deleted. The result of the run is %s", of, run.Name, ended(r))
	var others []string
	for _, other := range all.runs {
		if len(all.of(other.UID, other.Name).pods) > 0 {
			others = append(others, other.Name)
		}
	}
	if len(others) > 0 {
		text += "\nRuns with pods: " + strings.Join(others, ", ")
	}
	return errors.New(text)
}

// ended describes the result of a run.
func ended(r record) string {
	text := string(r.Result)
	if r.Reason != "" {
		text += " (" + r.Reason + ")"
	}
	if r.Task != "" {
		text += " in " + r.Task
	}
	if r.Host != "" {
		text += " on " + r.Host
	}
	if r.Message != "" {
		text += ": " + r.Message
	}
	return text
}
