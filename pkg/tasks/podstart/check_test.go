package podstart

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const pause = "registry.k8s.io/pause:3.10.1"

// fakeCluster is a cluster whose kubelets start pods, or do not.
type fakeCluster struct {
	t      *testing.T
	images map[string][]string // names of images by node
	crictl string              // what crictl on the control plane says
	pods   []corev1.Pod
	// status is what the kubelet of a node says of a new pod; nil: it is Ready.
	status  func(node string) corev1.PodStatus
	events  []corev1.Event
	onGet   func()
	refuses string // the first word of calls that fail
}

func (f *fakeCluster) Root(_ context.Context, command string) ([]byte, error) {
	if f.crictl == "" || !strings.Contains(command, "crictl images --output json") {
		return nil, errors.New("crictl: not found")
	}
	return []byte(f.crictl), nil
}

func (f *fakeCluster) Kubectl(ctx context.Context, arguments string, stdin []byte) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	words := strings.Fields(arguments)
	if words[0] == f.refuses {
		return nil, errors.New("admission webhook denied the request")
	}
	_, selector, _ := strings.Cut(arguments, "--selector ")
	selector, _, _ = strings.Cut(selector, " ")
	key, value, one := strings.Cut(selector, "=")
	selected := func(p corev1.Pod) bool { got, has := p.Labels[key]; return has && (!one || got == value) }
	switch words[0] + " " + words[1] {
	case "delete pods":
		f.pods = slices.DeleteFunc(f.pods, selected)
		return nil, nil
	case "create --filename":
		f.create(stdin)
		return nil, nil
	case "get nodes":
		var list corev1.NodeList
		for name, images := range f.images {
			n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
			for _, image := range images {
				n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{"sha256:1", image}})
			}
			list.Items = append(list.Items, n)
		}
		return json.Marshal(list)
	case "get pods":
		if f.onGet != nil {
			f.onGet()
		}
		var list corev1.PodList
		for _, p := range f.pods {
			if selected(p) {
				list.Items = append(list.Items, p)
			}
		}
		return json.Marshal(list)
	case "get events":
		return json.Marshal(corev1.EventList{Items: f.events})
	}
	f.t.Errorf("kubectl %s", arguments)
	return nil, errors.New("unknown command")
}

func (f *fakeCluster) create(manifest []byte) {
	f.t.Helper()
	var list struct{ Items []corev1.Pod }
	if err := json.Unmarshal(manifest, &list); err != nil {
		f.t.Fatal(err)
	}
	for _, p := range list.Items {
		p.Name = fmt.Sprintf("%s%d", p.GenerateName, len(f.pods))
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
		if f.status != nil {
			p.Status = f.status(p.Spec.NodeName)
		}
		f.pods = append(f.pods, p)
	}
}

func newCluster(t *testing.T) *fakeCluster {
	return &fakeCluster{t: t, images: map[string][]string{"m1": {"registry.k8s.io/kube-proxy:v1.35.4", pause}, "w1": {pause}}}
}

func (f *fakeCluster) check(ctx context.Context, nodes ...string) (map[string]string, string, error) {
	var log strings.Builder
	failed, err := Check(ctx, f, nodes, time.Millisecond, 200*time.Millisecond, &log)
	return failed, log.String(), err
}

// All nodes start their pods at the same time. The pods fulfil the strictest policy, tolerate every taint, and are
// deleted, together with those that a killed task has left.
func TestNodesThatStartPods(t *testing.T) {
	f := newCluster(t)
	f.pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "left", Labels: map[string]string{label: "old"}}}, {ObjectMeta: metav1.ObjectMeta{Name: "coredns"}}}
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
	if _, _, err := f.check(t.Context(), "w1"); err == nil || !strings.Contains(err.Error(), "create pods: admission webhook denied the request") {
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
