//go:build e2e

package bench

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/bench/results"
	"github.com/akraino-icn/bpa/test/site"
)

// Sizes of the cluster before one node is added.
const (
	small = 3
	large = 100
)

// TestBenchAddNode adds one node to a cluster of 3 nodes and one node to a cluster of 100 nodes, each
// with the task kubespray as a run starts it, and compares the times. The playbook is scale.yml of
// the real kubespray.
//
// Real are the control plane, the machines that are added, and the cluster. The other 2 or 99 nodes
// are simulated: they are in kubespray's inventory and in the cluster, with system pods and
// heartbeats, but have no machine. Nothing answers at their addresses, so a connection to one of
// them fails the task.
//
// The order is small, large, large, small, so that neither caches nor a slow drift of the machine's
// load favours one of them. Each node is added on a blank machine.
func TestBenchAddNode(t *testing.T) {
	if os.Getenv("KUBESPRAY") == "" {
		t.Skip("this machine has no kubespray: run make kubespray")
	}
	s := site.New(t, "bench-add", 3, 0)
	s.Apply(s.Provisioning("bench-add", func(p *v1alpha1.Provisioning) {
		p.Spec.PodSubnet = "10.234.0.0/16" // kubespray's default has room for 64 nodes
	}, site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))})))
	p := site.Await(s, &v1alpha1.ProvisioningList{}, "the cluster", limit, site.Ready)
	addNodes(t, s, p)
}

// addNodes measures the additions to a cluster that has one control plane, and prints the result.
func addNodes(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) {
	peers := simulate(t, s, p)
	var took [2]addition // sums, of small and of large
	for i, run := range []struct {
		host string
		size int
	}{{"host-2", small}, {"host-3", large}, {"host-2", large}, {"host-3", small}} {
		if i == 2 {
			s.Lab("reset", "host-2", "host-3")
			peers.forget("added-0", "added-1")
		}
		peers.set(run.size - 1) // the control plane is the first node
		name := fmt.Sprintf("added-%d", i)
		one := add(t, s, p, name, run.host, peers.nodes())
		peers.joined()
		fmt.Printf("add one node to %3d: %s\n", run.size, one)
		sum := &took[slices.Index([]int{small, large}, run.size)]
		sum.add(one)
	}
	report(t, took[0], took[1])
}

// addition is what one addition has taken, or several.
type addition struct {
	runs  int
	total time.Duration // of the task's container
	// processor is the processor time of the task's pod, which contains Ansible. 0: not known.
	processor time.Duration
	phases    []phase
}

// phase is a part of the task: what it does before and after the playbook, or a play.
type phase struct {
	name string
	took time.Duration
}

// add adds the times of another addition.
func (a *addition) add(b addition) {
	a.runs, a.total, a.processor = a.runs+1, a.total+b.total, a.processor+b.processor
	for _, p := range b.phases {
		i := slices.IndexFunc(a.phases, func(q phase) bool { return q.name == p.name })
		if i < 0 {
			a.phases = append(a.phases, phase{name: p.name})
			i = len(a.phases) - 1
		}
		a.phases[i].took += p.took
	}
}

// of returns the time of a phase; 0: there was no such phase.
func (a addition) of(name string) time.Duration {
	for _, p := range a.phases {
		if p.name == name {
			return p.took
		}
	}
	return 0
}

func (a addition) String() string {
	return fmt.Sprintf("%.1f s, processor time %.1f s", a.total.Seconds(), a.processor.Seconds())
}

// most is the largest ratio of issue 13: adding a node to 100 nodes takes hardly longer than adding it
// to 3.
const most = 1.2

// report prints the means of all additions, their ratio, and the phases in which they differ.
func report(t *testing.T, to3, to100 addition) {
	t.Helper()
	line := func(name string, a, b time.Duration) {
		fmt.Printf("%-60s %7.1f s %7.1f s  %+7.1f s\n", name, mean(a, to3), mean(b, to100), mean(b, to100)-mean(a, to3))
	}
	fmt.Printf("\n%-60s %9s %9s\n", "add one node, mean of "+fmt.Sprint(to3.runs), fmt.Sprintf("to %d", small), fmt.Sprintf("to %d", large))
	line("task kubespray", to3.total, to100.total)
	line("processor time of its pod", to3.processor, to100.processor)
	for _, p := range to100.phases {
		line("  "+p.name, to3.of(p.name), p.took)
	}
	figure := results.Figure{Table: "Adding one node with kubespray", Name: "task kubespray, to 100 nodes", Peer: "to 3 nodes",
		Value: to100.total.Seconds() / to3.total.Seconds(), Goal: most}
	results.Record(t, figure)
	if to3.processor > 0 {
		figure.Name, figure.Value, figure.Goal = "processor time of its pod, to 100 nodes", to100.processor.Seconds()/to3.processor.Seconds(), 0
		results.Record(t, figure)
	}
	fmt.Println()
}

func mean(sum time.Duration, of addition) float64 { return sum.Seconds() / float64(max(1, of.runs)) }

// parts splits the log of the task, with timestamps, into phases.
func parts(t *testing.T, log string) []phase {
	t.Helper()
	var all []phase
	var began, last time.Time
	next := func(name string, at time.Time) {
		if len(all) > 0 {
			all[len(all)-1].took = at.Sub(began)
		}
		all, began = append(all, phase{name: name}), at
	}
	for line := range strings.Lines(log) {
		stamp, text, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			t.Fatalf("log line %q has no timestamp: %v", line, err)
		}
		last = at
		switch {
		case len(all) == 0:
			next("BPA: connect, inspect and prepare the new machine", at)
		case strings.HasPrefix(text, "Running "+contract.PlaybookScale):
			next("Ansible starts and reads the playbook", at)
		case strings.HasPrefix(text, "PLAY ["):
			next("play: "+strings.Trim(strings.TrimPrefix(text, "PLAY "), "[]"), at)
		case strings.HasPrefix(text, "Waiting until nodes and system pods"):
			next("BPA: wait until all nodes and system pods are Ready", at)
		}
	}
	next("", last)
	return all[:len(all)-1]
}
