//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/site"
)

// workload is a service with two pods in the new cluster, and a client that sends it requests.
type workload struct {
	t          *testing.T
	kubeconfig string
	end        context.CancelFunc
	done       chan struct{}

	mu             sync.Mutex
	gap            time.Duration // longest time without an answer
	answers        time.Time     // when it ended
	answered, lost int
	losses         []string // time and node of the first lost requests
}

// The manifest of the workload. CoreDNS serves it, because its image is in the depot: its plugin
// health answers HTTP requests.
const workloadManifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data:
  Corefile: |
    .:1053 {
      health :8080
    }
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 5
      topologySpreadConstraints:
      - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [pod-template-hash]}
      tolerations:
      - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 5}
      - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 5}
      - {key: ` + poolTaint + `, operator: Exists} # of the node set of a year: the pods are to be on different nodes
      containers:
      - name: web
        image: registry.k8s.io/coredns/coredns:v1.14.7
        args: [-conf, /etc/coredns/Corefile]
        lifecycle: {preStop: {sleep: {seconds: 3}}} # until no node sends requests to the pod any more
        readinessProbe: {httpGet: {path: /health, port: 8080}, periodSeconds: 1}
        volumeMounts: [{name: config, mountPath: /etc/coredns}]
      volumes: [{name: config, configMap: {name: web}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: NodePort
  selector: {app: web}
  ports: [{port: 8080, nodePort: 30080}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec:
  minAvailable: 1
  selector: {matchLabels: {app: web}}
`

// startWorkload starts the workload and its client. The client sends a request to every node of the
// cluster in turn, as users behind a load balancer do.
func startWorkload(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) *workload {
	t.Helper()
	w := &workload{t: t, kubeconfig: kubeconfigOf(t, s, p), done: make(chan struct{})}
	if out, err := site.Kubectl(w.kubeconfig, workloadManifest, "apply", "-f", "-"); err != nil {
		t.Fatalf("start the workload: %v\n%s", err, out)
	}
	w.spread()
	ctx, end := context.WithCancel(context.Background())
	w.end = end
	go func() {
		defer close(w.done)
		w.ask(ctx, s, p.Name)
	}()
	return w
}

// spread restarts the pods one after the other, so that they are on different nodes if there are two workers, and
// waits until they are ready. With both on one machine, its loss is a gap that Kubernetes cannot avoid.
func (w *workload) spread() {
	w.t.Helper()
	for _, args := range [][]string{
		{"rollout", "restart", "deployment/web"}, {"rollout", "status", "deployment/web", "--timeout=120s"},
	} {
		if out, err := site.Kubectl(w.kubeconfig, "", args...); err != nil {
			w.t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	workers, err := site.Kubectl(w.kubeconfig, "", "get", "nodes", "--selector", "!node-role.kubernetes.io/control-plane", "-o", "name")
	nodes, err2 := site.Kubectl(w.kubeconfig, "", "get", "pods", "--selector", "app=web", "-o",
		`go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.spec.nodeName}} {{end}}{{end}}`)
	if err != nil || err2 != nil {
		w.t.Errorf("find the nodes of the workload: %v, %v\n%s%s", err, err2, workers, nodes)
		return
	}
	on := strings.Fields(nodes)
	w.t.Logf("the workload runs on %v", on)
	if len(strings.Fields(workers)) > 1 && (len(on) != 2 || on[0] == on[1]) {
		w.t.Errorf("the workload runs on %v, want one pod on each of two nodes", on)
	}
}

// ask sends requests until the context ends. A request that no node answers within a second is sent
// to the next node.
func (w *workload) ask(ctx context.Context, s *site.Site, name string) {
	web := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	last, next := time.Now(), time.NewTicker(200*time.Millisecond)
	defer next.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		p := &v1alpha1.Provisioning{}
		if err := s.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, p); err != nil || len(p.Status.Nodes) == 0 {
			continue
		}
		if err := get(ctx, web, fmt.Sprintf("http://%s:30080/health", p.Status.Nodes[i%len(p.Status.Nodes)].Address)); err != nil {
			w.lose(p.Status.Nodes[i%len(p.Status.Nodes)].Name, err)
			continue
		}
		w.mu.Lock()
		w.answered++
		if gap := time.Since(last); gap > w.gap {
			w.gap, w.answers = gap, time.Now()
		}
		w.mu.Unlock()
		last = time.Now()
	}
}

// reset forgets the longest time without an answer.
func (w *workload) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gap, w.answers = 0, time.Time{}
}

// longest returns the longest time without an answer, and when it ended.
func (w *workload) longest() (time.Duration, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gap, w.answers
}

// lose counts a request without an answer.
func (w *workload) lose(node string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost++
	if len(w.losses) < 40 {
		w.losses = append(w.losses, fmt.Sprintf("%s %s: %v", time.Now().Format(time.TimeOnly), node, err))
	}
}

func get(ctx context.Context, web *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := web.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || string(text) != "OK") {
		err = fmt.Errorf("%s: %q", answer.Status, text)
	}
	return err
}

// longestGap is how long the workload may be without an answer. When a machine dies, its pods and
// the rules of the service stay until Kubernetes notices after 40 to 50 s; the other pod answers
// about half of the requests meanwhile.
const longestGap = 30 * time.Second

// stop ends the client and checks that the workload has answered all the time.
func (w *workload) stop() {
	w.t.Helper()
	w.end()
	<-w.done
	w.t.Logf("the workload answered %d requests and lost %d; the longest time without an answer was %s, until %s",
		w.answered, w.lost, w.gap.Round(100*time.Millisecond), w.answers.Format(time.TimeOnly))
	if w.answered == 0 || w.gap > longestGap {
		w.t.Errorf("the workload answered %d requests, with up to %s without an answer; want at most %s", w.answered, w.gap, longestGap)
	}
}

// expectLost checks which share of the requests was without an answer, after stop.
func (w *workload) expectLost(most float64) {
	w.t.Helper()
	if all := w.answered + w.lost; float64(w.lost) > most*float64(all) {
		w.t.Errorf("%d of %d requests were lost, want at most %.1f %%. The first of them:\n%s", w.lost, all, 100*most, strings.Join(w.losses, "\n"))
	}
}

// killer kills the controller at random moments.
type killer struct {
	end  context.CancelFunc
	done chan struct{}
}

// killControllers kills the controller again and again, after 10 to 50 seconds each time. It logs the
// seed.
func killControllers(t *testing.T, s *site.Site) *killer {
	seed := uint64(time.Now().UnixNano())
	t.Logf("the controller is killed at random moments of seed %d", seed)
	admin := s.Admin()
	random := rand.New(rand.NewPCG(seed, 0))
	ctx, end := context.WithCancel(context.Background())
	k := &killer{end: end, done: make(chan struct{})}
	go func() {
		defer close(k.done)
		for kills := 0; ; kills++ {
			timer := time.NewTimer(10*time.Second + time.Duration(random.Int64N(int64(40*time.Second))))
			select {
			case <-ctx.Done():
				timer.Stop()
				t.Logf("the controller was killed %d times", kills)
				return
			case <-timer.C:
			}
			err := admin.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace("bpa-system"), client.MatchingLabels{"app.kubernetes.io/name": "bpa-controller"},
				client.GracePeriodSeconds(0))
			if err != nil && ctx.Err() == nil {
				t.Errorf("kill the controller: %v", err)
			}
		}
	}()
	return k
}

func (k *killer) stop() {
	k.end()
	<-k.done
}
