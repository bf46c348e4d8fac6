package installsoftware

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestCordon(t *testing.T) {
	person := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "by-person"}, Spec: corev1.NodeSpec{Unschedulable: true}}
	open := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "open"}, Status: corev1.NodeStatus{
		NodeInfo: corev1.NodeSystemInfo{BootID: "b"}, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	d := NewDrainer(fake.NewClientset(person, open), &strings.Builder{})
	expect := func(when string, want map[string]State) {
		t.Helper()
		got, err := d.States(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, s := range want {
			if got[name] != s {
				t.Errorf("%s: %s is %+v, want %+v", when, name, got[name], s)
			}
		}
	}
	for _, name := range []string{"by-person", "open", "open"} {
		if err := d.Cordon(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	expect("cordoned", map[string]State{"by-person": {Cordoned: true}, "open": {Ready: true, Boot: "b", Cordoned: true, Ours: true}})
	for _, name := range []string{"by-person", "open", "open", "gone"} {
		if err := d.Uncordon(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	expect("uncordoned", map[string]State{"by-person": {Cordoned: true}, "open": {Ready: true, Boot: "b"}})
}

// podsOn returns a cluster in which evictions go to evict.
func podsOn(evict func(name string) error, pods ...runtime.Object) *fake.Clientset {
	kube := fake.NewClientset(append(pods, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}})...)
	kube.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "pods/eviction", Kind: "Eviction", Group: "policy", Version: "v1"}}},
		{GroupVersion: "policy/v1"}}
	kube.PrependReactor("create", "pods/eviction", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.CreateAction).GetObject().(*policyv1.Eviction).Name
		if err := evict(name); err != nil {
			return true, nil, err
		}
		return true, nil, kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "default", name)
	})
	return kube
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Spec: corev1.PodSpec{NodeName: "worker-1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
}

func TestDrain(t *testing.T) {
	evicted := 0
	kube := podsOn(func(string) error { evicted++; return nil }, pod("web"), pod("db"))
	if err := NewDrainer(kube, &strings.Builder{}).Drain(t.Context(), "worker-1", time.Minute); err != nil || evicted != 2 {
		t.Errorf("%d evictions, %v", evicted, err)
	}
	for _, action := range kube.Actions() {
		if action.GetVerb() == "delete" && action.GetResource().Resource == "pods" {
			t.Errorf("a pod is deleted, which ignores PodDisruptionBudgets: %v", action)
		}
	}
}

// A PodDisruptionBudget that allows no eviction ends the drain at its limit, and its refusal is in the error.
func TestDrainIsBlocked(t *testing.T) {
	kube := podsOn(func(string) error {
		return apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 1)
	}, pod("web"))
	d := NewDrainer(kube, &strings.Builder{})
	err := d.Drain(t.Context(), "worker-1", 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "disruption budget") || !strings.Contains(err.Error(), "was not drained within 50ms") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Drain(ctx, "worker-1", time.Minute); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("cancelled: %v", err)
	}
}
