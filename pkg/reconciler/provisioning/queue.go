package provisioning

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// queue limits the number of active runs on the site. Which runs are active and who waits is read
// from the caches, so a restart loses nothing. In memory, it holds only what the caches do not show
// yet: the runs that this process is creating. With several workers, two reconciles could otherwise
// both take the last free run.
type queue struct {
	runs, provisionings cache.Indexer // with the indexes of runIndex and waitingIndex
	// wake enqueues Provisionings that wait: a free run concerns the first ones, urgently.
	wake func(first, others []key)

	mu sync.Mutex
	// reserved are the runs that this process creates or has created, by their Provisionings, until
	// the cache shows them.
	reserved map[key]reservation
	// stuck are waiting Provisionings whose last reconcile has failed. The others do not wait for
	// them.
	stuck map[key]bool
}

type reservation struct {
	run string
	at  time.Time
}

// longestLag is how long a created run can be missing in the cache. After this time, the run was
// not created, or was deleted before the cache could show it.
const longestLag = time.Minute

// errQueued is returned if another reconcile has taken the last free run since the queue was
// observed.
var errQueued = errors.New("another run has started, and no more runs may start at a time")

// The indexes of the caches. Each finds the few objects that matter here without a search through
// all objects of the site.
const (
	byActive  = "bpa-active"
	byWaiting = "bpa-waiting"
	byBusy    = "bpa-busy"    // active runs by their Provisioning
	byPool    = "bpa-pool"    // Provisionings that may wait for a host, by the namespace of their hosts
	byAddress = "bpa-address" // Provisionings by the address of their API servers: see addressIndex
	found     = "true"
)

var (
	runIndex     = cache.Indexers{byActive: indexed(isActive), byBusy: busyIndex}
	waitingIndex = cache.Indexers{byWaiting: indexed(isWaiting), byPool: poolIndex, byAddress: addressIndex}
)

func indexed(which func(any) bool) cache.IndexFunc {
	return func(o any) ([]string, error) {
		if which(o) {
			return []string{found}, nil
		}
		return nil, nil
	}
}

func busyIndex(o any) ([]string, error) {
	if run, ok := o.(*tekton.PipelineRun); ok && isActive(run) {
		return []string{key{Namespace: run.Namespace, Name: run.Labels[contract.LabelCluster]}.String()}, nil
	}
	return nil, nil
}

func poolIndex(o any) ([]string, error) {
	if p, ok := o.(*v1alpha1.Provisioning); ok && mayWaitForHost(p) {
		return []string{p.HostNamespace()}, nil
	}
	return nil, nil
}

// isActive reports whether the object is a run that has not ended. A cancelled run ends as soon as
// Tekton has asked its pods to end. They normally end within their grace period of 30 s, for which a
// run of another cluster need not wait. For a run of the same cluster, startRun waits for the pods.
func isActive(o any) bool {
	run, ok := o.(*tekton.PipelineRun)
	return ok && !run.IsDone()
}

// isWaiting reports whether the object is a Provisioning that waits for a free run.
func isWaiting(o any) bool {
	p, ok := o.(*v1alpha1.Provisioning)
	return ok && p.Status.Queue != nil && p.Status.Queue.Place > 0
}

func newQueue(runs, provisionings cache.Indexer, wake func(first, others []key)) *queue {
	return &queue{runs: runs, provisionings: provisionings, wake: wake, reserved: map[key]reservation{}, stuck: map[key]bool{}}
}

// waiter is a Provisioning that waits for a free run.
type waiter struct {
	key      key
	deleting bool
	priority int32
	since    time.Time
}

func waiterOf(p *v1alpha1.Provisioning, now time.Time) waiter {
	w := waiter{key: keyOf(p), deleting: p.DeletionTimestamp != nil, priority: p.Spec.Priority, since: now.Truncate(time.Second)} // the status has whole seconds
	if p.Status.Queue != nil {
		w.since = p.Status.Queue.Since.Time
	}
	return w
}

// compare orders waiters. A reset comes first, because a deletion returns hosts for which the others
// may wait. It takes minutes, an installation up to hours.
func (w waiter) compare(other waiter) int {
	rank := func(w waiter) int {
		if w.deleting {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(rank(w), rank(other)),
		cmp.Compare(other.priority, w.priority),
		w.since.Compare(other.since),
		strings.Compare(w.key.Namespace, other.key.Namespace),
		strings.Compare(w.key.Name, other.key.Name),
	)
}

func keyOf(p *v1alpha1.Provisioning) key { return key{Namespace: p.Namespace, Name: p.Name} }

// busy reports whether the cache shows an active run of a Provisioning.
func (q *queue) busy(k key) bool {
	runs, _ := q.runs.IndexKeys(byBusy, k.String()) // fails only if the index is missing
	return len(runs) > 0
}

// flight returns the number of active runs that the cache shows.
func (q *queue) flight() int {
	runs, _ := q.runs.IndexKeys(byActive, found) // fails only if the index is missing
	return len(runs)
}

// observe returns the queue as p sees it, or nil if limit is 0.
func (q *queue) observe(p *v1alpha1.Provisioning, limit int, now time.Time) *plan.Queue {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.look(p, limit, now)
}

// take reserves a free run for p, if it is the turn of p. The reservation ends when the cache shows
// the run, or with release.
func (q *queue) take(p *v1alpha1.Provisioning, limit int, run string, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.look(p, limit, now).Turn() {
		return false
	}
	q.reserved[keyOf(p)] = reservation{run, now}
	return true
}

// look computes the queue as p sees it. The caller holds the lock.
func (q *queue) look(p *v1alpha1.Provisioning, limit int, now time.Time) *plan.Queue {
	if limit == 0 {
		return nil
	}
	active, unseen := q.active(keyOf(p), now)
	me := waiterOf(p, now)
	seen := &plan.Queue{Limit: limit, Since: me.since, Length: 1}
	if unseen {
		seen.Recheck = longestLag
	}
	running := map[key]bool{}
	for _, holder := range active {
		running[holder] = true
		if holder.Namespace == p.Namespace {
			seen.Active = append(seen.Active, holder.Name)
		} else {
			seen.Elsewhere++
		}
	}
	slices.Sort(seen.Active)
	for _, w := range q.waiters() {
		if w.key == me.key || running[w.key] { // its status does not show yet that its run has started
			continue
		}
		seen.Length++
		if w.compare(me) < 0 {
			seen.Ahead++
		}
	}
	return seen
}

// active returns, by the run, the Provisionings of the active runs and of the runs that other
// reconciles are creating. unseen reports whether one of them is missing in the cache. The caller
// holds the lock.
func (q *queue) active(me key, now time.Time) (active map[key]key, unseen bool) {
	active = map[key]key{}
	for holder, r := range q.reserved { // before the cache: a run that the cache receives meanwhile counts once
		run := key{Namespace: holder.Namespace, Name: r.run}
		_, shown, _ := q.runs.GetByKey(run.String()) // an indexer in memory returns no error
		switch {
		case shown || now.Sub(r.at) >= longestLag:
			delete(q.reserved, holder)
		case holder != me:
			active[run], unseen = holder, true
		}
	}
	runs, _ := q.runs.ByIndex(byActive, found) // fails only if the index is missing
	for _, o := range runs {
		run := o.(*tekton.PipelineRun)
		active[key{Namespace: run.Namespace, Name: run.Name}] = key{Namespace: run.Namespace, Name: run.Labels[contract.LabelCluster]}
	}
	return active, unseen
}

// waiters returns the Provisionings that wait, without the stuck ones. The caller holds the lock.
func (q *queue) waiters() []waiter {
	all, _ := q.provisionings.ByIndex(byWaiting, found) // fails only if the index is missing
	waiters := make([]waiter, 0, len(all))
	for _, o := range all {
		if p := o.(*v1alpha1.Provisioning); !q.stuck[keyOf(p)] {
			waiters = append(waiters, waiterOf(p, time.Time{}))
		}
	}
	return waiters
}
