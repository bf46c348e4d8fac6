package drain_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/akraino-icn/bpa/pkg/appcluster"
	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/appcluster/drain"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// cluster is a cluster with nodes and pods. It counts the evictions, and refuses those of stuck pods.
type cluster struct {
	mu      sync.Mutex
	objects []runtime.Object
	stuck   bool
	did     []string
}

// direct is a connection to a machine of the test.
type direct struct{ node.Connection }

func (direct) Output(context.Context, string, int) ([]byte, error) { return nil, nil }

func (direct) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func (c *cluster) start(t *testing.T) kubernetes.Interface {
	server := apitest.Start(t)
	server.Objects = func(apitest.Call) ([]runtime.Object, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.Clone(c.objects), nil
	}
	server.Change = c.change
	kube, err := appcluster.Through(t.Context(), server.Through(direct{}), contract.Request{Spec: contract.Spec{SSHUser: "root"}}, contract.Node{Address: "10.60.0.1"}, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return kube
}

func (c *cluster) change(call apitest.Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.did = append(c.did, call.Verb+" "+call.Resource+" "+call.Name)
	if call.Verb != "evict" {
		return nil
	}
	if c.stuck {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	}
	c.objects = slices.DeleteFunc(c.objects, func(o runtime.Object) bool {
		p, is := o.(*corev1.Pod)
		return is && p.Name == call.Name
	})
	return nil
}

func pod(on, name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.PodSpec{NodeName: on}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	if change != nil {
		change(p)
	}
	return p
}

func ownedBy(kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, Controller: &yes}}
	}
}

// newCluster has one pod for each rule on worker-1, and one on another node.
func newCluster() *cluster {
	return &cluster{objects: []runtime.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}},
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "agent"}},
		pod("worker-1", "web", ownedBy("ReplicaSet", "web-1")),
		pod("worker-1", "alone", nil),
		pod("worker-1", "scratch", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "x", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		}),
		pod("worker-1", "agent-x", ownedBy("DaemonSet", "agent")),
		pod("worker-1", "static", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }),
		pod("worker-1", "done", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		pod("worker-2", "elsewhere", nil),
	}}
}

func names(pods []corev1.Pod) (all []string) {
	for _, p := range pods {
		all = append(all, p.Name)
	}
	slices.Sort(all)
	return all
}

// The pods of DaemonSets and static pods stay, and so do those of other nodes. Pods that have ended need not be waited for.
func TestDrain(t *testing.T) {
	c := newCluster()
	kube := c.start(t)
	left, err := drain.Left(t.Context(), kube, "worker-1")
	if want := []string{"alone", "scratch", "web"}; err != nil || !slices.Equal(names(left), want) {
		t.Fatalf("%v must leave, want %v: %v", names(left), want, err)
	}
	var begun []string
	if err := drain.Evict(t.Context(), kube, "worker-1", time.Minute, func(p corev1.Pod) { begun = append(begun, p.Name) }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(begun)
	slices.Sort(c.did)
	if want := []string{"alone", "done", "scratch", "web"}; !slices.Equal(begun, want) {
		t.Errorf("evictions began of %v, want %v", begun, want)
	}
	if want := []string{"evict pods alone", "evict pods done", "evict pods scratch", "evict pods web"}; !slices.Equal(c.did, want) {
		t.Errorf("changes %v, want %v", c.did, want)
	}
	if left, err = drain.Left(t.Context(), kube, "worker-1"); err != nil || len(left) > 0 {
		t.Errorf("%v are left, %v", names(left), err)
	}
}

// A PodDisruptionBudget that allows no eviction ends the drain at its limit. No pod is deleted, and the error has the refusal.
func TestDrainIsBlocked(t *testing.T) {
	c := newCluster()
	c.stuck = true
	kube := c.start(t)
	err := drain.Evict(t.Context(), kube, "worker-1", 200*time.Millisecond, nil)
	var incomplete *drain.Incomplete
	if !errors.As(err, &incomplete) || !strings.Contains(incomplete.Refusal, "disruption budget") {
		t.Errorf("error %v", err)
	}
	if i := slices.IndexFunc(c.did, func(what string) bool { return !strings.HasPrefix(what, "evict ") }); i >= 0 {
		t.Errorf("%s, which ignores PodDisruptionBudgets", c.did[i])
	}
}

func TestCordon(t *testing.T) {
	c := newCluster()
	kube := c.start(t)
	if err := drain.Cordon(t.Context(), kube, "worker-1", false); err != nil || len(c.did) > 0 {
		t.Errorf("a node that accepts pods is changed: %v, %v", c.did, err)
	}
	if err := drain.Cordon(t.Context(), kube, "worker-1", true); err != nil || !slices.Equal(c.did, []string{"patch nodes worker-1"}) {
		t.Errorf("changes %v, %v", c.did, err)
	}
	if err := drain.Cordon(t.Context(), kube, "worker-9", true); !apierrors.IsNotFound(err) {
		t.Errorf("a node that does not exist: %v", err)
	}
}
