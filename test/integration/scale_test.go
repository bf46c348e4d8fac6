//go:build integration && bench

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/bench/results"
)

const (
	scaled     = "scale" // namespace of this file's Provisionings
	plainScale = "plain" // namespace of the plain clients, as long as the other name: bodies have lengths in them
	// hostsEach is the number of hosts for each cluster, of which it requests nodesEach.
	hostsEach, nodesEach = 5, 4
	// atOnce is the number of clients with which the test prepares the site.
	atOnce = 8
)

// scale is one play of many clusters on one site.
type scale struct {
	t       *testing.T
	ctx     context.Context
	n       int // clusters
	admin   client.WithWatch
	config  *rest.Config
	proxy   *counter
	fake    *fakeTekton
	seen    *watched
	figures []results.Figure
}

// TestScale plays many Provisionings on one site: 50 of them, or BPA_SCALE_CLUSTERS, over five times as many hosts. The
// API server, the controller, the webhook and the code of select-hosts are real. Tekton, the pods and the machines are
// not: see fakeTekton. It fails if anything is double, leaked or lost. Times are recorded as figures and are no reason to fail.
func TestScale(t *testing.T) {
	s := newScale(t)
	s.refuse()
	starts := s.start()
	s.plain(starts)
	s.play()
	s.rest()
	results.Record(t, s.figures...)
}

func clusters(t *testing.T) int {
	text := os.Getenv("BPA_SCALE_CLUSTERS")
	if text == "" {
		return 50
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("BPA_SCALE_CLUSTERS: %v", err)
	}
	return n
}

func newScale(t *testing.T) *scale {
	n := clusters(t)
	ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute+time.Duration(n)*3*time.Second)
	t.Cleanup(cancel)
	s := &scale{t: t, ctx: ctx, n: n}
	prepareSiteOf(t, scaled)
	must(t, "", "create", "namespace", plainScale)
	must(t, "", "delete", "-n", scaled, "baremetalhost", "host-1")
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{metal3.AddToScheme, corev1.AddToScheme, v1alpha1.AddToScheme, tekton.AddToScheme} {
		s.must(add(scheme))
	}
	var err error
	s.config, err = clientcmd.BuildConfigFromFlags("", shared.kubeconfig)
	s.must(err)
	s.config.QPS, s.config.DisableCompression, s.config.WarningHandler = -1, true, rest.NoWarnings{}
	s.admin, err = client.NewWithWatch(s.config, client.Options{Scheme: scheme})
	s.must(err)
	s.fake, err = newFakeTekton(s.config)
	s.must(err)
	t.Cleanup(s.clear)
	s.each(n*hostsEach, func(i int) error { return s.makeHost(ctx, scaled, i) })
	s.must(s.fake.play(ctx, scaled))
	s.seen = watchProvisionings(s)
	s.fake.ended = s.seen.expect
	must(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-bpa, namespace: bpa-system}\ndata: {depot-url: internet, max-runs: '0', health-interval: '0'}\n",
		"apply", "-n", "bpa-system", "--server-side", "--force-conflicts", "-f", "-")
	s.proxy = newCounter(t, s.config)
	s.proxy.created = s.seen.started
	return s
}

// clear deletes what the controllers of later tests would work on.
func (s *scale) clear() {
	ctx := context.Background()
	for _, namespace := range []string{scaled, plainScale} {
		for i := range s.n {
			p := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: clusterName(i)}}
			err := s.admin.Patch(ctx, p, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
			if client.IgnoreNotFound(err) != nil {
				s.t.Error(err)
			}
		}
		for _, kind := range []client.Object{&v1alpha1.Provisioning{}, &tekton.PipelineRun{}, &tekton.TaskRun{}, &metal3.BareMetalHost{}} {
			if err := s.admin.DeleteAllOf(ctx, kind, client.InNamespace(namespace)); err != nil {
				s.t.Error(err)
			}
		}
	}
}

func (s *scale) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// each calls do for each number below n, from a few goroutines.
func (s *scale) each(n int, do func(i int) error) {
	s.t.Helper()
	var all errgroup.Group
	all.SetLimit(atOnce)
	for i := range n {
		all.Go(func() error { return do(i) })
	}
	s.must(all.Wait())
}

func (s *scale) makeHost(ctx context.Context, namespace string, i int) error {
	mac := fmt.Sprintf("02:00:00:%02x:%02x:%02x", i>>16, i>>8&255, i&255)
	host := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("host-%05d", i), Namespace: namespace}}
	host.Spec.ExternallyProvisioned, host.Spec.BootMACAddress = true, mac
	if err := s.admin.Create(ctx, host); err != nil {
		return err
	}
	host.Status.Provisioning.State, host.Status.OperationalStatus, host.Status.PoweredOn = metal3.StateExternallyProvisioned, metal3.OperationalStatusOK, true
	host.Status.HardwareDetails = &metal3.HardwareDetails{
		CPU: metal3.CPU{Arch: "x86_64", Model: "Intel(R) Xeon(R) Gold 6226R", Count: 16, Flags: []string{"avx512f", "vmx"}}, RAMMebibytes: 64 << 10,
		NIC: []metal3.NIC{{Name: "eth0", MAC: mac, IP: fmt.Sprintf("10.%d.%d.%d", 64+i>>16, i>>8&255, i&255), Model: "0x8086 0x1572", SpeedGbps: 10, PXE: true}},
	}
	return s.admin.Status().Update(ctx, host)
}

func clusterName(i int) string { return fmt.Sprintf("edge-%04d", i) }

// apply creates all Provisionings, whose nodes need so many processors.
func (s *scale) apply(from, to, cpu int) {
	s.t.Helper()
	s.each(to-from, func(i int) error {
		p := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Name: clusterName(from + i), Namespace: scaled}}
		text := fmt.Sprintf(`{"masters":[{"master-1":{"cpu":%d}}],"workers":[{"worker-1":{"cpu":%d}},{"worker-2":{"cpu":%d}},{"worker-3":{"cpu":%d}}]}`, cpu, cpu, cpu, cpu)
		if err := json.Unmarshal([]byte(text), &p.Spec); err != nil {
			return err
		}
		return s.admin.Create(s.ctx, p)
	})
}

// refuse lets no host fit any Provisioning, and measures until each is decided.
func (s *scale) refuse() {
	s.t.Helper()
	s.apply(0, s.n, 4096)
	begun := time.Now()
	c := startReplica(s.t, 0, s.proxy)
	s.seen.replica = c
	s.seen.await(s, s.n, c, "decided", func(p *v1alpha1.Provisioning) bool {
		return p.Status.GetCondition(v1alpha1.ConditionReady).GetReason() == "HostsNotAvailable"
	})
	took := time.Since(begun)
	s.figure(results.Figure{Name: "nothing fits: decided a second, from the start of the controller", Value: float64(s.n) / took.Seconds(), Unit: "/s"})
	s.figure(results.Figure{Name: "nothing fits: controller, peak resident memory", Value: c.peak(), Unit: "MiB", Goal: 200})
	s.must(s.admin.DeleteAllOf(s.ctx, &v1alpha1.Provisioning{}, client.InNamespace(scaled)))
	s.seen.await(s, 0, c, "deleted", func(*v1alpha1.Provisioning) bool { return true })
}

// starts is what the starts of all runs took.
type starts struct {
	took   time.Duration
	writes []write
	runs   int
}

// start starts a run for each Provisioning. No task begins yet. It counts the requests from the first visit until
// the status shows the run.
func (s *scale) start() starts {
	s.t.Helper()
	c := s.seen.replica
	before := s.proxy.since(nil)
	s.proxy.mu.Lock()
	s.proxy.keep = true
	s.proxy.mu.Unlock()
	begun := time.Now()
	s.apply(0, s.n, 8)
	s.seen.await(s, s.n, c, "running", func(p *v1alpha1.Provisioning) bool { return p.Status.Run != nil })
	made := starts{took: time.Since(begun), runs: s.n}
	calls := s.proxy.since(before)
	s.proxy.mu.Lock()
	made.writes, s.proxy.keep = s.proxy.writes, false
	s.proxy.mu.Unlock()
	s.logCalls("starts", calls, s.n)
	writes := sum(calls, func(verb, resource string) bool { return isWrite(verb) && resource != "leases" })
	reads := sum(calls, func(verb, _ string) bool { return verb == "get" || verb == "list" })
	s.figure(results.Figure{Name: "writes of a start, of which none was there before", Value: float64(writes) / float64(s.n), Unit: "requests", Goal: 15})
	s.figure(results.Figure{Name: "reads of a start", Value: float64(reads) / float64(s.n), Unit: "requests"})
	s.figure(results.Figure{Name: "starts a second", Value: float64(s.n) / made.took.Seconds(), Unit: "/s"})
	return made
}

// plain sends the same writes again, one after the other, into another namespace.
func (s *scale) plain(made starts) {
	s.t.Helper()
	names, err := rest.HTTPClientFor(s.config)
	s.must(err)
	plain, err := rest.UnversionedRESTClientForConfigAndClient(plainConfig(s.config), names)
	s.must(err)
	s.each(s.n, func(i int) error {
		p := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Name: clusterName(i), Namespace: plainScale}}
		if err := json.Unmarshal([]byte(`{"paused":true,"masters":[{"master-1":{"cpu":8}}]}`), &p.Spec); err != nil {
			return err
		}
		return s.admin.Create(s.ctx, p)
	})
	most := min(len(made.writes), 100*len(made.writes)/s.n) // those of about 100 starts
	sent := 0
	begun := time.Now()
	for _, w := range made.writes[:most] {
		path := strings.Replace(w.path, "/namespaces/"+scaled, "/namespaces/"+plainScale, 1)
		body := bytes.ReplaceAll(w.body, []byte(scaled), []byte(plainScale))
		request := plain.Post().AbsPath(path).SetHeader("Content-Type", w.encoding)
		switch w.verb {
		case "update", "patch": // the same size, to the status of a Provisioning, which has no condition on its version
			path = strings.TrimSuffix(path, "/status") + "/status"
			request = plain.Patch("application/merge-patch+json").AbsPath(path)
			body = onlyStatus(body)
			if !strings.Contains(path, "/provisionings/") {
				continue
			}
		case "delete":
			continue
		}
		if err := request.Body(body).Do(s.ctx).Error(); err != nil {
			s.t.Fatalf("%s %s: %v", w.verb, path, err)
		}
		sent++
	}
	took := time.Since(begun).Seconds() / float64(sent)
	each := took * float64(len(made.writes)) / float64(made.runs)
	s.figure(results.Figure{Name: "time of a start", Peer: "its writes by a plain loop", Value: made.took.Seconds() / float64(made.runs) / each, Goal: 2})
	s.t.Logf("plain loop: %d writes, %.1f ms each", sent, 1000*took)
}

func onlyStatus(body []byte) []byte {
	var o struct {
		Status json.RawMessage `json:"status,omitempty"`
	}
	_ = json.Unmarshal(body, &o) // a patch of the finalizers has no status
	text, _ := json.Marshal(o)
	return text
}

// plainConfig is a configuration for requests by path, with JSON as it was recorded.
func plainConfig(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.NegotiatedSerializer = serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()
	return c
}

// play lets the tasks of all runs go on until each cluster is Ready. One of 20 playbooks fails, and is retried.
func (s *scale) play() {
	s.t.Helper()
	c := s.seen.replica
	s.fake.playbook, s.fake.progress = max(15*time.Second, time.Duration(s.n)*100*time.Millisecond), 5*time.Second
	s.fake.fails = func(run string) bool { return strings.HasSuffix(run, "9-install-1") }
	before := s.proxy.since(nil)
	close(s.fake.begin)
	s.seen.await(s, s.n, c, "ended", func(p *v1alpha1.Provisioning) bool {
		return p.Status.GetCondition(v1alpha1.ConditionReady).IsTrue() || p.Status.Failure != nil
	})
	s.logCalls("runs until their end", s.proxy.since(before), s.n)
	s.fake.all.Wait()
	s.fake.mu.Lock()
	for _, err := range s.fake.problems {
		s.t.Error(err)
	}
	s.fake.mu.Unlock()
	s.checkHosts()
	s.checkRuns()
	s.compareClaims()
	s.seen.figures(s)
	s.figure(results.Figure{Name: "controller, peak resident memory", Value: c.peak(), Unit: "MiB", Goal: 200})
}

// checkHosts checks that each cluster holds its hosts, and that no other host is held.
func (s *scale) checkHosts() {
	s.t.Helper()
	var list metal3.BareMetalHostList
	s.must(s.admin.List(s.ctx, &list, client.InNamespace(scaled)))
	held := map[string]int{}
	for _, h := range list.Items {
		if h.Spec.ConsumerRef != nil {
			held[h.Spec.ConsumerRef.Name]++
		}
	}
	for i := range s.n {
		if n := held[clusterName(i)]; n != nodesEach {
			s.t.Errorf("%s holds %d hosts, want %d", clusterName(i), n, nodesEach)
		}
		delete(held, clusterName(i))
	}
	for holder, n := range held {
		s.t.Errorf("%d hosts are held by %s, which does not exist", n, holder)
	}
}

// checkRuns checks that each cluster has one run.
func (s *scale) checkRuns() {
	s.t.Helper()
	var list tekton.PipelineRunList
	s.must(s.admin.List(s.ctx, &list, client.InNamespace(scaled)))
	if len(list.Items) != s.n {
		s.t.Errorf("there are %d runs, want %d", len(list.Items), s.n)
	}
}

// compareClaims compares the claims with clients that only patch as many hosts, as many at a time.
func (s *scale) compareClaims() {
	s.t.Helper()
	var all errgroup.Group
	all.SetLimit(cap(s.fake.claims))
	number := min(s.n*nodesEach, 2000)
	begun := time.Now()
	for i := range number {
		all.Go(func() error {
			host := &metal3.BareMetalHost{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("host-%05d", i), Namespace: scaled}}
			return s.admin.Patch(s.ctx, host, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"plain":"patched"}}}`)))
		})
	}
	s.must(all.Wait())
	plain := time.Since(begun).Seconds() / float64(number)
	claim := s.fake.to.Sub(s.fake.from).Seconds() / float64(s.fake.claimed)
	s.figure(results.Figure{Name: "time of a claimed host", Peer: "a patch by plain clients", Value: claim / plain, Goal: 2})
	s.figure(results.Figure{Name: "hosts claimed a second", Value: 1 / claim, Unit: "/s"})
}

// rest checks that nobody asks for clusters that are Ready.
func (s *scale) rest() {
	s.t.Helper()
	pauseFor(s.ctx, 5*time.Second) // what the last changes have caused comes to an end
	before := s.proxy.since(nil)
	pauseFor(s.ctx, 20*time.Second)
	calls := s.proxy.since(before)
	s.logCalls("20 s of rest", calls, s.n)
	n := sum(calls, func(_, resource string) bool { return resource != "leases" })
	s.figure(results.Figure{Name: "requests in 20 s of rest, without leases", Value: float64(n), Unit: "requests"})
}

func (s *scale) figure(f results.Figure) {
	f.Table = fmt.Sprintf("%d clusters on %d hosts, runs played", s.n, s.n*hostsEach)
	s.t.Log(f)
	s.figures = append(s.figures, f)
}

func (s *scale) logCalls(what string, calls map[string]int, n int) {
	var lines []string
	for call, count := range calls {
		lines = append(lines, fmt.Sprintf("%8.2f %s", float64(count)/float64(n), call))
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	s.t.Logf("%s, requests for each cluster:\n%s", what, strings.Join(lines, "\n"))
}

// watched has the newest Provisionings, as a client sees them.
type watched struct {
	mu      sync.Mutex
	all     map[string]*v1alpha1.Provisioning
	changed chan struct{}
	pending map[string][]pending
	lags    map[string][]time.Duration // by what was awaited
	running int
	most    int // runs in flight
	replica *replica
	doubles map[string]int
}

// pending is something that the status of a Provisioning has to show.
type pending struct {
	what  string
	since time.Time
	shown func(*v1alpha1.Provisioning) bool
}

func watchProvisionings(s *scale) *watched {
	w := &watched{all: map[string]*v1alpha1.Provisioning{}, changed: make(chan struct{}, 1), pending: map[string][]pending{}, lags: map[string][]time.Duration{}, doubles: map[string]int{}}
	events, err := s.admin.Watch(s.ctx, &v1alpha1.ProvisioningList{}, client.InNamespace(scaled))
	s.must(err)
	go func() {
		for event := range events.ResultChan() {
			p, ok := event.Object.(*v1alpha1.Provisioning)
			if !ok {
				continue
			}
			w.show(p, event.Type == "DELETED")
		}
	}()
	return w
}

func (w *watched) show(p *v1alpha1.Provisioning, deleted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if deleted {
		delete(w.all, p.Name)
	} else {
		w.all[p.Name] = p
	}
	w.pending[p.Name] = slices.DeleteFunc(w.pending[p.Name], func(e pending) bool {
		if !e.shown(p) {
			return false
		}
		w.lags[e.what] = append(w.lags[e.what], time.Since(e.since))
		return true
	})
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// started counts the runs that the controller has created.
func (w *watched) started(resource, name string, _ time.Time) {
	if resource != "pipelineruns" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running++
	w.most = max(w.most, w.running)
	w.doubles[name]++
}

// expect is called at the end of a task, or of a run if task is empty.
func (w *watched) expect(cluster, task string, failed bool) {
	e := pending{what: "end of a task", since: time.Now()}
	switch {
	case task == "" && failed:
		e.what, e.shown = "failure", func(p *v1alpha1.Provisioning) bool { return p.Status.Failure != nil }
	case task == "":
		e.what, e.shown = "end of a run", func(p *v1alpha1.Provisioning) bool { return p.Status.Run != nil && p.Status.Run.CompletionTime != nil }
	case task == "select-hosts":
		e.shown = func(p *v1alpha1.Provisioning) bool {
			return p.Status.GetCondition(v1alpha1.ConditionHostsClaimed).IsTrue()
		}
	default:
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if task == "" {
		w.running--
	}
	if p := w.all[cluster]; p != nil && e.shown(p) {
		w.lags[e.what] = append(w.lags[e.what], 0) // the event was faster than the answer
		return
	}
	w.pending[cluster] = append(w.pending[cluster], e)
}

// await waits until there are n Provisionings, and is is true for each.
func (w *watched) await(s *scale, n int, c *replica, what string, is func(*v1alpha1.Provisioning) bool) {
	s.t.Helper()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		w.mu.Lock()
		count, other := 0, (*v1alpha1.Provisioning)(nil)
		for _, p := range w.all {
			if is(p) {
				count++
			} else {
				other = p
			}
		}
		done := count == n && len(w.all) == n
		w.mu.Unlock()
		if done {
			return
		}
		select {
		case <-w.changed:
			pauseFor(s.ctx, 50*time.Millisecond) // counting all at each event would take the processor from the others
		case <-tick.C:
			s.t.Logf("%s: %d of %d", what, count, n)
		case err := <-c.ended:
			c.ended <- err
			s.t.Fatalf("the controller exited: %v\n%s", err, c.output(s.t))
		case <-s.ctx.Done():
			text, _ := json.MarshalIndent(other, "", " ")
			s.t.Fatalf("timeout: %s are %d of %d, and not %s\ncontroller:\n%s", what, count, n, text, lastLines(c.output(s.t)))
		}
	}
}

// figures records the lags.
func (w *watched) figures(s *scale) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.figure(results.Figure{Name: "runs in flight, at most", Value: float64(w.most), Unit: "runs"})
	for run, n := range w.doubles {
		if n > 1 {
			s.t.Errorf("run %s was created %d times", run, n)
		}
	}
	for _, what := range []string{"end of a task", "end of a run", "failure"} {
		lags := w.lags[what]
		if slices.Sort(lags); len(lags) == 0 {
			s.t.Errorf("no lag of %s was measured", what)
			continue
		}
		s.figure(results.Figure{Name: "lag of the status after the " + what + ", p99 of " + strconv.Itoa(len(lags)), Value: lags[(len(lags)*99)/100].Seconds(), Unit: "s", Goal: 1})
		s.t.Logf("%s: median %s, maximum %s", what, lags[len(lags)/2], lags[len(lags)-1])
	}
}

// replica is a replica of the controller behind a proxy.
type replica struct {
	controller
	process *os.Process
}

// startReplica starts a replica of the controller, with the limits of config/controller.yaml.
func startReplica(t *testing.T, n int, proxy *counter) *replica {
	t.Helper()
	for _, file := range []string{"200-controller", "config-leader-election", "config-observability"} {
		must(t, "", "apply", "--server-side", "-n", "bpa-system", "-f", "../../config/"+file+".yaml")
	}
	program := filepath.Join(shared.dir, "controller")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/controller").CombinedOutput(); err != nil {
		t.Fatalf("build the controller: %v\n%s", err, out)
	}
	name := "bpa-controller-" + strconv.Itoa(n)
	c := &replica{controller: controller{log: filepath.Join(shared.dir, name+".log"), ended: make(chan error, 1)}}
	log, err := os.Create(c.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(program)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "KUBECONFIG="+proxy.kubeconfig(t), "SYSTEM_NAMESPACE=bpa-system", "POD_NAME="+name, "GOMEMLIMIT=160MiB",
		"KUBERNETES_MIN_VERSION=v1.28.0", "METRICS_PROMETHEUS_PORT="+anyPort(t), "PROFILING_PORT="+anyPort(t))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.process = cmd.Process
	go func() { c.ended <- cmd.Wait() }()
	t.Cleanup(c.kill)
	return c
}

func (c *replica) kill() {
	_ = c.process.Kill()
	c.ended <- <-c.ended
}

// lastLines returns the end of a log.
func lastLines(log string) string { return log[max(0, len(log)-4000):] }

// peak returns the largest resident memory so far, in MiB.
func (c *replica) peak() float64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), "VmHWM:")
	var kib float64
	_, _ = fmt.Sscan(rest, &kib) // 0 shows in the table
	return kib / 1024
}
