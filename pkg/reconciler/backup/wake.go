package backup

import (
	"time"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"knative.dev/pkg/kmeta"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// waker enqueues the Backups that may wait for another object.
type waker struct {
	lister  listers.BackupLister
	enqueue func(types.NamespacedName)
}

func backupOf(o any) (*v1alpha1.Backup, bool) {
	if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = last.Obj
	}
	b, ok := o.(*v1alpha1.Backup)
	return b, ok
}

// backupChanged enqueues the Backups that wait for the end of another one.
func (w waker) backupChanged(o any) {
	if b, ok := backupOf(o); ok && (b.Status.IsDone() || b.DeletionTimestamp != nil) {
		w.waiting(b.Namespace, b.Spec.Provisioning)
	}
}

func (w waker) provisioningChanged(o any) {
	if p, err := kmeta.DeletionHandlingAccessor(o); err == nil {
		w.waiting(p.GetNamespace(), p.GetName())
	}
}

// runChanged enqueues the Backups that wait for the end of a run of their Provisioning.
func (w waker) runChanged(o any) {
	if run, err := kmeta.DeletionHandlingAccessor(o); err == nil {
		w.waiting(run.GetNamespace(), run.GetLabels()[contract.LabelCluster])
	}
}

func (w waker) waiting(namespace, provisioning string) {
	all, err := w.lister.Backups(namespace).List(labels.Everything())
	if err != nil {
		return
	}
	for _, b := range all {
		if b.Spec.Provisioning == provisioning && !b.Status.IsDone() && b.Status.Run == "" {
			w.enqueue(types.NamespacedName{Namespace: b.Namespace, Name: b.Name})
		}
	}
}

// queueWaker enqueues the Backups that wait for a free run of the site.
type queueWaker struct {
	backups listers.BackupLister
	limit   func() int
	enqueue func(key types.NamespacedName, after time.Duration)
}

// wake enqueues the Backups that can be next now, and the others later, so that their conditions show
// the new place. If many wait, this writes at most one condition per second.
func (q *queueWaker) wake() {
	waiting, err := queue(q.backups)
	if err != nil {
		return
	}
	limit := q.limit()
	for i, b := range waiting {
		after := time.Duration(0)
		if i >= limit {
			after = time.Duration(len(waiting)) * time.Second
		}
		q.enqueue(types.NamespacedName{Namespace: b.Namespace, Name: b.Name}, after)
	}
}

// backupEvents wakes the queue when a Backup ends or leaves the queue.
func (q *queueWaker) backupEvents() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			old, _ := backupOf(before)
			b, ok := backupOf(after)
			if ok && old != nil && (isQueued(old) && !isQueued(b) || !old.Status.IsDone() && b.Status.IsDone()) {
				q.wake()
			}
		},
		DeleteFunc: func(o any) {
			if b, ok := backupOf(o); ok && !b.Status.IsDone() {
				q.wake()
			}
		},
	}
}

// runEvents wakes the queue when the run of a Backup ends.
func (q *queueWaker) runEvents() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			old, _ := before.(*tekton.PipelineRun)
			if run, ok := after.(*tekton.PipelineRun); ok && old != nil && !old.IsDone() && run.IsDone() {
				q.wake()
			}
		},
		DeleteFunc: func(any) { q.wake() },
	}
}
