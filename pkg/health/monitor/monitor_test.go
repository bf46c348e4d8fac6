package monitor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/akraino-icn/bpa/pkg/health"
)

// site has simulated clusters, each with the node w-1. It runs in a bubble with simulated time.
type site struct {
	*Monitor
	mu      sync.Mutex
	looks   map[string][]time.Time // by kubeconfig
	stopped bool                   // the kubelet of w-1, which is not Ready
	silent  map[string]bool
	takes   time.Duration
	now     map[string]int // looks under way, by kubeconfig
	most    int            // looks under way at once
	sum     int
	closed  []string
	changes []string
}

type looker struct {
	s          *site
	kubeconfig string
}

func newSite() *site {
	s := &site{looks: map[string][]time.Time{}, silent: map[string]bool{}, now: map[string]int{}}
	s.Monitor = New(func(k types.NamespacedName) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changes = append(s.changes, k.Name)
	})
	s.open = func(kubeconfig []byte, _ []string) (Looker, error) {
		if string(kubeconfig) == "broken" {
			return nil, errors.New("its server is not an https address")
		}
		return looker{s, string(kubeconfig)}, nil
	}
	return s
}

func (l looker) Look(ctx context.Context, _ []string) health.Observation {
	s := l.s
	s.mu.Lock()
	s.looks[l.kubeconfig] = append(s.looks[l.kubeconfig], time.Now())
	s.now[l.kubeconfig]++
	s.sum++
	if s.most = max(s.most, s.sum); s.now[l.kubeconfig] > 1 {
		panic("two looks at once at " + l.kubeconfig)
	}
	o := health.Observation{Nodes: map[string]health.Node{"w-1": {Ready: true}}, Leases: map[string]string{"w-1": time.Now().String()}}
	if s.stopped {
		o.Nodes["w-1"] = health.Node{Reason: "NodeStatusUnknown"}
	}
	if s.silent[l.kubeconfig] {
		o = health.Observation{Silent: "connection refused"}
	}
	s.mu.Unlock()
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now[l.kubeconfig]--
	s.sum--
	return o
}

func (l looker) Close() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.s.closed = append(l.s.closed, l.kubeconfig)
}

func keyOf(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "site", Name: name}
}

// cluster is the description of a cluster whose kubeconfig has this name.
func cluster(kubeconfig string) Cluster {
	return Cluster{Kubeconfig: []byte(kubeconfig), Version: kubeconfig, Nodes: []string{"w-1"}, Interval: 15 * time.Second}
}

// run runs the monitor in a bubble.
func run(t *testing.T, test func(*testing.T, *site)) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { s.Run(ctx); close(done) }()
		test(t, s)
		stop()
		<-done
	})
}

func (s *site) report(name string) health.Report {
	r, _ := s.Report(keyOf(name))
	return r
}

// TestASteadyWorldIsQuiet: each cluster is looked at once in each interval, and nobody is woken once
// everything is known, however often the reconciler tells the same.
func TestASteadyWorldIsQuiet(t *testing.T) {
	run(t, func(t *testing.T, s *site) {
		const clusters = 200
		s.takes = 100 * time.Millisecond
		for i := range clusters {
			s.Watch(keyOf(fmt.Sprint(i)), cluster(fmt.Sprint(i)))
		}
		time.Sleep(2 * time.Minute)
		s.changes = nil
		for range 60 {
			for i := range clusters {
				s.Watch(keyOf(fmt.Sprint(i)), cluster(fmt.Sprint(i)))
			}
			time.Sleep(time.Minute)
		}
		if len(s.changes) > 0 {
			t.Errorf("woken: %v", s.changes)
		}
		for name, looks := range s.looks {
			if n := len(looks); n < 62*4*95/100 || n > 62*4*105/100 {
				t.Errorf("%s: %d looks in 62 minutes", name, n)
			}
			if r := s.report(name); r.API != health.APIAnswers || r.Nodes["w-1"].State != health.NodeReady {
				t.Fatalf("%s: %+v", name, r)
			}
		}
		if s.most > 20 {
			t.Errorf("%d looks at once: they are not spread", s.most)
		}
	})
}

// TestAChangeWakesOnce: the Provisioning of a cluster that stops to answer is woken once.
func TestAChangeWakesOnce(t *testing.T) {
	run(t, func(t *testing.T, s *site) {
		s.Watch(keyOf("edge-1"), cluster("edge-1"))
		s.Watch(keyOf("edge-2"), cluster("edge-2"))
		time.Sleep(2 * time.Minute)
		s.changes, s.silent["edge-1"] = nil, true
		time.Sleep(40 * time.Second)
		synctest.Wait()
		if !slices.Equal(s.changes, []string{"edge-1"}) || s.report("edge-1").API != health.APISilent || s.report("edge-2").API != health.APIAnswers {
			t.Errorf("woken: %v; reports %+v, %+v", s.changes, s.report("edge-1"), s.report("edge-2"))
		}
	})
}

// TestARunOnANode: looks while a run works on a node do not judge it, not even one that is under way when the run ends. The
// looks after the run do, so that the node is never reported as it was during the run.
func TestARunOnANode(t *testing.T) {
	run(t, func(t *testing.T, s *site) {
		s.takes = 5 * time.Second
		idle, busy := cluster("edge-1"), cluster("edge-1")
		busy.Changing = []string{"w-1"}
		s.Watch(keyOf("edge-1"), idle)
		time.Sleep(2 * time.Minute)
		if r := s.report("edge-1"); r.Nodes["w-1"].State != health.NodeReady {
			t.Fatalf("before the runs: %+v", r)
		}
		s.changes = nil
		for range 6 { // so many changes of a verdict would make the node flap
			s.Watch(keyOf("edge-1"), busy)
			s.stopped = true
			for range 60 {
				time.Sleep(time.Second)
				s.Watch(keyOf("edge-1"), busy) // the progress of the run
			}
			for s.sum == 0 {
				time.Sleep(time.Second)
			}
			for i := range 45 { // a look that has seen the stopped kubelet is under way, and the next one sees it too
				s.Watch(keyOf("edge-1"), idle)
				if s.stopped = i < 11; s.report("edge-1").Nodes["w-1"].State == health.NodeNotReady {
					t.Fatalf("after a run: %+v", s.report("edge-1"))
				}
				time.Sleep(2 * time.Second)
			}
			if r := s.report("edge-1"); r.Nodes["w-1"].State != health.NodeReady {
				t.Fatalf("long after a run: %+v", r)
			}
		}
		if len(s.changes) != 6 {
			t.Errorf("woken %d times: want once after each run", len(s.changes))
		}
		s.Watch(keyOf("edge-1"), busy)
		s.stopped = true
		s.Watch(keyOf("edge-1"), idle) // the run has broken the node
		time.Sleep(time.Minute)
		if r := s.report("edge-1"); r.Nodes["w-1"].State != health.NodeNotReady {
			t.Errorf("after a run that broke the node: %+v", r)
		}
	})
}

// TestForget: a cluster that was forgotten is not looked at any more, even if a look was under way.
func TestForget(t *testing.T) {
	run(t, func(t *testing.T, s *site) {
		s.takes = 10 * time.Second
		for _, name := range []string{"edge-1", "edge-2", "edge-3"} {
			s.Watch(keyOf(name), cluster(name))
		}
		time.Sleep(16 * time.Second)
		s.Forget(keyOf("edge-1"))
		s.ForgetAll(func(k types.NamespacedName) bool { return k.Name == "edge-2" })
		before := maps.Clone(s.looks)
		time.Sleep(10 * time.Minute)
		for _, name := range []string{"edge-1", "edge-2"} {
			if _, known := s.Report(keyOf(name)); known || len(s.looks[name]) != len(before[name]) || !slices.Contains(s.closed, name) {
				t.Errorf("%s: %d looks before it was forgotten, %d after; closed %v", name, len(before[name]), len(s.looks[name]), s.closed)
			}
		}
		if len(s.looks["edge-3"]) < 20 {
			t.Errorf("edge-3: %d looks", len(s.looks["edge-3"]))
		}
	})
}

// TestNewCredentials: another kubeconfig replaces the connection, also while a look is under way, and
// what is known of the cluster stays. An interval that becomes shorter applies at once.
func TestNewCredentials(t *testing.T) {
	run(t, func(t *testing.T, s *site) {
		s.takes = 14 * time.Second
		slow := cluster("old")
		slow.Interval = time.Hour
		s.Watch(keyOf("edge-1"), slow)
		time.Sleep(90 * time.Minute)
		s.Watch(keyOf("edge-1"), cluster("old"))
		time.Sleep(3 * time.Minute)
		if r := s.report("edge-1"); r.Nodes["w-1"].State != health.NodeReady {
			t.Fatalf("%+v", r)
		}
		before := len(s.looks["old"])
		s.changes = nil
		for i := range 5 { // some of them during a look
			s.Watch(keyOf("edge-1"), cluster(fmt.Sprint("new-", i)))
			time.Sleep(20 * time.Second)
		}
		if len(s.looks["old"]) > before || len(s.looks["new-4"]) == 0 || len(s.changes) > 0 || !slices.Contains(s.closed, "old") || !slices.Contains(s.closed, "new-3") {
			t.Errorf("looks %d %d, woken %v, closed %v", len(s.looks["old"])-before, len(s.looks["new-4"]), s.changes, s.closed)
		}
	})
}

// TestABrokenKubeconfig is reported and costs nothing, until there is another one.
func TestABrokenKubeconfig(t *testing.T) {
	run(t, func(t *testing.T, s *site) {
		for range 2 {
			s.Watch(keyOf("edge-1"), cluster("broken"))
			want := health.Report{API: health.APIUnknown, Text: "the kubeconfig cannot be used: its server is not an https address"}
			if r := s.report("edge-1"); !r.Equal(want) {
				t.Errorf("%+v", r)
			}
			time.Sleep(time.Hour)
			s.Watch(keyOf("edge-1"), cluster("good"))
			time.Sleep(time.Minute)
			if r := s.report("edge-1"); r.API != health.APIAnswers {
				t.Errorf("%+v", r)
			}
		}
	})
}

// TestManySilentClusters: looks that take long do not exceed the limit, and every cluster gets its turn.
func TestManySilentClusters(t *testing.T) {
	run(t, func(t *testing.T, s *site) {
		s.takes = 10 * time.Second
		for i := range 500 {
			s.silent[fmt.Sprint(i)] = true
			s.Watch(keyOf(fmt.Sprint(i)), cluster(fmt.Sprint(i)))
		}
		time.Sleep(10 * time.Minute)
		fewest := 1000
		for i := range 500 {
			fewest = min(fewest, len(s.looks[fmt.Sprint(i)]))
		}
		if s.most > atOnce || fewest < 5 {
			t.Errorf("%d looks at once, and at least %d at each cluster", s.most, fewest)
		}
	})
}
