package provisioning

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	tektonlisters "github.com/tektoncd/pipeline/pkg/client/listers/pipeline/v1"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	clock "k8s.io/utils/clock/testing"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/health"
	"github.com/akraino-icn/bpa/pkg/health/monitor"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/settings"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/test/year"
)

const otherName = "edge-2"

// simSite is a site: an API server, a controller, machines, and what runs on them. All of it does one thing at a
// time, and everything that happens by chance comes from one source of random numbers, so a seed always gives the
// same site.
type simSite struct {
	random *mathrand.Rand
	now    time.Time
	server *simServer

	// The controller.
	controller *Reconciler
	client     *simClient
	clock      *clock.FakePassiveClock
	ctx        context.Context
	dirty      map[string]bool      // Provisionings that must be visited, because something has changed
	due        map[string]time.Time // when each wants its next visit; zero: not without a change
	failures   map[string]int       // visits in a row that have failed
	lag        int                  // how often, in percent, a cache stays behind
	laggard    string               // the kind whose cache stays behind most of the time; empty: none
	pace       int                  // how many writes of the pods there are, at most, between two visits

	// The world outside.
	machines map[string]*simMachine // by the UIDs of their hosts
	made     int                    // number of machines until now
	facts    map[*metal3.BareMetalHost]hosts.Host
	clusters map[string]*simCluster // by Provisioning
	looks    map[string]health.Report
	watched  map[string]monitor.Cluster
	jobs     map[string]*simJob // by TaskRun
	pinKey   ssh.HostKey
	notReset map[string]bool // UIDs of hosts that a run has left out of a reset

	depotFails, drainFails int // number of tasks that will fail for this reason

	// The walk.
	world             year.World
	secretly          bool   // a variable is in a Secret
	forgets           bool   // runs that have ended are deleted now and then
	hurries           bool   // control planes are lost while runs remove or upgrade nodes
	operation         string // the last one
	claimed           int64  // the generation for which a user has asked for missing standbys
	asked             int    // values of annotations until now
	backup            string // name of the newest Backup
	recipient         string
	history           []string // the last things that have happened
	wrong             error    // what must never happen has happened
	visits, podWrites int
	seen              func(what string) // gets each visit and each change of a cache
}

func newSimSite(seed uint64, kubernetes string) *simSite {
	w := &simSite{
		random: mathrand.New(mathrand.NewPCG(seed, 30)), now: now, machines: map[string]*simMachine{}, facts: map[*metal3.BareMetalHost]hosts.Host{},
		clusters: map[string]*simCluster{name: newSimCluster(), otherName: newSimCluster()}, looks: map[string]health.Report{}, watched: map[string]monitor.Cluster{},
		jobs: map[string]*simJob{}, dirty: map[string]bool{}, due: map[string]time.Time{}, failures: map[string]int{}, notReset: map[string]bool{},
		ctx: logging.WithLogger(context.Background(), zap.NewNop().Sugar()), world: year.New(kubernetes), pinKey: pinKey(), lag: 30, pace: 5,
		seen: func(string) {}, secretly: seed%3 == 2,
	}
	w.server, w.clock = newSimServer(func() time.Time { return w.now }), clock.NewFakePassiveClock(w.now)
	w.server.set(kindSecret, sshKey())
	for i := range year.Hosts {
		w.newHost(fmt.Sprintf("host-%d", i+1))
	}
	w.restart()
	return w
}

// restart starts the controller again: it has forgotten what it had in memory.
func (w *simSite) restart() {
	w.client = &simClient{s: w.server, said: w.say}
	at := settings.Default()
	at.Depot.URL = "https://depot.test"
	nothing := func() (*protocol.PackageList, string) { return &protocol.PackageList{}, "" }
	in := w.server.caches
	w.controller = &Reconciler{
		kube: simKube{c: w.client}, tekton: simTekton{c: w.client},
		runs: tektonlisters.NewPipelineRunLister(in[kindRun]), taskRuns: tektonlisters.NewTaskRunLister(in[kindTask]),
		configMaps: corelisters.NewConfigMapLister(in[kindConfigMap]), secrets: corelisters.NewSecretLister(in[kindSecret]),
		bindings: rbaclisters.NewRoleBindingLister(in[kindBinding]), backups: listers.NewBackupLister(in[kindBackup]),
		clusters: caches.NewClusters(in[kindProvisioning], in[kindSoftware]),
		packages: nothing, newPackages: nothing,
		hosts: simHosts{w: w, c: w.client, live: simHostClient{c: w.client}}, health: simMonitor{w},
		queue:    newQueue(in[kindRun], in[kindProvisioning], func(first, others []key) { w.wake(slices.Concat(first, others)) }),
		settings: func() caches.Settings { return caches.Settings{Settings: at} }, clock: w.clock, random: rand.Reader,
		vars:          &varsCache{},
		secretVersion: func(_, name string) string { return w.server.objects[kindSecret][name].GetResourceVersion() },
	}
	w.dirty[name], w.dirty[otherName] = true, true
}

func (w *simSite) wake(keys []key) {
	for _, k := range keys {
		w.dirty[k.Name] = true
	}
}

// simMonitor says how the nodes are, as the last looks have shown them.
type simMonitor struct{ w *simSite }

func (m simMonitor) Watch(k key, c monitor.Cluster) { m.w.watched[k.Name] = c }

func (m simMonitor) Forget(k key) {
	delete(m.w.watched, k.Name)
	delete(m.w.looks, k.Name)
}

func (m simMonitor) Report(k key) (health.Report, bool) {
	report, ok := m.w.looks[k.Name]
	return report, ok
}

// look looks at the clusters.
func (w *simSite) look() {
	for _, cluster := range []string{name, otherName} {
		spec, watched := w.watched[cluster]
		if !watched {
			continue
		}
		a, report := w.clusters[cluster], health.Report{API: health.APISilent, Text: "no API server answers", Since: now, Nodes: map[string]health.NodeReport{}}
		if a.answers() {
			report.API, report.Text = health.APIAnswers, ""
		}
		for _, n := range spec.Nodes {
			switch {
			case slices.Contains(spec.Changing, n):
			case a.nodes[n] == nil:
				report.Nodes[n] = health.NodeReport{State: health.NodeMissing, Since: now, Text: "it is not in the cluster"}
			case a.ready(n):
				report.Nodes[n] = health.NodeReport{State: health.NodeReady, Since: now}
			default:
				report.Nodes[n] = health.NodeReport{State: health.NodeNotReady, Since: now, Text: "no heartbeat"}
			}
		}
		if old, known := w.looks[cluster]; !known || !old.Equal(report) {
			w.looks[cluster], w.dirty[cluster] = report, true
		}
	}
}

// beside does what other controllers and the monitor do.
func (w *simSite) beside() {
	w.look()
	w.giveHealth(name)
	w.giveHealth(otherName)
}

// percent is true so often.
func (w *simSite) percent(n int) bool { return w.random.IntN(100) < n }

// say adds a line to the history.
func (w *simSite) say(what string) {
	const most = 120
	w.history = append(w.history, fmt.Sprintf("%s %s", w.now.Format("15:04:05"), what))
	if len(w.history) > 2*most {
		w.history = slices.Delete(w.history, 0, len(w.history)-most)
	}
}

// bad reports what must never happen.
func (w *simSite) bad(format string, arguments ...any) error {
	err := fmt.Errorf(format, arguments...)
	w.wrong = errors.Join(w.wrong, err)
	return err
}

// visit lets the controller reconcile a Provisioning, as the generated reconciler does.
func (w *simSite) visit(cluster string) {
	delete(w.dirty, cluster)
	w.due[cluster] = time.Time{}
	cached, ok, _ := w.server.caches[kindProvisioning].GetByKey(site + "/" + cluster)
	if !ok {
		return
	}
	w.visits++
	w.seen("visit of " + cluster + " at version " + strconv.Itoa(w.server.version))
	original := cached.(*v1alpha1.Provisioning)
	p := original.DeepCopy()
	var event reconciler.Event
	if p.DeletionTimestamp == nil {
		reconciler.PreProcessReconcile(w.ctx, p)
		event = w.controller.ReconcileKind(w.ctx, p)
		reconciler.PostProcessReconcile(w.ctx, p, original)
	} else if event = w.controller.FinalizeKind(w.ctx, p); event == nil {
		event = w.client.write("remove the finalizer of", kindProvisioning, cluster, func() error {
			if w.server.objects[kindProvisioning][cluster] != nil {
				w.say("Provisioning " + cluster + " is gone")
				w.server.remove(kindProvisioning, cluster)
			}
			return nil
		})
	}
	if !equality.Semantic.DeepEqual(original.Status, p.Status) {
		err := w.client.write("update the status of", kindProvisioning, cluster, func() error {
			if w.server.objects[kindProvisioning][cluster] == nil {
				return notFound(kindProvisioning, cluster)
			}
			simChange(w.server, kindProvisioning, cluster, func(stored *v1alpha1.Provisioning) { stored.Status = p.Status })
			return nil
		})
		if err != nil {
			event = err
		}
	}
	w.again(cluster, event)
	if w.client.dead {
		w.restart()
	}
}

// again sets the time of the next visit.
func (w *simSite) again(cluster string, event error) {
	requeue, after := controller.IsRequeueKey(event)
	switch {
	case event == nil || controller.IsSkipKey(event):
	case requeue:
		w.due[cluster] = w.now.Add(max(after, time.Second))
	default:
		w.failures[cluster]++
		w.due[cluster] = w.now.Add(time.Second << min(w.failures[cluster], 6))
		w.say("visit of " + cluster + " fails: " + event.Error())
		return
	}
	w.failures[cluster] = 0
}

// round lets everything on the site do a little. It reports whether something has happened, or can happen without
// waiting.
func (w *simSite) round() (busy bool) {
	w.now = w.now.Add(time.Second)
	w.clock.SetTime(w.now)
	w.power()
	for _, kind := range cachedKinds {
		n := len(w.server.behind[kind])
		if n == 0 {
			continue
		}
		if busy = true; w.percent(w.lag) {
			n = w.random.IntN(n + 1)
		}
		if kind == w.laggard && w.percent(85) {
			n = 0
		}
		w.server.catchUp(kind, n, w.changed)
	}
	if w.percent(30) {
		w.beside()
	}
	for _, cluster := range []string{name, otherName} {
		if due := w.due[cluster]; w.dirty[cluster] || !due.IsZero() && !due.After(w.now) {
			if busy = true; w.percent(50) {
				w.visit(cluster)
			}
		}
	}
	for _, run := range w.activeRuns() {
		busy = true
		for range 1 + w.random.IntN(w.pace) {
			if run = current(w, run.Name); run != nil && !run.IsDone() {
				w.tick(run, false)
			}
		}
	}
	if w.percent(50) {
		busy = w.server.collectGarbage() || busy
	}
	return busy
}

// changed wakes the Provisionings that a change of a cache concerns, as the event handlers of the controller do. before
// or after is nil if the object did not exist or does not exist any more.
func (w *simSite) changed(kind string, before, after simObject) {
	enqueue := func(k key) { w.dirty[k.Name] = true }
	wake := waker{lister: listers.NewProvisioningLister(w.server.caches[kindProvisioning]), pools: w.server.caches[kindProvisioning], busy: newQueue(w.server.caches[kindRun], nil, nil).busy, enqueue: enqueue}
	last := after
	if last == nil {
		last = before
	}
	w.seen(fmt.Sprintf("%s %s, deleted: %t", kind, last.GetName(), after == nil))
	cluster, labelled := last.GetLabels()[contract.LabelCluster]
	switch {
	case kind == kindProvisioning:
		w.dirty[last.GetName()] = true
	case kind == kindHost:
		wake.hostChanged(site, last.GetName(), holderOf(before), holderOf(after))
	case kind == kindBackup:
		wake.backupChanged(last)
	case kind == kindSoftware:
		wake := softwareWaker{clusters: w.controller.clusters, enqueue: enqueue}
		wake.changed(last)
	case labelled:
		w.dirty[cluster] = true
	case kind == kindSecret:
		wake.secretChanged(site, last.GetName())
	}
}

// holderOf returns the holder of a host; empty: it has none, or does not exist.
func holderOf(o simObject) types.NamespacedName {
	if h, ok := o.(*metal3.BareMetalHost); ok && h.Spec.ConsumerRef != nil {
		return types.NamespacedName{Namespace: h.Spec.ConsumerRef.Namespace, Name: h.Spec.ConsumerRef.Name}
	}
	return types.NamespacedName{}
}

// settle lets the site work until nothing happens any more and nothing is wrong. It returns what is still wrong at
// the end.
func (w *simSite) settle(wrong func() string) error {
	const most = 3000
	for range most {
		if w.wrong != nil {
			return w.wrong
		}
		if w.round() {
			continue
		}
		w.beside()
		if len(w.dirty) > 0 || w.server.collectGarbage() || len(w.server.behind[kindSecret]) > 0 {
			continue
		}
		why := wrong()
		if why == "" && w.stays() {
			return w.wrong
		}
		if why == "" || w.skip() || w.react() {
			continue
		}
		return fmt.Errorf("nothing happens any more, and %s", why)
	}
	return fmt.Errorf("after %d rounds, %s", most, wrong())
}

// stays reports whether a visit a minute later writes nothing.
func (w *simSite) stays() bool {
	w.now = w.now.Add(time.Minute)
	w.clock.SetTime(w.now)
	before := w.server.version
	w.visit(name)
	w.visit(otherName)
	return w.server.version == before && len(w.activeRuns()) == 0
}

// soon is how long the walk waits for the next visit of a Provisioning, such as that of the next attempt.
const soon = time.Hour

// skip lets time go by until the next visit. It returns false if none is soon.
func (w *simSite) skip() bool {
	var next time.Time
	for _, due := range w.due {
		if !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	if next.IsZero() || next.Sub(w.now) > soon {
		return false
	}
	if next.After(w.now) {
		w.now = next
	}
	return true
}

func readText(text string, into any) {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		panic(err)
	}
}

// state describes the site for a failure.
func (w *simSite) state() string {
	var b strings.Builder
	for _, p := range simList[*v1alpha1.Provisioning](w.server, kindProvisioning) {
		fmt.Fprintf(&b, "Provisioning %s, generation %d, observed %d, annotations %v\n", p.Name, p.Generation, p.Status.ObservedGeneration, p.Annotations)
		for _, c := range p.Status.Conditions {
			if !c.IsTrue() {
				fmt.Fprintf(&b, "  %s %s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
			}
		}
		a := w.clusters[p.Name]
		for _, n := range w.installedIn(p.Name).Nodes {
			fmt.Fprintf(&b, "  record: %s on %s %s etcd %q version %q target %v; ready %t\n", n.Name, n.Host, n.HostUID, n.Etcd, n.Version, n.Target, a.ready(n.Name))
		}
		i := w.installedIn(p.Name)
		fmt.Fprintf(&b, "  draining %v leaving %v restoring %q restored %q patched %q\n", i.Draining, i.Leaving, i.Restoring, i.Restored, i.Patched)
	}
	for _, h := range simList[*metal3.BareMetalHost](w.server, kindHost) {
		holder := ""
		if h.Spec.ConsumerRef != nil {
			holder = h.Spec.ConsumerRef.Name
		}
		m := w.machines[string(h.UID)]
		fmt.Fprintf(&b, "host %s %s: holder %q labels %v annotations %v machine %+v\n", h.Name, h.UID, holder, h.Labels, h.Annotations, m)
	}
	for _, r := range w.server.names(kindRun) {
		run := current(w, r)
		fmt.Fprintf(&b, "run %s: %s %v\n", r, run.Status.GetCondition("Succeeded").GetReason(), run.Annotations)
	}
	for _, cm := range simList[*corev1.ConfigMap](w.server, kindConfigMap) {
		fmt.Fprintf(&b, "ConfigMap %s: %d keys\n", cm.Name, len(cm.Data))
	}
	return b.String()
}
