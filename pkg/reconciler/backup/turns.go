package backup

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	tektonlisters "github.com/tektoncd/pipeline/pkg/client/listers/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/reconciler/backup/plan"
)

// turns limits the number of active runs of Backups on the whole site. The order of the Backups that
// wait is in their conditions, so that a restart does not change it.
type turns struct {
	backups listers.BackupLister
	runs    tektonlisters.PipelineRunLister // of Backups
	// wake enqueues the Backups that are next.
	wake func()

	mutex sync.Mutex
	// started are the Backups whose run is being created, or was created and is not in the cache yet.
	started map[types.UID]types.NamespacedName
}

// take reserves a run for a Backup. If the limit is reached, or the free runs belong to older Backups,
// it reserves nothing and returns the place in the queue.
func (t *turns) take(b *v1alpha1.Backup, limit int) (*plan.Turn, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	active, err := t.active()
	if err != nil || active[b.UID] { // an earlier call has reserved it
		return nil, err
	}
	waiting, err := queue(t.backups)
	if err != nil {
		return nil, err
	}
	turn := &plan.Turn{Running: len(active), Limit: limit}
	for _, o := range waiting {
		if o.UID != b.UID && !active[o.UID] && byAge(o, b) < 0 {
			turn.Ahead++
		}
	}
	if turn.Running+turn.Ahead >= limit {
		return turn, nil
	}
	if t.started == nil {
		t.started = map[types.UID]types.NamespacedName{}
	}
	t.started[b.UID] = types.NamespacedName{Namespace: b.Namespace, Name: b.Name}
	return nil, nil
}

// giveBack ends the reservation of a Backup whose run was not created.
func (t *turns) giveBack(b *v1alpha1.Backup) {
	t.mutex.Lock()
	delete(t.started, b.UID)
	t.mutex.Unlock()
	t.wake()
}

// active returns the UIDs of the Backups that have an active run, or a reservation. It ends the
// reservations that the cache has made superfluous.
func (t *turns) active() (map[types.UID]bool, error) {
	all, err := t.runs.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list PipelineRuns: %w", err)
	}
	active, cached := map[types.UID]bool{}, map[types.UID]bool{}
	for _, run := range all {
		owner := metav1.GetControllerOf(run)
		if owner == nil {
			continue
		}
		cached[owner.UID] = true
		if !run.IsDone() {
			active[owner.UID] = true
		}
	}
	for uid, key := range t.started {
		b, err := t.backups.Backups(key.Namespace).Get(key.Name)
		if gone := err != nil || b.UID != uid || b.Status.IsDone(); gone || cached[uid] {
			delete(t.started, uid)
			continue
		}
		active[uid] = true
	}
	return active, nil
}

// queue returns the Backups that wait for a free run, the oldest first.
func queue(lister listers.BackupLister) ([]*v1alpha1.Backup, error) {
	all, err := lister.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list Backups: %w", err)
	}
	waiting := slices.DeleteFunc(slices.Clone(all), func(b *v1alpha1.Backup) bool { return !isQueued(b) })
	slices.SortFunc(waiting, byAge)
	return waiting, nil
}

func isQueued(b *v1alpha1.Backup) bool {
	c := b.Status.GetCondition(v1alpha1.ConditionSucceeded)
	return c != nil && c.Reason == plan.ReasonQueued && b.DeletionTimestamp == nil
}

func byAge(a, b *v1alpha1.Backup) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
