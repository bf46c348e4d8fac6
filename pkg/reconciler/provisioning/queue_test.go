package provisioning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgotesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"knative.dev/pkg/controller"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// cluster returns the n-th Provisioning of a test with many.
func cluster(n int, changes ...func(*v1alpha1.Provisioning)) *v1alpha1.Provisioning {
	return edge(append([]func(*v1alpha1.Provisioning){func(p *v1alpha1.Provisioning) {
		p.Name, p.UID = fmt.Sprintf("edge-%02d", n), types.UID(fmt.Sprintf("uid-%d", n))
	}}, changes...)...)
}

func clusterKey(n int) key { return keyOf(cluster(n)) }

// waits sets the status of a Provisioning that began to wait so many minutes ago.
func waits(minutes int, place int32) func(*v1alpha1.Provisioning) {
	return func(p *v1alpha1.Provisioning) {
		p.Status.Queue = &v1alpha1.QueueStatus{Since: metav1.Time{Time: now.Add(-time.Duration(minutes) * time.Minute)}, Place: place, Length: place}
	}
}

func priority(n int32) func(*v1alpha1.Provisioning) {
	return func(p *v1alpha1.Provisioning) { p.Spec.Priority = n }
}

// crowd returns a fixture with these objects, a key and a limit.
func crowd(t *testing.T, limit int, objects ...runtime.Object) *fixture {
	t.Helper()
	w := newFixture(t, fitting(), append(objects, sshKey()), nil)
	w.recorder = record.NewFakeRecorder(10_000)
	w.settings.MaxRuns = limit
	return w
}

// visitAll reconciles these Provisionings with several workers. Nothing updates the caches meanwhile.
func (w *fixture) visitAll(t *testing.T, keys []key) {
	t.Helper()
	work, r := make(chan key), w.reconciler(t)
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for k := range work {
				err := r.Reconcile(context.Background(), k.String())
				if again, _ := controller.IsRequeueKey(err); err != nil && !again && !controller.IsSkipKey(err) {
					t.Errorf("%s: %v", k, err)
				}
			}
		})
	}
	for _, k := range keys {
		work <- k
	}
	close(work)
	workers.Wait()
}

// active returns the Provisionings with an active run, sorted, from the API server itself.
func (w *fixture) active(t *testing.T) (names []string) {
	t.Helper()
	all, err := w.tekton.TektonV1().PipelineRuns("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pr := range all.Items {
		if !pr.IsDone() {
			names = append(names, pr.Labels[contract.LabelCluster])
		}
	}
	slices.Sort(names)
	return names
}

// end ends the active run of a Provisioning, updates the caches, and returns whom the queue wakes.
func (w *fixture) end(t *testing.T, cluster string) []key {
	t.Helper()
	ctx, runs := context.Background(), w.tekton.TektonV1().PipelineRuns(site)
	pr, err := runs.Get(ctx, cluster+"-install-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	before := pr.DeepCopy()
	ended(corev1.ConditionFalse, "Cancelled")(pr)
	if _, err := runs.Update(ctx, pr, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	w.woken = nil
	w.queue.runChanged(w.settings.MaxRuns, before, pr)
	return w.woken
}

func (w *fixture) statusOf(t *testing.T, k key) *v1alpha1.ProvisioningStatus {
	t.Helper()
	p, err := w.bpa.BpaV1alpha1().Provisionings(k.Namespace).Get(context.Background(), k.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &p.Status
}

// Many Provisionings and several workers: no more runs are active than the site allows, even while no
// cache shows any of them. Each end of a run starts the next one, by priority and then in order. A
// restart of the controller changes nothing. Every run is the first attempt.
func TestRunsAtATime(t *testing.T) {
	const limit, all = 4, 24
	var objects []runtime.Object
	var keys []key
	for n := range all {
		objects, keys = append(objects, cluster(n)), append(keys, clusterKey(n))
	}
	objects[all-1].(*v1alpha1.Provisioning).Spec.Priority = 7
	w := crowd(t, limit, objects...)
	for range 3 { // the caches stay as they were before the first run
		w.visitAll(t, keys)
		if got := w.active(t); len(got) != limit {
			t.Fatalf("active: %q", got)
		}
	}
	for _, name := range w.active(t) { // its own run, which the cache does not show, keeps nobody waiting
		if q := w.statusOf(t, key{Namespace: site, Name: name}).Queue; q != nil {
			t.Errorf("%s has a run and waits: %+v", name, q)
		}
	}
	for range 2 { // in the second pass, everyone knows who else waits
		w.sync(t)
		w.visitAll(t, keys)
	}
	w.sync(t)

	var waiting []string
	for _, k := range keys {
		if !slices.Contains(w.active(t), k.Name) {
			waiting = append(waiting, k.Name)
		}
	}
	if last := clusterKey(all - 1).Name; waiting[len(waiting)-1] == last {
		waiting = append([]string{last}, waiting[:len(waiting)-1]...)
	}
	for place, name := range waiting {
		status := w.statusOf(t, key{Namespace: site, Name: name})
		if q := status.Queue; q == nil || int(q.Place) != place+1 || int(q.Length) != len(waiting) || !q.Since.Time.Equal(now) {
			t.Fatalf("%s: queue %+v, want place %d of %d since %s", name, q, place+1, len(waiting), now)
		}
		if got, want := status.Progress.Summary, fmt.Sprintf("queued, place %d of %d", place+1, len(waiting)); got != want {
			t.Errorf("%s: progress %q, want %q", name, got, want)
		}
	}
	for i, next := range waiting {
		if i%5 == 0 {
			w.restart(t)
		}
		before := w.active(t)
		woken := w.end(t, before[i%limit])
		if len(woken) != len(waiting)-i || woken[0].Name != next {
			t.Fatalf("the end of a run wakes %v, want the %d that wait, from %s on", woken, len(waiting)-i, next)
		}
		w.visitAll(t, woken)
		after := w.active(t)
		if len(after) != limit || !slices.Contains(after, next) {
			t.Fatalf("after %s: active %q, want %s too", before, after, next)
		}
		w.sync(t)
		w.visitAll(t, woken)
		w.sync(t)
	}
	for _, k := range keys {
		pr := w.runNamed(t, k.Name+"-install-1")
		if pr == nil || pr.Labels[contract.LabelAttempt] != "1" {
			t.Errorf("%s: run %+v", k, pr)
		}
	}
}

// A Provisioning that waits makes no call to the API server and claims no host, for as long as
// nothing changes.
func TestWaitingIsQuiet(t *testing.T) {
	w := crowd(t, 1, cluster(1), cluster(2), run(cluster(1), 1))
	w.visitAll(t, []key{clusterKey(2)})
	w.sync(t)
	w.kube.ClearActions()
	w.tekton.ClearActions()
	w.bpa.ClearActions()
	w.visitAll(t, []key{clusterKey(2)})
	if calls := w.calls(); len(calls) > 0 {
		t.Errorf("calls: %q", calls)
	}
	ready := w.statusOf(t, clusterKey(2)).GetCondition(v1alpha1.ConditionReady)
	const want = "waiting for a free run: place 1 of 1 (1 of 1 runs are active: edge-01)"
	if !ready.IsUnknown() || ready.Reason != plan.ReasonQueued || ready.Message != want {
		t.Errorf("Ready is %+v, want %s", ready, want)
	}
}

// Without a limit, nothing waits. Runs without BPA's annotations count.
func TestLimits(t *testing.T) {
	bare := func(n int) runtime.Object {
		return run(cluster(n), 1, func(pr *tekton.PipelineRun) {
			pr.Annotations = nil
			pr.Labels = map[string]string{contract.LabelCluster: cluster(n).Name}
		})
	}
	for name, test := range map[string]struct {
		limit int
		want  int // active runs afterwards
	}{
		"no limit":                 {0, 4},
		"one more than are active": {3, 3},
		"as many as are active":    {2, 2},
		"fewer than are active":    {1, 2},
	} {
		w := crowd(t, test.limit, cluster(1), cluster(2), cluster(3), cluster(4), bare(1), bare(2))
		w.visitAll(t, []key{clusterKey(3), clusterKey(4)})
		if got := w.active(t); len(got) != test.want {
			t.Errorf("%s: active %q, want %d", name, got, test.want)
		}
	}
}

// A run whose creation has no answer may exist. It takes a place until it is certain that it does not
// exist. A run that the API server refuses takes none.
func TestUnansweredCreationTakesAPlace(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		taken bool
	}{
		"no answer":     {errors.New("connection reset by peer"), true},
		"a time-out":    {apierrors.NewTimeoutError("etcd", 1), true},
		"over a quota":  {apierrors.NewForbidden(schema.GroupResource{Resource: "pipelineruns"}, "edge-01-install-1", errors.New("exceeded quota")), false},
		"a bad request": {apierrors.NewBadRequest("no"), false},
	} {
		w := crowd(t, 1, cluster(1), cluster(2))
		w.tekton.PrependReactor("create", "pipelineruns", func(a clientgotesting.Action) (bool, runtime.Object, error) {
			made := a.(clientgotesting.CreateAction).GetObject().(*tekton.PipelineRun)
			return made.Labels[contract.LabelCluster] == "edge-01", nil, test.err
		})
		if err := w.visit(t, clusterKey(1).String()); !errors.Is(err, test.err) {
			t.Errorf("%s: %v", name, err)
		}
		err := w.visit(t, clusterKey(2).String())
		again, after := controller.IsRequeueKey(err)
		if got := len(w.active(t)) == 0; got != test.taken || again != test.taken || test.taken && after != longestLag {
			t.Errorf("%s: active %q, again after %s", name, w.active(t), after)
		}
		w.sync(t)
		if q := w.queue.observe(cluster(3), 1, now.Add(longestLag)); len(q.Active) != len(w.active(t)) {
			t.Errorf("%s: after %s, %q are active", name, longestLag, q.Active)
		}
	}
}

// hookedIndexer calls a function before each search.
type hookedIndexer struct {
	cache.Indexer
	search func()
}

func (h hookedIndexer) ByIndex(index, value string) ([]any, error) {
	h.search()
	return h.Indexer.ByIndex(index, value)
}

// A run of another Provisioning takes the last free place just before this one, and ends before this
// one has joined the queue. Nothing would wake it, so it comes back by itself.
func TestARunEndsBeforeTheQueueIsJoined(t *testing.T) {
	w := crowd(t, 1, cluster(1))
	other := false
	w.tekton.PrependReactor("list", "pipelineruns", func(clientgotesting.Action) (bool, runtime.Object, error) { // right before take
		if !other {
			w.queue.reserved[clusterKey(2)] = reservation{"edge-02-install-1", now}
		}
		other = true
		return false, nil, nil
	})
	w.queue.provisionings = hookedIndexer{w.queue.provisionings, func() { // take has counted the runs
		delete(w.queue.reserved, clusterKey(2))
	}}
	err := w.visit(t, clusterKey(1).String())
	again, after := controller.IsRequeueKey(err)
	if !other || !again || after != behind || w.queue.reserved[clusterKey(1)].run != "" || w.statusOf(t, clusterKey(1)).Queue != nil {
		t.Errorf("taken by another one: %v; %v, again after %s; status %+v", other, err, after, w.statusOf(t, clusterKey(1)).Queue)
	}
	w.sync(t)
	if err := w.visit(t, clusterKey(1).String()); err != nil || len(w.active(t)) != 1 {
		t.Errorf("the second visit: %v, active %q", err, w.active(t))
	}
}

// A Provisioning whose turn came but that cannot start lets the others pass, and keeps its age. The
// pods of its cancelled run must end first.
func TestNobodyWaitsForOneThatCannotStart(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "worker", Labels: map[string]string{contract.LabelCluster: cluster(1).Name}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	w := crowd(t, 1, cluster(1, waits(9, 1)), cluster(2, waits(8, 2)), pod)
	before := cluster(1, waits(9, 1))
	w.visitAll(t, []key{clusterKey(1)})
	w.sync(t)
	status := w.statusOf(t, clusterKey(1))
	if q := status.Queue; q == nil || q.Place != 0 || !q.Since.Equal(&before.Status.Queue.Since) || len(w.active(t)) > 0 {
		t.Fatalf("queue %+v, active %q", q, w.active(t))
	}
	w.woken = nil
	after := before.DeepCopy()
	after.Status = *status
	if w.queue.provisioningChanged(1, before, after); !slices.Equal(w.woken, []key{clusterKey(2)}) {
		t.Fatalf("woken: %v", w.woken)
	}
	w.visitAll(t, w.woken)
	if got := w.active(t); !slices.Equal(got, []string{"edge-02"}) {
		t.Fatalf("active: %q", got)
	}
	w.sync(t)
	if err := w.kube.CoreV1().Pods(site).Delete(context.Background(), pod.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.visitAll(t, []key{clusterKey(1)})
	w.sync(t)
	if q := w.statusOf(t, clusterKey(1)).Queue; q == nil || q.Place != 1 || !q.Since.Equal(&before.Status.Queue.Since) {
		t.Errorf("it waits as %+v, want its age from before", q)
	}
}

// If the state of a waiting Provisioning cannot be read, the others do not wait for it.
func TestNobodyWaitsForOneThatCannotBeRead(t *testing.T) {
	w := crowd(t, 1, cluster(1, waits(9, 1), func(p *v1alpha1.Provisioning) { p.Spec.SSH.SecretName = "unreadable" }), cluster(2, waits(8, 2)))
	w.kube.PrependReactor("get", "secrets", func(a clientgotesting.Action) (bool, runtime.Object, error) {
		return a.(clientgotesting.GetAction).GetName() == "unreadable", nil, errors.New("no")
	})
	for range 2 {
		if err := w.visit(t, clusterKey(1).String()); err == nil {
			t.Fatal("its key was read")
		}
	}
	if !slices.Equal(w.woken, []key{clusterKey(2)}) {
		t.Errorf("woken: %v, want the other one once", w.woken)
	}
	w.visitAll(t, []key{clusterKey(2)})
	if got := w.active(t); !slices.Equal(got, []string{"edge-02"}) {
		t.Errorf("active: %q", got)
	}
}

// A Provisioning that waits and whose hosts are gone when its turn comes leaves the queue. Before its
// turn, it keeps its place.
func TestHostsAreCheckedAtTheTurn(t *testing.T) {
	w := crowd(t, 1, cluster(1, wants(64), waits(9, 1)), cluster(2, waits(8, 2)), run(cluster(3), 1))
	w.visitAll(t, []key{clusterKey(1)})
	w.sync(t)
	if q := w.statusOf(t, clusterKey(1)).Queue; q == nil || q.Place != 1 {
		t.Errorf("before its turn: %+v", q)
	}
	w.end(t, "edge-03")
	w.visitAll(t, []key{clusterKey(1)})
	w.sync(t)
	status := w.statusOf(t, clusterKey(1))
	if ready := status.GetCondition(v1alpha1.ConditionReady); status.Queue != nil || ready.Reason != string(contract.ReasonHostsNotAvailable) {
		t.Errorf("at its turn: queue %+v, Ready %+v", status.Queue, ready)
	}
	w.visitAll(t, []key{clusterKey(2)})
	if got := w.active(t); !slices.Equal(got, []string{"edge-02"}) {
		t.Errorf("active: %q", got)
	}
}

// A reset waits for a free run like every other operation, with the hosts claimed, but before all
// others. It counts as a run.
func TestResetsComeFirst(t *testing.T) {
	w := installed(t, used)
	w.recorder = record.NewFakeRecorder(10_000)
	w.settings.MaxRuns = 1
	w.add(t, run(cluster(7), 1), true)
	w.add(t, cluster(8, waits(60, 1), priority(100)), true)
	w.visitAll(t, []key{{Namespace: site, Name: name}})
	w.sync(t)
	state := w.stored(t).Status.GetCondition(v1alpha1.ConditionClusterInstalled)
	if state.Reason != plan.ReasonDeleting || !strings.Contains(state.Message, "the hosts are reset when a run ends: place 1 of 2 (1 of 1 runs are active: edge-07)") ||
		len(w.hosts.released) > 0 || len(w.stored(t).Finalizers) == 0 {
		t.Errorf("ClusterInstalled %+v, released %q", state, w.hosts.released)
	}
	woken := w.end(t, "edge-07")
	if !slices.Equal(woken, []key{{Namespace: site, Name: name}, clusterKey(8)}) {
		t.Errorf("woken: %v", woken)
	}
	slices.Reverse(woken)
	w.visitAll(t, woken)
	if got := w.active(t); !slices.Equal(got, []string{name}) {
		t.Errorf("active: %q", got)
	}
}

// The order: resets, priority, time of waiting, name. Names of other namespaces are not shown.
func TestOrder(t *testing.T) {
	w := crowd(t, 2, run(cluster(1), 1), run(cluster(2), 1, func(pr *tekton.PipelineRun) { pr.Namespace = "elsewhere" }))
	for _, p := range []*v1alpha1.Provisioning{
		cluster(10, waits(5, 1)), cluster(11, waits(9, 1), priority(-1)), cluster(12, waits(1, 1), priority(3)), cluster(13, waits(5, 1)),
		cluster(14, waits(6, 1)), cluster(15, waits(0, 1), priority(-9), deleting), cluster(16), cluster(17, waits(99, 0)),
	} {
		w.add(t, p, true)
	}
	first, others := w.queue.waiting(2, everyone)
	var got []string
	for _, k := range append(first, others...) {
		got = append(got, k.Name)
	}
	if diff := cmp.Diff([]string{"edge-15", "edge-12", "edge-14", "edge-10", "edge-13", "edge-11"}, got); diff != "" || len(first) != 2 {
		t.Errorf("the first %d of (-want +got):\n%s", len(first), diff)
	}
	want := &plan.Queue{Limit: 2, Active: []string{"edge-01"}, Elsewhere: 1, Ahead: 5, Length: 7, Since: now}
	if diff := cmp.Diff(want, w.queue.observe(cluster(20), 2, now.Add(time.Millisecond))); diff != "" {
		t.Errorf("a new one sees (-want +got):\n%s", diff)
	}
	want = &plan.Queue{Limit: 2, Active: []string{"edge-01"}, Elsewhere: 1, Ahead: 4, Length: 6, Since: now.Add(-5 * time.Minute)}
	if diff := cmp.Diff(want, w.queue.observe(cluster(13, waits(5, 1)), 2, now)); diff != "" {
		t.Errorf("one that waits sees (-want +got):\n%s", diff)
	}
	w.add(t, cluster(1, waits(50, 1)), true) // its run has started, and its status does not show it yet
	if diff := cmp.Diff(want, w.queue.observe(cluster(13, waits(5, 1)), 2, now)); diff != "" {
		t.Errorf("one whose run has started counts twice (-want +got):\n%s", diff)
	}
}

// Only changes that concern the queue wake those who wait.
func TestWhatWakesTheQueue(t *testing.T) {
	active, done := run(cluster(1), 1), run(cluster(1), 1, ended(corev1.ConditionTrue, "Succeeded"))
	for name, test := range map[string]struct {
		change func(*queue)
		wakes  bool
	}{
		"a run ends":               {func(q *queue) { q.runChanged(4, active, done) }, true},
		"an active run is deleted": {func(q *queue) { q.runChanged(4, active, nil) }, true},
		"a run goes on":            {func(q *queue) { q.runChanged(4, active, active) }, false},
		"an old run is deleted":    {func(q *queue) { q.runChanged(4, done, nil) }, false},
		"one joins at the end":     {func(q *queue) { q.provisioningChanged(4, cluster(1), cluster(1, waits(0, 3))) }, false},
		"one joins before others":  {func(q *queue) { q.provisioningChanged(4, cluster(1), cluster(1, waits(0, 1), priority(1))) }, true},
		"the last one leaves":      {func(q *queue) { q.provisioningChanged(4, cluster(1, waits(0, 3)), cluster(1)) }, false},
		"the first one leaves":     {func(q *queue) { q.provisioningChanged(4, cluster(1, waits(2, 1)), cluster(1)) }, true},
		"the first one is gone":    {func(q *queue) { q.provisioningChanged(4, cluster(1, waits(2, 1)), nil) }, true},
		"one changes its priority": {func(q *queue) {
			q.provisioningChanged(4, cluster(1, waits(0, 3)), cluster(1, waits(0, 3), priority(1)))
		}, true},
		"one is deleted":                   {func(q *queue) { q.provisioningChanged(4, cluster(1, waits(0, 3)), cluster(1, waits(0, 3), deleting)) }, true},
		"only its place changes":           {func(q *queue) { q.provisioningChanged(4, cluster(1, waits(0, 3)), cluster(1, waits(0, 2))) }, false},
		"one changes that does not wait":   {func(q *queue) { q.provisioningChanged(4, cluster(1), cluster(1, priority(1))) }, false},
		"one is gone that did not wait":    {func(q *queue) { q.provisioningChanged(4, cluster(1), nil) }, false},
		"a reservation is returned":        {func(q *queue) { q.release(cluster(1), 4) }, true},
		"one that waits is read again":     {func(q *queue) { q.reconciled(cluster(1, waits(0, 3)), 4, nil) }, false},
		"one that waits cannot be read":    {func(q *queue) { q.reconciled(cluster(1, waits(2, 1)), 4, errors.New("no")) }, true},
		"one that does not wait is broken": {func(q *queue) { q.reconciled(cluster(1), 4, errors.New("no")) }, false},
	} {
		w := crowd(t, 4, cluster(2, waits(1, 1)), cluster(3))
		test.change(w.queue)
		if got := slices.Equal(w.woken, []key{clusterKey(2)}); got != test.wakes || !test.wakes && len(w.woken) > 0 {
			t.Errorf("%s: woken %v, want %t", name, w.woken, test.wakes)
		}
	}
}
