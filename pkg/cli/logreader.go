package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

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
