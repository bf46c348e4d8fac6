package cli

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// work is all that may work on the hosts of one cluster. The controller starts no run before all of
// it has ended.
type work struct {
	runs  []*tekton.PipelineRun
	tasks []*tekton.TaskRun
	pods  []*corev1.Pod
}

// worker is one object of a work that has not ended.
type worker struct{ kind, name, run string }

func (w worker) String() string { return w.kind + " " + w.name }

// unfinished returns the objects that have not ended. If only is not nil, it returns those of the
// runs with these names.
func (w work) unfinished(only []string) []worker {
	var all []worker
	add := func(kind string, o client.Object, run string) {
		if only == nil || slices.Contains(only, run) {
			all = append(all, worker{kind, o.GetName(), run})
		}
	}
	for _, run := range w.runs {
		if !run.IsDone() {
			add("PipelineRun", run, run.Name)
		}
	}
	for _, task := range w.tasks {
		if !task.IsDone() {
			add("TaskRun", task, task.Labels[pipeline.PipelineRunLabelKey])
		}
	}
	for _, pod := range w.pods {
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			add("pod", pod, pod.Labels[pipeline.PipelineRunLabelKey])
		}
	}
	return all
}

// selections returns the sources of a work: PipelineRuns, TaskRuns and pods.
func (s *site) selections(cluster string) []*selection {
	options := []client.ListOption{client.InNamespace(s.namespace), client.MatchingLabels{contract.LabelCluster: cluster}}
	return []*selection{
		{client: s.client, options: options, list: func() client.ObjectList { return &tekton.PipelineRunList{} }},
		{client: s.client, options: options, list: func() client.ObjectList { return &tekton.TaskRunList{} }},
		{client: s.client, options: options, list: func() client.ObjectList { return &corev1.PodList{} }},
	}
}

// readWork asks the API server for these parts of a work.
func (s *site) readWork(ctx context.Context, parts []*selection) (work, error) {
	var w work
	for _, source := range parts {
		all := source.list()
		if err := s.client.List(ctx, all, source.options...); err != nil {
			return w, s.explain(err)
		}
		switch list := all.(type) {
		case *tekton.PipelineRunList:
			w.runs = pointers(list.Items)
		case *tekton.TaskRunList:
			w.tasks = pointers(list.Items)
		case *corev1.PodList:
			w.pods = pointers(list.Items)
		}
	}
	return w, nil
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}

// workWatch follows the work of a cluster, or other objects.
type workWatch struct {
	informers []cache.SharedIndexInformer
	changed   chan struct{} // has a value after a change
	failed    chan error    // has a permanent error
}

// watchWork watches the work of a cluster until ctx ends.
func (s *site) watchWork(ctx context.Context, cluster string) (*workWatch, error) {
	return watchAll(ctx, []client.Object{&tekton.PipelineRun{}, &tekton.TaskRun{}, &corev1.Pod{}}, s.selections(cluster))
}

// watchAll watches the objects of each selection until ctx ends. Its informers resume a watch that was
// closed, as described at observe.
func watchAll(ctx context.Context, kinds []client.Object, selections []*selection) (*workWatch, error) {
	w := &workWatch{changed: make(chan struct{}, 1), failed: make(chan error, 1)}
	var synced []cache.InformerSynced
	for i, source := range selections {
		informer := cache.NewSharedIndexInformer(source, kinds[i], 0, nil)
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { w.change() },
			UpdateFunc: func(any, any) { w.change() },
			DeleteFunc: func(any) { w.change() },
		})
		if err != nil {
			return nil, err
		}
		if err := informer.SetWatchErrorHandlerWithContext(w.watchFailed); err != nil {
			return nil, err
		}
		w.informers, synced = append(w.informers, informer), append(synced, informer.HasSynced)
		go informer.RunWithContext(klog.NewContext(ctx, logr.Discard()))
	}
	go func() { // no event reports that a list is empty
		if cache.WaitForCacheSync(ctx.Done(), synced...) {
			w.change()
		}
	}()
	return w, nil
}

func (w *workWatch) change() {
	select {
	case w.changed <- struct{}{}:
	default: // the reader has not seen the last change yet
	}
}

func (w *workWatch) watchFailed(_ context.Context, _ *cache.Reflector, err error) {
	if !permanent(err) {
		return
	}
	select {
	case w.failed <- err:
	default: // one error is enough
	}
}

// now returns the present work. The second result is false while a list has not been read.
func (w *workWatch) now() (work, bool) {
	var all work
	objects, known := w.objects()
	for _, o := range objects {
		switch o := o.(type) {
		case *tekton.PipelineRun:
			all.runs = append(all.runs, o)
		case *tekton.TaskRun:
			all.tasks = append(all.tasks, o)
		case *corev1.Pod:
			all.pods = append(all.pods, o)
		}
	}
	return all, known
}

// objects returns all objects that are watched, in no order. The second result is false while a list has not been read.
func (w *workWatch) objects() (all []client.Object, known bool) {
	for _, informer := range w.informers {
		if !informer.HasSynced() {
			return nil, false
		}
		for _, o := range informer.GetStore().List() {
			if object, ok := o.(client.Object); ok {
				all = append(all, object)
			}
		}
	}
	return all, true
}
