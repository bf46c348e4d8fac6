//go:build e2e

package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook/acceleration"
	"github.com/akraino-icn/bpa/test/bench/results"
	"github.com/akraino-icn/bpa/test/lab/artifacts"
	"github.com/akraino-icn/bpa/test/site"
)

const limit = 30 * time.Minute

// sizes names the environment variable with the numbers of nodes, such as "2,5".
const sizes = "BPA_BENCH_NODES"

// TestBenchRunAgainstHand installs the same cluster three times on the same machines, which are blank
// each time: through a Provisioning, by hand with the lab's baseline (test/lab/vars.yaml), and by hand
// with all accelerations of the product. By hand, the playbook then runs again and has nothing to do.
// BPA has no such second run: it starts none for a spec that has not changed.
//
// The times have no
// limit, because the load of the machine affects them. The memory of the controller during the run
// must not exceed 100 MiB.
func TestBenchRunAgainstHand(t *testing.T) {
	const name = "kubespray " + artifacts.KubesprayRelease
	for i, n := range clusterSizes(t) {
		t.Run(fmt.Sprint(n, " nodes"), func(t *testing.T) { benchRun(t, name, n, i == 0 && os.Getenv(each) != "") })
	}
}

// each names the environment variable that lets TestBenchRunAgainstHand also measure what each acceleration
// saves, in the cluster of the first size, with one more run of the playbook, which has nothing to do, for each of them.
const each = "BPA_BENCH_EACH"

// clusterSizes returns the numbers of nodes in the environment, or 2 and 5.
func clusterSizes(t *testing.T) (all []int) {
	t.Helper()
	for _, text := range strings.Split(cmp.Or(os.Getenv(sizes), "2,5"), ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s=%s: want numbers of nodes, such as 2,5", sizes, os.Getenv(sizes))
		}
		all = append(all, n)
	}
	return all
}

func benchRun(t *testing.T, name string, nodes int, each bool) {
	s := site.New(t, fmt.Sprint("bench-", nodes), nodes, 0) // the namespace of the last size can still be in deletion
	options := []site.Option{site.Master("master-1", v1alpha1.Master{MACAddress: site.MAC(s.MAC("host-1"))})}
	for i := 1; i < nodes; i++ {
		options = append(options, site.Worker(fmt.Sprint("worker-", i), v1alpha1.Worker{HostRequirements: v1alpha1.HostRequirements{CPU: 8, Memory: "16Gi"}}))
	}
	p := s.Provisioning("bench", options...)
	began := time.Now()
	s.Apply(p)
	site.Await(s, &v1alpha1.ProvisioningList{}, "the middle of the run", limit, func(p *v1alpha1.Provisioning) bool {
		return p.Status.Progress != nil && p.Status.Progress.Percent > 50
	})
	memory := controllerMemory(t, s)
	ready := site.Await(s, &v1alpha1.ProvisioningList{}, "the cluster", limit, site.Ready)
	m := installations{run: time.Since(began), playbook: playbookOf(t, s, ready)}
	m.hand, m.handAgain = baseline(t, s, ready).play(t, s)
	m.fast, m.fastAgain = accelerated(t, s, ready, "accelerated", acceleration.Names...).play(t, s)

	table := fmt.Sprintf("Installation, %d nodes, %s", nodes, name)
	fmt.Println()
	results.Record(t, append(m.figures(table), results.Figure{Table: table, Name: "controller, resident memory during the run",
		Value: float64(memory) / (1 << 20), Unit: "MiB", Goal: 100})...)
	fmt.Println()
	if memory > 100<<20 {
		t.Errorf("the controller uses %d MiB of memory; limit 100", memory>>20)
	}
	if each {
		benchEach(t, s, ready, table)
	}
}

// benchEach plays the playbook again on the machines of the last installation, with all accelerations that
// change the time of Ansible, and without each one of them.
func benchEach(t *testing.T, s *site.Site, p *v1alpha1.Provisioning, table string) {
	t.Helper()
	reference := accelerated(t, s, p, "all", acceleration.Names...).again(t, s)
	for _, one := range acceleration.Names {
		if one == acceleration.Variables || one == acceleration.Prefetch { // change only how files and images get onto new nodes
			continue
		}
		others := slices.DeleteFunc(slices.Clone(acceleration.Names), func(name string) bool { return name == one })
		took := accelerated(t, s, p, "without-"+strings.ToLower(one), others...).again(t, s)
		results.Record(t, results.Figure{Table: table, Name: again + "without " + one, Peer: again + "with all accelerations", Value: took.Seconds() / reference.Seconds()})
	}
}

// playbookOf returns how long ansible-playbook ran in the installation, by the timestamps of the log.
func playbookOf(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) time.Duration {
	t.Helper()
	var pods []string
	all := &tekton.TaskRunList{}
	if err := s.List(context.Background(), all, client.InNamespace(s.Namespace), client.MatchingLabels{"tekton.dev/pipelineTask": contract.TaskKubespray}); err != nil {
		t.Fatal(err)
	}
	for _, r := range all.Items {
		pods = append(pods, r.Status.PodName)
	}
	if len(pods) != 1 {
		t.Fatalf("%d TaskRuns of %s for %s, want one: the installation was repeated", len(pods), contract.TaskKubespray, p.Name)
	}
	log := s.Kubectl("logs", pods[0], "--container", "step-run-playbook", "--timestamps")
	took, err := between(log, "Running "+contract.PlaybookInstall, "Waiting until nodes and system pods")
	if err != nil {
		t.Fatalf("%v in the log of %s:\n%s", err, pods[0], tail(log, 30))
	}
	return took
}

// controllerMemory returns the resident memory of the controller's process, in bytes, from /proc of
// this machine.
func controllerMemory(t *testing.T, s *site.Site) int64 {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range processes {
		cmdline, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(cmdline), "/ko-app/controller\x00") || !strings.Contains(environ(path), "bpa-system") {
			continue
		}
		return residentOf(t, filepath.Dir(path))
	}
	t.Fatal("no process of the controller on this machine")
	return 0
}

func environ(cmdline string) string {
	raw, _ := os.ReadFile(filepath.Join(filepath.Dir(cmdline), "environ"))
	return string(raw)
}

func residentOf(t *testing.T, proc string) int64 {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	t.Fatalf("%s has no VmRSS", proc)
	return 0
}
