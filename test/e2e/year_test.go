//go:build e2e

package e2e

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/lab/artifacts"
	"github.com/akraino-icn/bpa/test/lab/osimage"
	"github.com/akraino-icn/bpa/test/site"
	"github.com/akraino-icn/bpa/test/year"
)

// TestYear plays a year of one cluster: operations that a seed deals. After each step the cluster must be what the
// users want (see checks in yearchecks_test.go), while a workload in it answers requests. The environment selects
// the steps:
//
//	BPA_YEAR_SEED   VERSION-NUMBER as an earlier run has printed it, or a number; default: 1
//	BPA_YEAR_STEPS  number of steps; default: until each operation but the minor upgrade has come
//	BPA_YEAR_FROM   number of the first step: goes on with the cluster that a failed run has left
//	BPA_YEAR_KEEP   not empty: leave the site as it is after a failure
func TestYear(t *testing.T) {
	seed, err := year.ParseSeed(cmp.Or(os.Getenv("BPA_YEAR_SEED"), "1"))
	if err != nil {
		t.Fatal(err)
	}
	start := year.New(year.Patched)
	steps := year.All(seed, start, year.UpgradeMinor)
	if n := number(t, "BPA_YEAR_STEPS"); n > 0 {
		steps = year.Deal(seed, start, n)
	}
	if vars := site.Vars(t); !strings.Contains(string(vars["kubelet_binary_checksum"]), artifacts.PatchedKubernetes) {
		t.Fatalf("the depot has no Kubernetes %s: run lab artifacts --kubernetes %[1]s", artifacts.PatchedKubernetes)
	}
	from := number(t, "BPA_YEAR_FROM")
	resume := from > 0
	from = max(from, 1)
	t.Logf("seed %s, %d steps from %d", year.FormatSeed(seed), len(steps), from)
	y := newYear(t, fmt.Sprintf("e2e-year-%d", seed), year.Hosts, resume) // so that two seeds can be played beside each other
	if y.world = start; from > 1 {
		y.world = steps[from-2].After
	}
	for _, played := range steps[:from-1] {
		if played.Operation == year.BackUp {
			y.backup = backupOf(played)
		}
	}
	y.begin(resume)
	again := fmt.Sprintf("play the seed again: make test-year SEED=%s STEPS=%s\ngo on with this cluster, if it was kept: the same with FROM=", year.FormatSeed(seed), os.Getenv("BPA_YEAR_STEPS"))
	y.steps(steps[from-1:], func(step year.Step) string { return again + strconv.Itoa(step.Number) })
}

// TestSeason is a short year that each make test plays: see year.Season.
func TestSeason(t *testing.T) {
	y := newYear(t, "e2e-season", year.SeasonHosts, false)
	y.world = year.New(year.Newest)
	y.begin(false)
	y.steps(year.Season(), func(year.Step) string { return "" })
}

// steps plays the steps and ends the year. again says how a step that has failed can be played again.
func (y *yearStory) steps(steps []year.Step, again func(year.Step) string) {
	t := y.t
	t.Helper()
	for _, step := range steps {
		passed := t.Run(strings.ReplaceAll(step.String(), "/", "|"), func(t *testing.T) {
			y.as(t)
			y.step(step)
		})
		y.as(t)
		if !passed {
			t.Fatalf("%s failed; the world was: %s\nwanted: %s\n%s", step, y.world, step.After, again(step))
		}
		y.world = step.After
	}
	y.load.stop()
}

// number returns the number in a variable of the environment; 0: it is empty.
func number(t *testing.T, variable string) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" || text == "all" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s is %q, want a number", variable, text)
	}
	return n
}

// yearStory is the cluster of a year.
type yearStory struct {
	*softwareStory
	world   year.World // before the present step
	load    *workload
	revoked []string       // kubeconfigs that the cluster must refuse
	most    map[string]int // number of objects of each kind that the namespace may have
	other   *v1alpha1.Provisioning
	want    int    // number of machines that the site has, after each step
	hosts   int    // number of the last machine that was added
	backup  string // name of the last Backup
}

const (
	yearCluster  = "edge-60"
	otherCluster = "edge-61"
)

func newYear(t *testing.T, namespace string, hosts int, resume bool) *yearStory {
	t.Helper()
	depot := newUploads(t, namespace)
	depot.putTool("1")
	depot.putDriver(yearCluster, "1")
	var s *site.Site
	if resume {
		s = site.Resume(t, namespace)
	} else {
		s = site.NewTenant(t, namespace, hosts, 0, "--reboots")
	}
	s.Keep = os.Getenv("BPA_YEAR_KEEP") != ""
	return &yearStory{softwareStory: &softwareStory{life: life{t: t, s: s, limit: yearLimit}, depot: depot, name: "workers"}, want: hosts, hosts: len(s.Hosts())}
}

// as makes t the test that fails.
func (y *yearStory) as(t *testing.T) {
	y.t, y.s.T, y.depot.t = t, t, t
	if y.load != nil {
		y.load.t = t
	}
}

// begin installs the cluster, or takes over the one that a failed run has left, and starts the workload.
func (y *yearStory) begin(resume bool) {
	y.t.Helper()
	if resume { // the step that failed may have edited the spec
		y.p = &v1alpha1.Provisioning{}
		if err := y.s.Get(y.t.Context(), client.ObjectKey{Namespace: y.s.Namespace, Name: yearCluster}, y.p); err != nil {
			y.t.Fatal(err)
		}
		y.world.Kubernetes = y.p.Spec.Kubernetes.Version // an upgrade that has begun cannot be taken back
		y.edit(specOf(y.world))
	} else {
		y.s.Apply(y.s.Provisioning(yearCluster, withSystem(osimage.NodeSystem), specOf(y.world), func(p *v1alpha1.Provisioning) {
			p.Spec.ReplacePolicy = v1alpha1.ReplaceAny
		}))
	}
	y.labelRacks()
	y.awaitWorld("the cluster", y.world)
	y.load = startWorkload(y.t, y.s, y.p)
	y.most = y.objects()
	for kind := range y.most {
		y.most[kind] += moreObjects
	}
}

// moreObjects is how many objects of one kind may be added in a year. Each task of an operation has a few of its own.
const moreObjects = 40

// step plays one step and checks the cluster after it.
func (y *yearStory) step(step year.Step) {
	y.t.Helper()
	begin := time.Now()
	before := y.s.Holders()
	if slices.Contains([]string{year.LoseWorker, year.LosePlane, year.Exchange, year.Silence}, step.Operation) {
		y.load.kubeconfig = kubeconfigOf(y.t, y.s, y.p) // the one at the start may be revoked
		y.load.spread()
	}
	y.load.reset()
	if step.Operation != year.RemoveOther {
		y.watchOther()
	}
	after := y.meanwhile(step)
	y.play(step)
	after()
	y.awaitWorld(step.Operation, step.After)
	y.t.Logf("Ready after %s, the last run was %s", time.Since(begin).Round(time.Second), y.p.Status.Run.Name)
	y.check(step, before)
	y.stays()
	y.t.Logf("checked after %s", time.Since(begin).Round(time.Second))
}

// Names of the labels and of the taint of a year's nodes.
const (
	sizeLabel = "example.org/size"
	poolTaint = "example.org/pool"
	rackLabel = "airshipit.org/rack" // of the hosts
)

// sizeOf is the value of sizeLabel, which each node has: it changes with the world, also on nodes that no run changes.
func sizeOf(w year.World) string {
	return fmt.Sprintf("%d-%d-%d", w.Planes, len(w.Workers), w.Pool)
}

// specOf returns an option that requests the world.
func specOf(w year.World) site.Option {
	return func(p *v1alpha1.Provisioning) {
		masters(w.Planes)(p)
		labels := v1alpha1.NodeMetadata{Labels: map[string]string{sizeLabel: sizeOf(w)}}
		for _, item := range p.Spec.Masters {
			for name, m := range item {
				m.NodeMetadata = labels
				item[name] = m
			}
		}
		p.Spec.Workers = nil
		for _, name := range w.Workers {
			p.Spec.Workers = append(p.Spec.Workers, map[string]v1alpha1.Worker{name: {HostRequirements: v1alpha1.HostRequirements{CPU: 8}, NodeMetadata: labels}})
		}
		labels.Taints = []v1alpha1.NodeTaint{{Key: poolTaint, Effect: corev1.TaintEffectPreferNoSchedule}}
		p.Spec.NodeSets = []v1alpha1.NodeSet{{Name: "pool", Role: v1alpha1.RoleWorker, NodeMetadata: labels,
			Count: v1alpha1.NodeCount{Active: int32(w.Pool), Standby: int32(w.Standby)}}}
		if w.PoolVariable != "" {
			poolMaxPods(w.PoolVariable)(p)
		}
		withPluginsOf(w.Plugins...)(p)
		for name, value := range w.Variables {
			site.Var(name, []byte(value))(p)
		}
		p.Spec.Kubernetes.Version = w.Kubernetes
	}
}
