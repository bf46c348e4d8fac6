package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
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

// logReader shows the steps of a run, each one once.
type logReader struct {
	site    *site
	pods    corev1client.PodsGetter
	options logsOptions
	out     *lockedWriter
	errOut  *lockedWriter
	begun   map[stepKey]bool
	steps   sync.WaitGroup // that are followed
}

// stepKey is a step of a pod. An empty step stands for the pod.
type stepKey struct {
	pod  types.UID
	step string
}

// lockedWriter writes whole lines of steps that run at the same time.
type lockedWriter struct {
	mu  sync.Mutex
	out io.Writer
}

func (w *lockedWriter) line(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = fmt.Fprintln(w.out, text)
}

// stepContainer begins the names of the containers in which Tekton runs the steps of a task.
const stepContainer = "step-"

// show shows the steps that have begun and were not shown before, and returns their number. With --follow, a step that has not ended
// is shown further while show returns.
func (l *logReader) show(ctx context.Context, run work) (shown int, err error) {
	for _, pod := range run.pods {
		task := pod.Labels[pipeline.PipelineTaskLabelKey]
		if l.options.task != "" && task != l.options.task {
			continue
		}
		steps := slices.DeleteFunc(slices.Clone(pod.Spec.Containers), func(c corev1.Container) bool { return !strings.HasPrefix(c.Name, stepContainer) })
		for _, step := range steps {
			key := stepKey{pod.UID, step.Name}
			state, started := stateOf(pod, step.Name)
			if l.begun[key] || !started {
				continue
			}
			l.begun[key] = true
			shown++
			prefix := "[" + task + "] "
			if len(steps) > 1 {
				prefix = "[" + task + " : " + strings.TrimPrefix(step.Name, stepContainer) + "] "
			}
			if l.options.follow && state.Terminated == nil {
				l.steps.Go(func() {
					if err := l.stream(ctx, pod, step.Name, prefix); err != nil && ctx.Err() == nil {
						l.errOut.line(prefix + "the log ends here: " + err.Error())
					}
				})
				continue
			}
			if err := l.stream(ctx, pod, step.Name, prefix); err != nil {
				if permanent(err) || ctx.Err() != nil {
					return shown, l.site.explain(err)
				}
				l.errOut.line(prefix + "the log cannot be read: " + err.Error())
			}
		}
		if key := (stepKey{pod: pod.UID}); !l.begun[key] {
			if why := stuck(pod); why != "" {
				l.begun[key] = true
				shown++
				l.errOut.line("[" + task + "] " + why)
			}
		}
	}
	l.lost(run)
	return shown, nil
}

// lost reports the tasks whose pods are gone while others are there.
func (l *logReader) lost(run work) {
	if len(run.pods) == 0 {
		return
	}
	for _, t := range run.tasks {
		task := t.Labels[pipeline.PipelineTaskLabelKey]
		gone := t.Status.PodName != "" && !slices.ContainsFunc(run.pods, func(p *corev1.Pod) bool { return p.Name == t.Status.PodName })
		if key := (stepKey{pod: t.UID, step: t.Name}); gone && !l.begun[key] && (l.options.task == "" || l.options.task == task) {
			l.begun[key] = true
			l.errOut.line("[" + task + "] its pod " + t.Status.PodName + " was deleted, and its log with it")
		}
	}
}

// stateOf returns the state of a container. started is false before it has printed anything.
func stateOf(pod *corev1.Pod, container string) (state corev1.ContainerState, started bool) {
	for _, c := range pod.Status.ContainerStatuses {
		if c.Name == container {
			return c.State, c.State.Running != nil || c.State.Terminated != nil
		}
	}
	return state, false
}

// stuck says why no container of a pod can start, such as an image that cannot be pulled; empty: nothing is known to be wrong.
func stuck(pod *corev1.Pod) string {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Message != "" {
			return fmt.Sprintf("pod %s: container %s waits (%s): %s", pod.Name, c.Name, clean(w.Reason), clean(w.Message))
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("pod %s has no machine (%s): %s", pod.Name, clean(c.Reason), clean(c.Message))
		}
	}
	return ""
}

// longestLine is the number of bytes of a log that are read at once.
const longestLine = 64 << 10

// stream shows what one step has printed, and with --follow what it prints until it ends.
func (l *logReader) stream(ctx context.Context, pod *corev1.Pod, container, prefix string) error {
	options := &corev1.PodLogOptions{Container: container, Follow: l.options.follow}
	if l.options.tail >= 0 {
		options.TailLines = ptr.To(l.options.tail)
	}
	in, err := l.pods.Pods(pod.Namespace).GetLogs(pod.Name, options).Stream(ctx)
	if err != nil {
		return err
	}
	defer in.Close()
	lines := bufio.NewReaderSize(in, longestLine)
	for {
		line, _, err := lines.ReadLine() // a longer line is shown as several
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		l.out.line(prefix + harmless(string(line)))
	}
}

// harmless returns a line without what would change the terminal. It keeps tabs and indentation, unlike clean.
func harmless(line string) string {
	return strings.TrimRight(strings.Map(func(r rune) rune {
		if r == '\t' || r == ' ' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, escapes.ReplaceAllString(line, "")), " ")
}

// follow shows the steps of a run as they begin, until the run and its steps have ended.
func (l *logReader) follow(ctx context.Context, p *v1alpha1.Provisioning, run *tekton.PipelineRun, selections []*selection) error {
	ctx, cancel := context.WithCancel(ctx)
	defer l.steps.Wait()
	defer cancel()
	watch, err := watchAll(ctx, []client.Object{&tekton.PipelineRun{}, &tekton.TaskRun{}, &corev1.Pod{}}, selections)
	if err != nil {
		return err
	}
	total := 0
	for {
		if all, known := watch.now(); known {
			now := all.of(run.UID, run.Name)
			shown, err := l.show(ctx, now)
			if total += shown; err != nil {
				return err
			}
			switch {
			case len(now.runs) == 0:
				return fmt.Errorf("run %s was deleted, and its pods with it", run.Name)
			case now.runs[0].IsDone() && !slices.ContainsFunc(now.pods, active):
				if total == 0 {
					return l.site.noLog(p, now.runs[0], all, l.options)
				}
				l.steps.Wait()
				l.errOut.line(fmt.Sprintf("Run %s has ended: %s", run.Name, ended(makeRecord(now.runs[0], now.tasks))))
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-watch.failed:
			return l.site.explain(err)
		case <-watch.changed:
		}
	}
}

// active reports whether a pod may still print something.
func active(pod *corev1.Pod) bool {
	return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}
