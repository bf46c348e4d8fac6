//go:build bench || e2e

package bench

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akraino-icn/bpa/pkg/health"
	"github.com/akraino-icn/bpa/pkg/health/healthtest"
	"github.com/akraino-icn/bpa/pkg/health/monitor"
)

const (
	healthClusters = 1000
	healthNodes    = 10
	healthInterval = 15 * time.Second
	healthTime     = 2 * time.Minute
	// healthServers, in the environment, makes TestHealthServers serve.
	healthServers = "BPA_BENCH_HEALTH_SERVERS"
)

// TestBenchHealth prints what it costs to look at 1,000 clusters of 10 nodes: requests, processor time
// and memory of the component. The API servers are in another process. It needs no cluster. It fails
// only if a cluster is not seen as it is, or if a steady world wakes anybody.
func TestBenchHealth(t *testing.T) {
	servers := startHealthServers(t)
	before := memory()
	var woken atomic.Int64
	m := monitor.New(func(types.NamespacedName) { woken.Add(1) })
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { m.Run(ctx); close(ended) }()
	var names []string
	for i := range healthNodes {
		names = append(names, fmt.Sprintf("node-%d", i))
	}
	for i, kubeconfig := range servers.kubeconfigs {
		m.Watch(keyOf(i), monitor.Cluster{Kubeconfig: kubeconfig, Version: "1", Addresses: []string{"127.0.0.1"}, Nodes: names, Interval: healthInterval})
	}
	servers.kubeconfigs = nil
	await(t, m)

	woken.Store(0)
	requests, cpu, begin := servers.count(t), processorTime(), time.Now()
	time.Sleep(healthTime)
	took := time.Since(begin)
	spent, sent := processorTime()-cpu, servers.count(t)-requests
	held := memory() - before
	if path := os.Getenv("BPA_BENCH_HEAP"); path != "" {
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(pprof.WriteHeapProfile(f), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	await(t, m)
	if n := woken.Load(); n > 0 {
		t.Errorf("%d Provisionings were woken in a steady world", n)
	}
	stop()
	<-ended
	perMinute := float64(sent) / took.Minutes()
	fmt.Printf("\nlooking at %d clusters of %d nodes every %s, for %s\n", healthClusters, healthNodes, healthInterval, took.Round(time.Second))
	fmt.Printf("%-40s %8.0f (%.1f for each look)\n", "requests per minute", perMinute, perMinute/(healthClusters*float64(time.Minute/healthInterval)))
	fmt.Printf("%-40s %8.1f ms per second, %.2f ms per look\n", "processor time", spent.Seconds()*1000/took.Seconds(), spent.Seconds()*1000/(float64(sent)/3))
	fmt.Printf("%-40s %8.1f MiB, %.1f KiB per cluster\n\n", "heap and stacks", float64(held)/(1<<20), float64(held)/(1<<10)/healthClusters)
}

func keyOf(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: "site", Name: fmt.Sprint("edge-", i)}
}

// await waits until all clusters are seen as they are.
func await(t *testing.T, m *monitor.Monitor) {
	t.Helper()
	end := time.Now().Add(3 * time.Minute)
	for i := 0; i < healthClusters; {
		r, _ := m.Report(keyOf(i))
		ready := 0
		for _, n := range r.Nodes {
			if n.State == health.NodeReady && n.Version == "1.35.4" {
				ready++
			}
		}
		if r.API == health.APIAnswers && ready == healthNodes {
			i++
			continue
		}
		if time.Now().After(end) {
			t.Fatalf("cluster %d: %+v", i, r)
		}
		time.Sleep(100 * time.Millisecond) // the monitor tells nobody when all is known
	}
}

// memory returns the bytes of the heap and the stacks that are in use.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc + s.StackInuse)
}

// healthProcess is the process of the API servers.
type healthProcess struct {
	kubeconfigs [][]byte
	in          *os.File
	out         *bufio.Scanner
}

// startHealthServers starts this program again, as the API servers.
func startHealthServers(t *testing.T) *healthProcess {
	t.Helper()
	raiseFiles(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestHealthServers$", "-test.timeout=30m")
	cmd.Env = append(os.Environ(), healthServers+"=1")
	cmd.Stderr = os.Stderr
	in, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = in
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = writer.Close(); _ = cmd.Wait() })
	p := &healthProcess{in: writer, out: bufio.NewScanner(out)}
	p.out.Buffer(nil, 1<<20)
	for len(p.kubeconfigs) < healthClusters && p.out.Scan() {
		raw, err := base64.StdEncoding.DecodeString(p.out.Text())
		if err != nil {
			t.Fatal(err)
		}
		p.kubeconfigs = append(p.kubeconfigs, raw)
	}
	if len(p.kubeconfigs) < healthClusters {
		t.Fatalf("%d API servers: %v", len(p.kubeconfigs), p.out.Err())
	}
	return p
}

// count returns the number of requests so far. Each server has one connection, which is opened again
// only if a look took too long.
func (p *healthProcess) count(t *testing.T) int64 {
	t.Helper()
	if _, err := p.in.WriteString("count\n"); err != nil || !p.out.Scan() {
		t.Fatalf("the API servers do not answer: %v", err)
	}
	var requests, connections int64
	if _, err := fmt.Sscan(p.out.Text(), &requests, &connections); err != nil || connections > healthClusters*102/100 {
		t.Errorf("%q: want about %d connections", p.out.Text(), healthClusters)
	}
	return requests
}

// TestHealthServers is the process of the API servers. It prints their kubeconfigs, and after each line
// of its input the number of requests and connections.
func TestHealthServers(t *testing.T) {
	if os.Getenv(healthServers) == "" {
		t.Skip("TestBenchHealth starts it")
	}
	raiseFiles(t)
	a := healthtest.NewAuthority(t)
	certificate := a.Certificate(t, time.Now().Add(24*time.Hour))
	var nodes []corev1.Node
	for i := range healthNodes {
		nodes = append(nodes, healthtest.Node(fmt.Sprintf("node-%d", i), ""))
	}
	list, leases := healthtest.Lists(nodes, time.Now())
	var servers []*healthtest.Server
	for range healthClusters {
		s := healthtest.Start(t, a, "127.0.0.1:0", certificate)
		s.Answer(healthtest.Nodes, 0, list)
		s.Answer(healthtest.Leases, 0, leases)
		servers = append(servers, s)
		fmt.Println(base64.StdEncoding.EncodeToString(a.Kubeconfig(s.URL)))
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- strings.TrimSpace(in.Text())
		}
	}()
	renew := time.NewTicker(10 * time.Second) // as kubelets do
	defer renew.Stop()
	for {
		select {
		case <-renew.C:
			_, leases := healthtest.Lists(nodes, time.Now())
			for _, s := range servers {
				s.Answer(healthtest.Leases, 0, leases)
			}
		case _, more := <-lines:
			if !more {
				return
			}
			var requests, connections int64
			for _, s := range servers {
				requests, connections = requests+s.Requests.Load(), connections+s.Connections.Load()
			}
			fmt.Println(requests, connections)
		}
	}
}

// raiseFiles allows a file for each connection.
func raiseFiles(t *testing.T) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
}
