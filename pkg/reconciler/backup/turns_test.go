package backup

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/controller"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/backup/plan"
)

// crowd is a site on which many Backups of different clusters begin together. Its caches change only
// when deliver is called.
type crowd struct {
	*fixture
	pending map[string]bool // keys in the work queue
	events  *queueWaker
}

func newCrowd(t *testing.T, backups, limit int) *crowd {
	var objects []runtime.Object
	c := &crowd{pending: map[string]bool{}}
	for i := range backups {
		cluster := fmt.Sprintf("edge-%d", i)
		b := nightly(func(b *v1alpha1.Backup) {
			b.Name, b.UID, b.Spec.Provisioning = fmt.Sprintf("b-%02d", i), types.UID(fmt.Sprintf("uid-b-%02d", i)), cluster
			b.CreationTimestamp.Time = noon.Add(time.Duration(i/2) * time.Second)
		})
		objects = append(objects, b, edge(func(p *v1alpha1.Provisioning) { p.Name, p.UID = cluster, types.UID("uid-"+cluster) }))
		c.pending[site+"/"+b.Name] = true
	}
	c.fixture = newFixture(t, objects...)
	c.settings.MaxBackups = limit
	c.events = &queueWaker{backups: listers.NewBackupLister(c.caches["backup"]), limit: func() int { return limit }, enqueue: func(key types.NamespacedName, after time.Duration) {
		if after == 0 { // a delayed look only updates the message
			c.pending[key.String()] = true
		}
	}}
	c.turns.wake = c.events.wake
	return c
}

func (c *crowd) reconcile(t *testing.T, key string) {
	t.Helper()
	delete(c.pending, key)
	if err := c.visitKey(t, key); err != nil {
		if requeue, _ := controller.IsRequeueKey(err); !requeue {
			t.Fatal(err)
		}
		c.pending[key] = true
	}
}

// names returns the names of all Backups.
func (c *crowd) names(t *testing.T) []string {
	all, err := c.bpa.BpaV1alpha1().Backups(site).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range all.Items {
		names = append(names, b.Name)
	}
	slices.Sort(names)
	return names
}

func (c *crowd) get(t *testing.T, name string) *v1alpha1.Backup {
	b, err := c.bpa.BpaV1alpha1().Backups(site).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return b.DeepCopy()
}

// deliver puts a Backup, or its run, into the cache, and calls the event handlers.
func (c *crowd) deliver(t *testing.T, name string, run bool) {
	key, kind, handlers := site+"/"+name, "backup", c.events.backupEvents()
	var o any = c.get(t, name)
	if run {
		found, err := c.tekton.TektonV1().PipelineRuns(site).Get(context.Background(), name+"-backup", metav1.GetOptions{})
		if err != nil {
			return
		}
		key, kind, handlers, o = key+"-backup", "run", c.events.runEvents(), found.DeepCopy()
	}
	old, there, _ := c.caches[kind].GetByKey(key)
	if err := c.caches[kind].Update(o); err != nil {
		t.Fatal(err)
	}
	if there {
		handlers.OnUpdate(old, o)
	} else {
		handlers.OnAdd(o, false)
	}
	c.pending[site+"/"+name] = true
}

// active returns the names of the active runs.
func (c *crowd) active(t *testing.T) []string {
	all, err := c.tekton.TektonV1().PipelineRuns(site).List(context.Background(), metav1.ListOptions{LabelSelector: contract.LabelBackup})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, run := range all.Items {
		if !run.IsDone() {
			names = append(names, run.Name)
		}
	}
	return names
}

func (c *crowd) end(t *testing.T, run string) {
	got, err := c.tekton.TektonV1().PipelineRuns(site).Get(context.Background(), run, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got = got.DeepCopy()
	ended("False")(got)
	if _, err := c.tekton.TektonV1().PipelineRuns(site).Update(context.Background(), got, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// At most max-backups runs are active, although the cache does not show new runs yet. The others say
// which place they have. The oldest one starts when a run has ended, and no younger one before it.
func TestQueue(t *testing.T) {
	c := newCrowd(t, 5, 2)
	for _, name := range c.names(t) {
		c.reconcile(t, site+"/"+name)
		c.deliver(t, name, false)
	}
	if got := strings.Join(c.active(t), " "); got != "b-00-backup b-01-backup" {
		t.Fatalf("active: %s", got)
	}
	condition := c.get(t, "b-04").Status.GetCondition(v1alpha1.ConditionSucceeded)
	if want := "place 3 in the queue of the site: 2 Backups run, and max-backups in ConfigMap config-bpa allows 2"; !condition.IsUnknown() || condition.Reason != plan.ReasonQueued || condition.Message != want {
		t.Errorf("condition %+v, want %s", condition, want)
	}
	c.deliver(t, "b-00", true)
	c.deliver(t, "b-01", true)
	clear(c.pending)
	c.end(t, "b-00-backup")
	c.deliver(t, "b-00", true)
	if got := slices.Sorted(maps.Keys(c.pending)); !slices.Equal(got, []string{"site/b-00", "site/b-02", "site/b-03"}) {
		t.Errorf("woken: %v", got)
	}
	for _, name := range []string{"b-04", "b-03", "b-02"} {
		c.reconcile(t, site+"/"+name)
	}
	if got := strings.Join(c.active(t), " "); got != "b-01-backup b-02-backup" {
		t.Errorf("active after the end of a run: %s", got)
	}
}

// If the run of the next Backup cannot be created, the one behind it starts.
func TestQueueSkipsAnObstacle(t *testing.T) {
	c := newCrowd(t, 2, 1)
	if err := c.tekton.Tracker().Add(&tekton.PipelineRun{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "b-00-backup"}}); err != nil {
		t.Fatal(err)
	}
	c.reconcile(t, site+"/b-00")
	c.reconcile(t, site+"/b-01")
	if b := c.get(t, "b-01"); b.Status.Run == "" {
		t.Errorf("the second Backup waits: %+v", b.Status.Conditions)
	}
}

// If the next Backup waits for something else when its turn comes, the one behind it is woken.
func TestQueueGoesOn(t *testing.T) {
	c := newCrowd(t, 3, 1)
	for _, name := range c.names(t) {
		c.reconcile(t, site+"/"+name)
		c.deliver(t, name, false)
	}
	c.deliver(t, "b-00", true)
	if err := c.caches["provisioning"].Delete(edge(func(p *v1alpha1.Provisioning) { p.Name = "edge-1" })); err != nil {
		t.Fatal(err)
	}
	c.end(t, "b-00-backup")
	c.deliver(t, "b-00", true)
	c.reconcile(t, site+"/b-01")
	clear(c.pending)
	c.deliver(t, "b-01", false)
	if !c.pending[site+"/b-02"] {
		t.Fatalf("woken: %v, want b-02", c.pending)
	}
	c.reconcile(t, site+"/b-02")
	if got := strings.Join(c.active(t), " "); got != "b-02-backup" {
		t.Errorf("active: %s", got)
	}
}

// In a random order of reconciles, stale caches and ends of runs, the limit is kept, and every Backup
// ends, although only those are reconciled that an event has enqueued.
func TestRandomQueue(t *testing.T) {
	for seed := range uint64(60) {
		r, limit := rand.New(rand.NewPCG(seed, 0)), 1+int(seed%3)
		c := newCrowd(t, 6, limit)
		names := c.names(t)
		for range 3000 {
			if !slices.ContainsFunc(names, func(name string) bool { return !c.get(t, name).Status.IsDone() }) {
				break
			}
			switch keys := slices.Sorted(maps.Keys(c.pending)); {
			case len(keys) > 0 && r.IntN(2) == 0:
				c.reconcile(t, keys[r.IntN(len(keys))])
			case r.IntN(4) > 0:
				if name := names[r.IntN(len(names))]; c.stale(t, name, false) {
					c.deliver(t, name, false)
				} else if c.stale(t, name, true) {
					c.deliver(t, name, true)
				}
			default:
				if active := c.active(t); len(active) > 0 {
					c.end(t, active[r.IntN(len(active))])
				}
			}
			if n := len(c.active(t)); n > limit {
				t.Fatalf("seed %d: %d runs are active, the limit is %d", seed, n, limit)
			}
		}
		for _, name := range names {
			if b := c.get(t, name); !b.Status.IsDone() {
				t.Fatalf("seed %d: Backup %s never ends: %+v", seed, name, b.Status)
			}
		}
	}
}

// stale reports whether the cache has another version of the object than the API server.
func (c *crowd) stale(t *testing.T, name string, run bool) bool {
	if !run {
		old, _, _ := c.caches["backup"].GetByKey(site + "/" + name)
		now, before := c.get(t, name).Status, old.(*v1alpha1.Backup).Status
		return now.Run != before.Run || fmt.Sprint(now.Conditions) != fmt.Sprint(before.Conditions)
	}
	old, there, _ := c.caches["run"].GetByKey(site + "/" + name + "-backup")
	now, err := c.tekton.TektonV1().PipelineRuns(site).Get(context.Background(), name+"-backup", metav1.GetOptions{})
	return err == nil && (!there || old.(*tekton.PipelineRun).IsDone() != now.IsDone())
}
