package cluster

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	fakediscovery "k8s.io/client-go/discovery/fake"
	clientgotesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = utiljson.Unmarshal(raw, &o.Object) // with whole numbers, as from an API server
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestJudge(t *testing.T) {
	for name, tc := range map[string]struct {
		text         string
		ready, final bool
	}{
		"started job":                       {"{apiVersion: batch/v1, kind: Job, status: {startTime: '2026-01-01T00:00:00Z', active: 1}}", false, false},
		"complete job":                      {"{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Complete, status: 'True'}]}}", true, false},
		"failed job":                        {"{apiVersion: batch/v1, kind: Job, status: {conditions: [{type: Failed, status: 'True', message: BackoffLimitExceeded}]}}", false, true},
		"api without server":                {"{apiVersion: apiregistration.k8s.io/v1, kind: APIService, status: {conditions: [{type: Available, status: 'False', message: no endpoints}]}}", false, false},
		"new api":                           {"{apiVersion: apiregistration.k8s.io/v1, kind: APIService}", false, false},
		"api":                               {"{apiVersion: apiregistration.k8s.io/v1, kind: APIService, status: {conditions: [{type: Available, status: 'True'}]}}", true, false},
		"daemon set before its controller":  {"{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}}", false, false},
		"daemon set without nodes":          {"{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, status: {observedGeneration: 1, desiredNumberScheduled: 0}}", true, false},
		"old status":                        {"{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 2}, status: {observedGeneration: 1, desiredNumberScheduled: 0}}", false, false},
		"deployment that is stuck":          {"{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 1}, status: {observedGeneration: 1, conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]}}", false, false},
		"custom resource":                   {"{apiVersion: example.com/v1, kind: Thing}", true, false},
		"custom resource that is not ready": {"{apiVersion: example.com/v1, kind: Thing, status: {conditions: [{type: Ready, status: 'False', message: later}]}}", false, false},
	} {
		ready, final, why := judge(object(t, tc.text))
		if ready != tc.ready || final != tc.final || !ready && why == "" {
			t.Errorf("%s: ready %t, final %t, %q", name, ready, final, why)
		}
	}
}

// Objects are deleted in the opposite order of their creation, and a controller lives longer than its custom
// resources.
func TestStages(t *testing.T) {
	refs := []Ref{
		{"v1", "Namespace", "", "n"}, {"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "things.example.com"}, {"v1", "ConfigMap", "n", "a"},
		{"apps/v1", "Deployment", "n", "b"}, {"example.com/v1", "Thing", "n", "c"}, {"rbac.authorization.k8s.io/v1", "ClusterRole", "", "d"},
	}
	var got [][]string
	for _, stage := range stages(refs) {
		var names []string
		for _, r := range stage {
			names = append(names, r.Name)
		}
		got = append(got, names)
	}
	if diff := cmp.Diff([][]string{{"c"}, {"d", "b", "a"}, {"things.example.com"}, {"n"}}, got); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
}

func TestUnion(t *testing.T) {
	a, b, newer, c := Ref{"v1", "ConfigMap", "n", "a"}, Ref{"x.io/v1", "Thing", "n", "b"}, Ref{"x.io/v2", "Thing", "n", "b"}, Ref{"v1", "Secret", "n", "a"}
	if diff := cmp.Diff([]Ref{newer, c, a}, union([]Ref{a, b}, []Ref{newer, c})); diff != "" {
		t.Errorf("union (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Ref{a}, without([]Ref{a, b}, []Ref{newer})); diff != "" {
		t.Errorf("without (-want +got):\n%s", diff)
	}
}

func TestBelongs(t *testing.T) {
	managed := func(labels string, managers ...string) *unstructured.Unstructured {
		o := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n, labels: {"+labels+"}}}")
		var fields []metav1.ManagedFieldsEntry
		for _, m := range managers {
			fields = append(fields, metav1.ManagedFieldsEntry{Manager: m, Operation: metav1.ManagedFieldsOperationUpdate})
		}
		o.SetManagedFields(fields)
		return o
	}
	ours := contract.LabelPlugin + ": multus"
	for name, tc := range map[string]struct {
		o    *unstructured.Unstructured
		want bool
		says string
	}{
		"ours":                    {managed(ours, contract.FieldManagerPlugins, "kubectl-edit"), true, ""},
		"without its label":       {managed("", contract.FieldManagerPlugins), true, ""},
		"taken over by a user":    {managed("", contract.FieldManagerPlugins, "helm"), false, "managed by bpa-plugins, helm"},
		"of a user":               {managed("", "kubectl-create"), false, "managed by kubectl-create"},
		"of another plugin":       {managed(contract.LabelPlugin+": nfd", contract.FieldManagerPlugins), false, "belongs to plugin nfd"},
		"of nobody that is known": {managed(""), false, "an unknown manager"},
	} {
		if got := belongs(tc.o, "multus"); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
		if err := foreign(tc.o, "multus"); !tc.want && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A kind that the cluster does not have is not the same as one about which it does not answer: only the objects
// of the first are gone.
func TestKinds(t *testing.T) {
	fake := &fakediscovery.FakeDiscovery{Fake: &clientgotesting.Fake{}}
	fake.Resources = []*metav1.APIResourceList{
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment", Namespaced: true, Verbs: []string{"list", "watch"}}, {Name: "deployments/scale", Kind: "Scale", Namespaced: true}}},
		{GroupVersion: "x.io/v2", APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing"}}},
	}
	k := newKinds(fake)
	if got, err := k.find("apps/v1", "Deployment"); err != nil || got.resource.Resource != "deployments" || !got.namespaced || !got.watched {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := k.find("x.io/v1", "Thing"); err != nil || got.resource.Version != "v2" || got.namespaced {
		t.Errorf("in another version: %+v, %v", got, err)
	}
	var missing *errNoKind
	for _, name := range []string{"Scale", "Nothing"} {
		if _, err := k.find("apps/v1", name); !errors.As(err, &missing) {
			t.Errorf("%s: %v", name, err)
		}
	}
	k.learn(object(t, "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {group: new.io, scope: Cluster, names: {kind: Fresh, plural: freshes}}}"))
	if got, err := k.find("new.io/v1alpha1", "Fresh"); err != nil || got.resource.String() != "new.io/v1alpha1, Resource=freshes" || got.namespaced {
		t.Errorf("of a CRD that is not served yet: %+v, %v", got, err)
	}
	k.forget()
	fake.PrependReactor("*", "*", func(clientgotesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("503") })
	if _, err := k.find("down.io/v1", "Thing"); err == nil || errors.As(err, &missing) {
		t.Errorf("a group that does not answer: %v", err)
	}
}

func TestTrouble(t *testing.T) {
	waiting := func(reason, message string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: "main", Image: "r/i:v1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
	}
	crash := waiting("CrashLoopBackOff", "back-off")
	crash.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 2}
	pod := func(name string, s ...corev1.ContainerStatus) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: s}}
	}
	unscheduled := pod("p")
	unscheduled.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/2 nodes are available"}}
	fine := pod("fine", corev1.ContainerStatus{Name: "main", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	fine.Status.Phase = corev1.PodRunning
	for want, list := range map[string][]corev1.Pod{
		"container main waits: ErrImagePull of r/i:v1: not found":  {fine, pod("a", waiting("ContainerCreating", "")), pod("b", waiting("ErrImagePull", "not found"))},
		"container main crashes: Error, exit status 2":             {fine, pod("a", crash)},
		"container main waits: CreateContainerConfigError: secret": {pod("a", waiting("CreateContainerConfigError", "secret"))},
		"0/2 nodes are available":                                  {unscheduled},
		"":                                                         {fine},
	} {
		if _, why := worst(list); why != want {
			t.Errorf("%q, want %q", why, want)
		}
	}
	long := "FailedCreatePodSandBox: failed to setup network for sandbox " + strings.Repeat("0ü", 300) + ": failed to find plugin \"macvlan\""
	if got := bothEnds(long); !strings.HasPrefix(got, "FailedCreatePodSandBox: ") || !strings.HasSuffix(got, `failed to find plugin "macvlan"`) || len(got) > 280 {
		t.Errorf("both ends: %q", got)
	}
	if got := oneLine("a\n\tb  "+strings.Repeat("ü", 100), 20); len(got) > 20 || strings.ContainsAny(got, "\n\t") || !strings.HasPrefix(got, "a b ü") {
		t.Errorf("one line: %q", got)
	}
}
