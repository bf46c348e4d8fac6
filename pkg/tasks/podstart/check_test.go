package podstart_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/akraino-icn/bpa/pkg/appcluster"
	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/podstart"
)

const pause = "registry.k8s.io/pause:3.10.1"

// fakeCluster is a cluster whose kubelets start pods, or do not.
type fakeCluster struct {
	mu     sync.Mutex
	kube   kubernetes.Interface
	images map[string][]string // names of images by node
	crictl string              // what crictl on the control plane says
	pods   []corev1.Pod
	// status is what the kubelet of a node says of a new pod; nil: it is Ready.
	status  func(node string) corev1.PodStatus
	events  []corev1.Event
	onGet   func()
	refuses string // the verb of calls that fail
}

func (f *fakeCluster) Root(_ context.Context, command string) ([]byte, error) {
	if f.crictl == "" || !strings.Contains(command, "crictl images --output json") {
		return nil, errors.New("crictl: not found")
	}
	return []byte(f.crictl), nil
}

func (f *fakeCluster) Core(ctx context.Context, do func(context.Context, typedcorev1.CoreV1Interface) error) error {
	return do(ctx, f.kube.CoreV1())
}

// objects are those of the cluster.
func (f *fakeCluster) objects(call apitest.Call) (all []runtime.Object, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if call.Verb == "list" && call.Resource == "pods" && f.onGet != nil {
		f.onGet()
	}
	for name, images := range f.images {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, image := range images {
			n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{"sha256:1", image}})
		}
		all = append(all, n)
	}
	for _, p := range f.pods {
		all = append(all, p.DeepCopy())
		for _, e := range f.events {
			e.Namespace, e.Type, e.InvolvedObject.Name = "kube-system", corev1.EventTypeWarning, p.Name
			all = append(all, e.DeepCopy())
		}
	}
	return all, nil
}

func (f *fakeCluster) change(call apitest.Call) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if call.Verb == f.refuses {
		return apierrors.NewForbidden(schema.GroupResource{Resource: call.Resource}, "", errors.New("admission webhook denied the request"))
	}
	selector, err := labels.Parse(call.Labels)
	switch {
	case err != nil:
		return err
	case call.Verb == "deletecollection" && call.Resource == "pods":
		f.pods = slices.DeleteFunc(slices.Clone(f.pods), func(p corev1.Pod) bool { return selector.Matches(labels.Set(p.Labels)) })
		return nil
	case call.Verb == "create" && call.Resource == "pods":
		return f.create(call.Body)
	}
	return fmt.Errorf("an unexpected call: %s %s", call.Verb, call.Resource)
}

func (f *fakeCluster) create(body map[string]any) error {
	var p corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(body, &p); err != nil {
		return err
	}
	p.Name = fmt.Sprintf("%s%d", p.GenerateName, len(f.pods))
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	if f.status != nil {
		p.Status = f.status(p.Spec.NodeName)
	}
	f.pods = append(f.pods, p)
	return nil
}

// local is a connection to a control plane of the test.
type local struct{ node.Connection }

func (local) Output(context.Context, string, int) ([]byte, error) { return nil, nil }

func (local) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func newCluster(t *testing.T) *fakeCluster {
	f := &fakeCluster{images: map[string][]string{"m1": {"registry.k8s.io/kube-proxy:v1.35.4", pause}, "w1": {pause}}}
	api := apitest.Start(t)
	api.Objects, api.Change = f.objects, f.change
	kube, err := appcluster.Through(t.Context(), api.Through(local{}), contract.Request{Spec: contract.Spec{SSHUser: "root"}}, contract.Node{Address: "127.0.0.1"}, "", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	f.kube = kube
	return f
}

func (f *fakeCluster) check(ctx context.Context, nodes ...string) (map[string]string, string, error) {
	var log strings.Builder
	failed, err := podstart.Check(ctx, f, nodes, time.Millisecond, 500*time.Millisecond, &log)
	return failed, log.String(), err
}

// All nodes start their pods at the same time. The pods fulfil the strictest policy, tolerate every taint, and are
// deleted, together with those that a killed task has left.
func TestNodesThatStartPods(t *testing.T) {
	f := newCluster(t)
	f.pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "left", Labels: map[string]string{"bpa.akraino.org/pod-start": "old"}}}, {ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "coredns"}}}
	var seen []corev1.Pod
	f.onGet = func() { seen = slices.Clone(f.pods) }
	failed, log, err := f.check(t.Context(), "m1", "w1")
	if err != nil || len(failed) != 0 || !strings.Contains(log, "m1, w1") {
		t.Fatalf("%v, %v\n%s", failed, err, log)
	}
	if len(f.pods) != 1 || f.pods[0].Name != "coredns" {
		t.Errorf("pods that are left: %v", f.pods)
	}
	if len(seen) != 3 {
		t.Fatalf("pods %v", seen)
	}
	slices.SortFunc(seen, func(a, b corev1.Pod) int { return strings.Compare(a.Spec.NodeName, b.Spec.NodeName) })
	for i, node := range []string{"m1", "w1"} {
		p := seen[i+1]
		c := p.Spec.Containers[0]
		if p.Namespace != "kube-system" || p.Spec.NodeName != node || c.Image != pause || c.ImagePullPolicy != corev1.PullIfNotPresent {
			t.Errorf("pod %+v", p.Spec)
		}
		if got := p.Spec.Tolerations; len(got) != 1 || got[0].Operator != corev1.TolerationOpExists || got[0].Key != "" || got[0].Effect != "" {
			t.Errorf("tolerations %v", got)
		}
		strict := *p.Spec.SecurityContext.RunAsNonRoot && p.Spec.SecurityContext.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault &&
			!*c.SecurityContext.AllowPrivilegeEscalation && c.SecurityContext.Capabilities.Drop[0] == "ALL" && !*p.Spec.AutomountServiceAccountToken
		if !strict {
			t.Errorf("security %+v, %+v", p.Spec.SecurityContext, c.SecurityContext)
		}
	}
}

func TestNodesThatStartNoPods(t *testing.T) {
	waiting := func(node string) corev1.PodStatus {
		if node == "m1" {
			return corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		}
		return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}}}}
	}
	status := func(s corev1.PodStatus) func(string) corev1.PodStatus {
		return func(string) corev1.PodStatus { return s }
	}
	for name, tc := range map[string]struct {
		change func(f *fakeCluster)
		nodes  []string
		want   map[string]string
	}{
		"no programs of the network": {func(f *fakeCluster) {
			f.status = waiting
			f.events = []corev1.Event{
				{Reason: "FailedMount", Message: "old", LastTimestamp: metav1.Unix(1, 0)},
				{Reason: "FailedCreatePodSandBox", Message: `failed to find plugin "loopback" in path [/opt/cni/bin]`, LastTimestamp: metav1.Unix(2, 0)},
			}
		}, []string{"m1", "w1"}, map[string]string{"w1": `FailedCreatePodSandBox: failed to find plugin "loopback" in path [/opt/cni/bin]`}},
		"no event":         {func(f *fakeCluster) { f.status = waiting }, []string{"w1"}, map[string]string{"w1": "ContainerCreating"}},
		"a silent kubelet": {func(f *fakeCluster) { f.status = status(corev1.PodStatus{Phase: corev1.PodPending}) }, []string{"w1"}, map[string]string{"w1": "its kubelet does not start it"}},
		"rejected": {func(f *fakeCluster) {
			f.status = status(corev1.PodStatus{Phase: corev1.PodFailed, Reason: "NodeAffinity", Message: "Predicate failed"})
		}, []string{"w1"}, map[string]string{"w1": "NodeAffinity: Predicate failed"}},
		"no room": {func(f *fakeCluster) {
			f.status = status(corev1.PodStatus{Phase: corev1.PodFailed, Reason: "OutOfpods"})
		}, []string{"w1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newCluster(t)
			tc.change(f)
			failed, log, err := f.check(t.Context(), tc.nodes...)
			if err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
			if diff := cmp.Diff(tc.want, failed); diff != "" {
				t.Errorf("failed (-want +got):\n%s", diff)
			}
			if len(f.pods) > 0 {
				t.Errorf("pods that are left: %v", f.pods)
			}
		})
	}
}

// A cancellation is an error. The pods are deleted all the same.
func TestACancelledCheckLeavesNoPods(t *testing.T) {
	f := newCluster(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.onGet = cancel
	f.status = func(string) corev1.PodStatus { return corev1.PodStatus{Phase: corev1.PodPending} }
	if _, _, err := f.check(ctx, "w1"); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if len(f.pods) > 0 {
		t.Errorf("pods that are left: %v", f.pods)
	}
}

// The cluster refuses the pods.
func TestPodsThatAreRefused(t *testing.T) {
	f := newCluster(t)
	f.refuses = "create"
	if _, _, err := f.check(t.Context(), "w1"); err == nil || !strings.Contains(err.Error(), "create pods: ") || !strings.Contains(err.Error(), "admission webhook denied the request") {
		t.Errorf("error %v", err)
	}
}

func TestImages(t *testing.T) {
	for name, tc := range map[string]struct {
		images map[string][]string
		crictl string
		want   string // of w1; empty: it is an error
	}{
		"its own":                {map[string][]string{"m1": {"registry.k8s.io/pause:3.9"}, "w1": {pause}}, "", pause},
		"that of another node":   {map[string][]string{"m1": {pause}, "w1": {"docker.io/library/pause-menu/web:1"}}, "", pause},
		"by architecture":        {map[string][]string{"w1": {"depot.local/google_containers/pause-amd64:3.2"}}, "", "depot.local/google_containers/pause-amd64:3.2"},
		"no node names it":       {map[string][]string{"w1": {"registry.k8s.io/kube-proxy:v1.35.4"}}, `{"images":[{"repoTags":["docker.io/library/nginx:1"]},{"repoTags":["` + pause + `"]}]}`, pause},
		"a digest is no tag":     {map[string][]string{"w1": {"registry.k8s.io/pause@sha256:12"}}, `{"images":[]}`, ""},
		"no crictl and no image": {nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newCluster(t)
			f.images, f.crictl = tc.images, tc.crictl
			got := ""
			f.onGet = func() { got = f.pods[0].Spec.Containers[0].Image }
			if _, _, err := f.check(t.Context(), "w1"); (err == nil) != (tc.want != "") || got != tc.want {
				t.Errorf("image %q, want %q: %v", got, tc.want, err)
			}
		})
	}
}
