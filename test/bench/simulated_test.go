//go:build e2e

package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

const (
	simulatedPrefix = "simulated-"
	// heartbeat is how often a simulated node renews its lease. Kubespray's controller manager takes
	// a node for lost after 40 s.
	heartbeat = 10 * time.Second
)

// simulation has the simulated nodes of an application cluster. It does for them what a kubelet
// reports to the API server, and starts no container.
type simulation struct {
	t       *testing.T
	cluster *site.Site // the application cluster, namespace kube-system
	config  string     // path of the kubeconfig
	master  contract.Node
	real    int // number of real nodes with system pods

	mu    sync.Mutex
	count int // number of simulated nodes
}

// simulate starts a simulation without nodes.
func simulate(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) *simulation {
	t.Helper()
	raw := s.Secret(p.Status.Kubeconfig.SecretName, "value")
	config, err := clientcmd.RESTConfigFromKubeConfig(raw)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 100, 200
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	m := &simulation{t: t, cluster: &site.Site{WithWatch: c, T: t, Namespace: metav1.NamespaceSystem}, config: writeTemp(t, raw), real: 1, master: masterOf(t, s, p)}
	ctx, end := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { m.beat(ctx) })
	running.Go(func() { m.runPods(ctx) })
	t.Cleanup(func() { end(); running.Wait() })
	return m
}

// nodes returns all nodes of the cluster as BPA knows them.
func (m *simulation) nodes() []contract.Node {
	all := []contract.Node{m.master}
	for i := range m.count {
		name := simulatedName(i)
		all = append(all, contract.Node{
			Name: name, Roles: []string{contract.RoleWorker}, Host: name, HostUID: "00000000-0000-0000-0000-" + fmt.Sprintf("%012d", i),
			Address: fmt.Sprintf("192.0.2.%d", i+1), // TEST-NET-1 of RFC 5737: nothing answers there
		})
	}
	return all
}

func simulatedName(i int) string { return fmt.Sprintf("%s%03d", simulatedPrefix, i+1) }

// set adds or removes simulated nodes, and waits until each node of the cluster has its system pods.
func (m *simulation) set(count int) {
	m.t.Helper()
	ctx := context.Background()
	like := &corev1.Node{}
	if err := m.cluster.Get(ctx, client.ObjectKey{Name: m.master.Name}, like); err != nil {
		m.t.Fatal(err)
	}
	for i := m.count; i < count; i++ {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: simulatedName(i)},
			Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(simulatedName(i)), RenewTime: ptr.To(metav1.NowMicro())}}
		m.must(client.IgnoreAlreadyExists(m.cluster.Create(ctx, lease)))
		m.must(m.cluster.Create(ctx, simulatedNode(simulatedName(i), like)))
		m.renewFor(i + 1)
	}
	for before := m.count; before > count; before-- {
		m.renewFor(before - 1)
		m.remove(simulatedName(before - 1))
	}
	m.settle()
}

// renewFor makes count the number of simulated nodes whose leases are renewed.
func (m *simulation) renewFor(count int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count = count
}

// settle waits until all nodes are Ready with a Ready pod of each DaemonSet.
func (m *simulation) settle() {
	m.t.Helper()
	m.kubectl("wait", "--for=condition=Ready", "nodes", "--all", "--timeout=110s")
	for _, set := range []string{"kube-proxy", "kube-flannel"} {
		for _, number := range []string{"desiredNumberScheduled", "numberReady"} {
			m.kubectl("wait", "--namespace", metav1.NamespaceSystem, "daemonset/"+set, fmt.Sprintf("--for=jsonpath={.status.%s}=%d", number, m.count+m.real), "--timeout=110s")
		}
	}
}

// simulatedNode returns a node with the size, the system and the images of a real one. Only the pods
// that run on every node are scheduled to it. It has no address, since flannel would need
// a route to it.
func simulatedNode(name string, like *corev1.Node) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: like.Labels[corev1.LabelArchStable],
		}},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: "bench.bpa.akraino.org/simulated", Effect: corev1.TaintEffectNoSchedule}}},
		Status: *like.Status.DeepCopy(),
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}}
	return n
}

// joined tells the simulation that a real node has joined the cluster.
func (m *simulation) joined() { m.real++ }

// forget removes real nodes from the cluster, whose machines do not exist any more.
func (m *simulation) forget(names ...string) {
	m.t.Helper()
	for _, name := range names {
		m.remove(name)
		m.real--
	}
}

// remove deletes a node and its system pods from the cluster.
func (m *simulation) remove(name string) {
	m.t.Helper()
	ctx := context.Background()
	m.must(m.cluster.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	m.must(m.cluster.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(metav1.NamespaceSystem),
		client.MatchingFields{"spec.nodeName": name}, client.GracePeriodSeconds(0)))
}

// beat renews the leases of the simulated nodes.
func (m *simulation) beat(ctx context.Context) {
	next := time.NewTicker(heartbeat)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		m.mu.Lock()
		count := m.count
		m.mu.Unlock()
		for i := range count {
			renewed := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: simulatedName(i)}}
			if err := m.cluster.Patch(ctx, lease, client.RawPatch("application/merge-patch+json", []byte(renewed))); err != nil && ctx.Err() == nil {
				m.t.Errorf("renew the lease of %s: %v", lease.Name, err)
			}
		}
	}
}

// runPods reports the pods of the simulated nodes as Running and Ready.
func (m *simulation) runPods(ctx context.Context) {
	for ctx.Err() == nil {
		pending, err := m.cluster.Watch(ctx, &corev1.PodList{}, client.InNamespace(metav1.NamespaceSystem), client.MatchingFields{"status.phase": string(corev1.PodPending)})
		if err != nil {
			if ctx.Err() == nil {
				m.t.Errorf("watch the pods of simulated nodes: %v", err)
			}
			return
		}
		for event := range pending.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || !strings.HasPrefix(pod.Spec.NodeName, simulatedPrefix) || pod.Status.Phase != corev1.PodPending {
				continue
			}
			pod.Status.Phase = corev1.PodRunning
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
			if err := m.cluster.Status().Update(ctx, pod); err != nil && !gone(err) && ctx.Err() == nil {
				m.t.Errorf("report pod %s as Ready: %v", pod.Name, err)
			}
		}
	}
}

// gone reports whether a newer state of the object exists, which has an event of its own, or none.
func gone(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

func (m *simulation) kubectl(args ...string) {
	m.t.Helper()
	if out, err := site.Kubectl(m.config, "", args...); err != nil {
		m.t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (m *simulation) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}
