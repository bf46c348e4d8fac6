package monitor

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akraino-icn/bpa/pkg/health"
	"github.com/akraino-icn/bpa/pkg/health/look"
)

// atOnce is how many looks can be under way. A look at a cluster that does not answer takes seconds.
const atOnce = 64

// Cluster describes a cluster to look at.
type Cluster struct {
	// Kubeconfig has the credentials. Version identifies it: a Kubeconfig with the same Version is the
	// same one.
	Kubeconfig []byte
	Version    string
	// Addresses are those of the control planes, Nodes the names of all nodes.
	Addresses, Nodes []string
	// Changing are the names of the nodes on which a run works. They are not judged before it has ended.
	Changing []string
	// Interval is the time between two looks, more than 0.
	Interval time.Duration
}

// Looker looks at one cluster.
type Looker interface {
	Look(ctx context.Context, nodes []string) health.Observation
	Close()
}

// Monitor looks at clusters. Several goroutines may use it.
type Monitor struct {
	open    func(kubeconfig []byte, addresses []string) (Looker, error)
	changed func(types.NamespacedName)
	wake    chan struct{}

	mu       sync.Mutex
	clusters map[types.NamespacedName]*watched
	queue    queue // the clusters to which no look is under way
	looks    int   // under way
}

// watched is a cluster and what is known about it.
type watched struct {
	key    types.NamespacedName
	spec   Cluster // without Kubeconfig
	looker Looker  // nil: the kubeconfig cannot be used, as report says
	busy   Looker  // the one with which a look is under way; nil: none
	state  health.State
	report health.Report
	due    time.Time
	place  int // in the queue; -1: it is not there
}

// New returns a Monitor, which calls changed after each look that changed the report of a cluster.
func New(changed func(types.NamespacedName)) *Monitor {
	open := func(kubeconfig []byte, addresses []string) (Looker, error) { return look.New(kubeconfig, addresses) }
	return &Monitor{open: open, changed: changed, wake: make(chan struct{}, 1), clusters: map[types.NamespacedName]*watched{}}
}

// Watch begins to look at a cluster, or changes how it is looked at. The first look comes at a random
// time within the interval, because after a start all clusters begin at once.
func (m *Monitor) Watch(key types.NamespacedName, spec Cluster) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, known := m.clusters[key]
	if !known {
		c = &watched{key: key, place: -1, report: health.Report{API: health.APIUnknown}}
		m.clusters[key] = c
	}
	c.changed(spec.Changing)
	if known && c.spec.Version == spec.Version && c.spec.Interval == spec.Interval && slices.Equal(c.spec.Addresses, spec.Addresses) {
		c.spec.Nodes, c.spec.Changing = spec.Nodes, spec.Changing
		return
	}
	m.connect(c, spec)
	spec.Kubeconfig = nil
	c.spec = spec
	if c.place >= 0 {
		heap.Remove(&m.queue, c.place)
	}
	if c.looker != nil && c.busy != c.looker { // otherwise it comes back into the queue after the look
		c.due = time.Now().Add(time.Duration(rand.Float64() * float64(spec.Interval)))
		heap.Push(&m.queue, c)
		m.poke()
	}
}

// changed notes that a run has ended its work on nodes, if they are not among changing any more.
func (c *watched) changed(changing []string) {
	ended := slices.DeleteFunc(slices.Clone(c.spec.Changing), func(name string) bool { return slices.Contains(changing, name) })
	if len(ended) > 0 {
		c.state.Changed(ended)
		c.report = c.state.Report()
	}
}

// connect opens another looker if the credentials or the addresses have changed.
func (m *Monitor) connect(c *watched, spec Cluster) {
	if c.looker != nil && c.spec.Version == spec.Version && slices.Equal(c.spec.Addresses, spec.Addresses) {
		return
	}
	c.close()
	looker, err := m.open(spec.Kubeconfig, spec.Addresses)
	if err != nil {
		c.report = health.Report{API: health.APIUnknown, Text: "the kubeconfig cannot be used: " + err.Error()}
		return
	}
	if c.looker = looker; c.report.Text != "" {
		c.state, c.report = health.State{}, health.Report{API: health.APIUnknown}
	}
}

func (c *watched) close() {
	if c.looker != nil {
		c.looker.Close()
	}
	c.looker = nil
}

// Forget ends the looks at a cluster.
func (m *Monitor) Forget(key types.NamespacedName) {
	m.ForgetAll(func(k types.NamespacedName) bool { return k == key })
}

// ForgetAll ends the looks at these clusters.
func (m *Monitor) ForgetAll(these func(types.NamespacedName) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, c := range m.clusters {
		if !these(key) {
			continue
		}
		c.close()
		if c.place >= 0 {
			heap.Remove(&m.queue, c.place)
		}
		delete(m.clusters, key)
	}
}

// Report returns what is known about a cluster. Nothing is known of a cluster that Watch does not know.
func (m *Monitor) Report(key types.NamespacedName) (health.Report, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c := m.clusters[key]; c != nil {
		return c.report, true
	}
	return health.Report{}, false
}

// Run looks at clusters until the context ends, and returns when the last look has ended.
func (m *Monitor) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		next := time.NewTimer(m.start(ctx, &running))
		select {
		case <-ctx.Done():
			next.Stop()
			return
		case <-m.wake:
			next.Stop()
		case <-next.C:
		}
	}
}

// start starts the looks that are due. It returns the time until the next one is; if there is none, or
// too many are under way, poke tells when to go on.
func (m *Monitor) start(ctx context.Context, running *sync.WaitGroup) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.queue) > 0 && m.looks < atOnce {
		if wait := time.Until(m.queue[0].due); wait > 0 {
			return wait
		}
		c := heap.Pop(&m.queue).(*watched)
		looker, spec := c.looker, c.spec
		m.looks, c.busy = m.looks+1, looker
		running.Go(func() { m.look(ctx, c, looker, spec) })
	}
	return time.Hour
}

// look looks once at a cluster. A cluster that was forgotten meanwhile is not looked at again.
func (m *Monitor) look(ctx context.Context, c *watched, looker Looker, spec Cluster) {
	seen := looker.Look(ctx, spec.Nodes)
	if m.add(c, looker, spec, seen, time.Now(), ctx.Err() != nil) {
		m.changed(c.key)
	}
}

// add adds a look to the state of its cluster, and reports whether its report has changed. A look that
// was interrupted, or that used credentials which have been replaced meanwhile, counts for nothing. spec is
// that of when the look began.
func (m *Monitor) add(c *watched, looker Looker, spec Cluster, seen health.Observation, now time.Time, interrupted bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looks--
	m.poke()
	if c.busy == looker {
		c.busy = nil
	}
	if m.clusters[c.key] != c || c.looker != looker || interrupted {
		looker.Close()
		return false
	}
	// A node that is expected only since the look began is not missing, and one on which a run worked then is
	// not judged.
	c.state.Add(seen, spec.Nodes, spec.Changing, now)
	c.due = c.state.Next(now, c.spec.Interval, rand.Float64())
	heap.Push(&m.queue, c)
	before := c.report
	c.report = c.state.Report()
	return !c.report.Equal(before)
}

// poke makes Run look for work. A poke that is pending already is enough.
func (m *Monitor) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
