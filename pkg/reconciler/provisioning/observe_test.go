package provisioning

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/observe"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// asked returns a client of an API server with the objects of the fixture, as kubectl bpa has it.
func (w *fixture) asked(t *testing.T) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, tekton.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	b := fake.NewClientBuilder().WithScheme(scheme)
	maps, err := w.kube.CoreV1().ConfigMaps(site).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	runs, err := w.tekton.TektonV1().PipelineRuns(site).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tasks, err := w.tekton.TektonV1().TaskRuns(site).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, cm := range observe.Pointers(maps.Items) {
		b = b.WithObjects(cm)
	}
	for _, r := range runs.Items {
		b = b.WithObjects(asAnswered(t, r, &tekton.PipelineRun{}))
	}
	for _, r := range tasks.Items {
		b = b.WithObjects(asAnswered(t, r, &tekton.TaskRun{}))
	}
	return b.Build()
}

// asAnswered decodes an object of Tekton as kubectl bpa does.
func asAnswered[T client.Object](t *testing.T, object any, into T) T {
	t.Helper()
	text, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
	return into
}

// TestBothSeeTheSame: for the same objects, kubectl bpa sees what the controller sees.
func TestBothSeeTheSame(t *testing.T) {
	w := withTools(t)
	var last plan.Seen
	for _, step := range []struct {
		what string
		do   func()
		says func(plan.Seen) bool
	}{
		{"an installed cluster", func() {}, func(s plan.Seen) bool { return len(s.Runs) == 1 && s.Memory != nil && s.Started.Provisioning == name }},
		{"a run for packages", func() { w.settle(t) }, func(s plan.Seen) bool { return len(s.Software.Runs) == 1 && s.Software.Started != nil }},
		{"an edit, for which it is to end", func() {
			w.change(t, func(p *v1alpha1.Provisioning) { p.Spec.PodSubnet = "10.99.0.0/16" })
			w.settle(t)
		}, func(s plan.Seen) bool { return len(s.Changes) == 1 && s.Edited }},
		{"a request for another run, without a pinned host key", func() {
			w.finishSoftware(t, "edge-1-software-2", true)
			w.change(t, func(p *v1alpha1.Provisioning) {
				p.Annotations = map[string]string{contract.AnnotationRetry: "again", contract.AnnotationSoftware: "again"}
			})
			w.record(t, written(contract.KnownHostsName(name), contract.KeyKnownHosts, ""))
		}, func(s plan.Seen) bool {
			return len(s.Unpinned) == 1 && s.Retry != "" && s.Software.Asked != "" && len(s.Software.Record.Nodes) == 1
		}},
		{"a host that is gone", func() { w.hosts.all = nil }, func(s plan.Seen) bool { return s.Site["host-1"].Gone }},
	} {
		step.do()
		p, r := w.stored(t), w.controller()
		p.SetDefaults(t.Context())
		given := observe.Given{Settings: w.settings.Settings}
		see := func(read observe.Reader) plan.Seen {
			seen, err := observe.Facts(t.Context(), p, given, read)
			if err == nil {
				err = observe.Pins(p, read, &seen)
			}
			if err != nil {
				t.Fatal(err)
			}
			return seen
		}
		controller := see(r.reader(t.Context(), p))
		command := see(observe.Client{Client: w.asked(t), Context: t.Context(), Provisioning: p, Hosts: w.hosts.all})
		if diff := cmp.Diff(controller, command, cmpopts.IgnoreUnexported(plan.Seen{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-controller +command):\n%s", step.what, diff)
		}
		if !step.says(controller) || cmp.Equal(controller, last, cmpopts.IgnoreUnexported(plan.Seen{})) {
			t.Errorf("%s: the controller sees %+v", step.what, controller)
		}
		last = controller
	}
}
