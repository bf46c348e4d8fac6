package provisioning

import (
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// release returns the reservation of p, because its run was not created, and wakes the first ones
// that wait.
func (q *queue) release(p *v1alpha1.Provisioning, limit int) {
	q.mu.Lock()
	delete(q.reserved, keyOf(p))
	first, _ := q.waiting(limit, everyone)
	q.mu.Unlock()
	q.wake(first, nil)
}

// reconciled records whether a reconcile of p could observe its state. If it cannot, and p waits,
// nobody knows whether its run could start, so the others must not wait for it.
func (q *queue) reconciled(p *v1alpha1.Provisioning, limit int, err error) {
	q.mu.Lock()
	was := q.stuck[keyOf(p)]
	delete(q.stuck, keyOf(p))
	if err != nil && isWaiting(p) {
		q.stuck[keyOf(p)] = true
	}
	changed := was != q.stuck[keyOf(p)]
	q.mu.Unlock()
	if changed {
		q.wakeThose(limit, laterThan(p))
	}
}

// runChanged wakes those who wait if a run has ended or was deleted. before or after is nil if the
// run did not exist or does not exist any more.
func (q *queue) runChanged(limit int, before, after any) {
	if isActive(before) != isActive(after) {
		q.wakeThose(limit, everyone)
	}
}

// provisioningChanged wakes those whose place has changed, because a Provisioning has joined the
// queue, left it, or moved in it. One that joins at the end wakes no other: the length of the queue
// in the status of the others becomes current when the next run ends. Otherwise, with 1,000 that
// wait, each further one would cause 1,000 updates.
func (q *queue) provisioningChanged(limit int, before, after any) {
	was, is := isWaiting(before), isWaiting(after)
	switch {
	case was && is:
		if waiterOf(before.(*v1alpha1.Provisioning), time.Time{}).compare(waiterOf(after.(*v1alpha1.Provisioning), time.Time{})) != 0 {
			q.wakeThose(limit, everyone)
		}
	case was:
		q.wakeThose(limit, laterThan(before.(*v1alpha1.Provisioning)))
	case is:
		q.wakeThose(limit, laterThan(after.(*v1alpha1.Provisioning)))
	}
}

func everyone(waiter) bool { return true }

// laterThan returns a function that reports whether a waiter comes after p, which waits.
func laterThan(p *v1alpha1.Provisioning) func(waiter) bool {
	me := waiterOf(p, time.Time{})
	return func(w waiter) bool { return w.compare(me) > 0 }
}

func (q *queue) wakeThose(limit int, who func(waiter) bool) {
	q.mu.Lock()
	first, others := q.waiting(limit, who)
	q.mu.Unlock()
	q.wake(first, others)
}

// waiting returns those Provisionings that wait, in their order. At most limit runs can be free, so
// only the first ones of this number can start. The caller holds the lock.
func (q *queue) waiting(limit int, who func(waiter) bool) (first, others []key) {
	waiters := q.waiters()
	slices.SortFunc(waiters, waiter.compare)
	for i, w := range waiters {
		switch {
		case !who(w):
		case i < limit:
			first = append(first, w.key)
		default:
			others = append(others, w.key)
		}
	}
	return first, others
}
