package cluster

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	fakediscovery "k8s.io/client-go/discovery/fake"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clientgotesting "k8s.io/client-go/testing"

	"github.com/akraino-icn/bpa/pkg/contract"
)

var fakeLimits = Limits{Ready: 5 * time.Second, Gone: 5 * time.Second}

// fakeApplication is an API server without controllers. An object that is applied replaces the present one.
type fakeApplication struct {
	*Client
	dynamic *dynamicfake.FakeDynamicClient
	log     bytes.Buffer
}

func newFake(t *testing.T, objects ...runtime.Object) *fakeApplication {
	t.Helper()
	all := []string{"get", "list", "watch", "delete"}
	discovery := &fakediscovery.FakeDiscovery{Fake: &clientgotesting.Fake{}}
	discovery.Resources = []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: all},
			{Name: "services", Kind: "Service", Namespaced: true, Verbs: all}, {Name: "namespaces", Kind: "Namespace", Verbs: all}}},
		{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "daemonsets", Kind: "DaemonSet", Namespaced: true, Verbs: all}}},
		{GroupVersion: "batch/v1", APIResources: []metav1.APIResource{{Name: "jobs", Kind: "Job", Namespaced: true, Verbs: all}}},
	}
	a := &fakeApplication{}
	a.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		{Version: "v1", Resource: "configmaps"}: "ConfigMapList", {Version: "v1", Resource: "services"}: "ServiceList",
		{Version: "v1", Resource: "nodes"}: "NodeList", {Group: "apps", Version: "v1", Resource: "daemonsets"}: "DaemonSetList",
		{Version: "v1", Resource: "namespaces"}: "NamespaceList", {Group: "batch", Version: "v1", Resource: "jobs"}: "JobList",
	}, objects...)
	a.dynamic.PrependReactor("patch", "*", func(action clientgotesting.Action) (bool, runtime.Object, error) {
		patch := action.(clientgotesting.PatchAction)
		o := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(patch.GetPatch(), &o.Object); err != nil {
			return true, nil, err
		}
		err := a.dynamic.Tracker().Create(patch.GetResource(), o, patch.GetNamespace())
		if apierrors.IsAlreadyExists(err) {
			err = a.dynamic.Tracker().Update(patch.GetResource(), o, patch.GetNamespace())
		}
		return true, o, err
	})
	a.Client = &Client{dynamic: a.dynamic, kube: kubefake.NewClientset(), kinds: newKinds(discovery), log: &a.log}
	return a
}

// changes returns the calls that change objects, as "patch configmaps shelf/a".
func (a *fakeApplication) changes() (all []string) {
	for _, one := range a.dynamic.Actions() {
		switch action := one.(type) {
		case clientgotesting.PatchAction:
			all = append(all, fmt.Sprintf("patch %s %s/%s", action.GetResource().Resource, action.GetNamespace(), action.GetName()))
		case clientgotesting.DeleteAction:
			all = append(all, fmt.Sprintf("delete %s %s/%s", action.GetResource().Resource, action.GetNamespace(), action.GetName()))
		}
	}
	a.dynamic.ClearActions()
	return all
}

func labelled(o *unstructured.Unstructured, plugin string) *unstructured.Unstructured {
	o.SetLabels(map[string]string{contract.LabelPlugin: plugin})
	o.SetUID(types.UID("uid-" + o.GetName()))
	return o
}

// A Job that has failed never runs again, so that the next attempt replaces it. Other Jobs are left as they are.
func TestFailedJobIsReplaced(t *testing.T) {
	const text = "{apiVersion: batch/v1, kind: Job, metadata: {name: setup, namespace: shelf}"
	for name, tc := range map[string]struct {
		status string
		want   []string
	}{
		"failed":   {"{conditions: [{type: Failed, status: 'True'}]}", []string{"delete jobs shelf/setup", "patch jobs shelf/setup"}},
		"complete": {"{conditions: [{type: Complete, status: 'True'}]}", []string{"patch jobs shelf/setup"}},
		"running":  {"{active: 1}", []string{"patch jobs shelf/setup"}},
	} {
		a := newFake(t, labelled(object(t, text+", status: "+tc.status+"}"), "own"))
		err := a.Apply(t.Context(), Set{Plugin: "own", Objects: []*unstructured.Unstructured{object(t, text+"}")}}, fakeLimits)
		if got := a.changes(); err != nil || !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, tc.want)
		}
	}
}

// A user keeps an object by removing its label: no later run changes it, waits for it, fails because of it or
// deletes it.
func TestReleasedObject(t *testing.T) {
	wanted := func() Set {
		return Set{Plugin: "own", Objects: []*unstructured.Unstructured{object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: shelf}}"),
			object(t, "{apiVersion: v1, kind: Service, metadata: {name: kept, namespace: shelf}}")}}
	}
	a := newFake(t)
	if err := a.Apply(t.Context(), wanted(), fakeLimits); err != nil {
		t.Fatal(err)
	}
	kept := object(t, "{apiVersion: v1, kind: Service, metadata: {name: kept, namespace: shelf, uid: u}}")
	kept.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: contract.FieldManagerPlugins}, {Manager: "kubectl-edit"}})
	if err := a.dynamic.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "services"}, kept, "shelf"); err != nil {
		t.Fatal(err)
	}
	a.changes()
	for round := range 2 {
		s := wanted()
		if err := a.Apply(t.Context(), s, fakeLimits); err != nil {
			t.Fatalf("run %d: %v", round, err)
		}
		if got := a.changes(); !slices.Equal(got, []string{"patch configmaps shelf/other"}) {
			t.Errorf("run %d: %v", round, got)
		}
		if err := a.Ready(t.Context(), "own", s.Objects, fakeLimits.Ready); err != nil {
			t.Errorf("run %d: %v", round, err)
		}
	}
	if !strings.Contains(a.log.String(), "Service shelf/kept has not the label bpa.akraino.org/plugin=own any more, so it is not changed") {
		t.Errorf("log: %s", a.log.String())
	}
	if _, err := a.Remove(t.Context(), "own", fakeLimits); err != nil {
		t.Fatal(err)
	}
	if got := a.changes(); !slices.Equal(got, []string{"delete configmaps shelf/other"}) {
		t.Errorf("removal: %v", got)
	}
}

// A namespace that exists is not changed by a test that has it, and not deleted after it.
func TestTestUsesNamespaceOfOthers(t *testing.T) {
	a := newFake(t, object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: prod}}"))
	objects := []*unstructured.Unstructured{object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: prod}}"),
		object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: extra}}"), object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")}
	if err := a.startTest(t.Context(), "own", objects); err != nil {
		t.Fatal(err)
	}
	if got := a.changes(); !slices.Equal(got, []string{"patch namespaces /extra", "patch configmaps bpa-plugin-test-own/a"}) {
		t.Errorf("start: %v", got)
	}
	refs, err := a.read(t.Context(), "own", keyTest)
	if err != nil || len(refs) != 1 || refs[0].Name != "extra" {
		t.Errorf("inventory of the test: %v, %v", refs, err)
	}
}

// An object of a user counts, on whichever page of the list it is.
func TestFirstMissed(t *testing.T) {
	a := newFake(t)
	resource := a.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("shelf")
	pages := map[string]string{"": "2", "2": "3", "3": "4", "4": ""}
	calls := 0
	a.dynamic.PrependReactor("list", "configmaps", func(action clientgotesting.Action) (bool, runtime.Object, error) {
		calls++
		at := action.(clientgotesting.ListActionImpl).ListOptions.Continue
		one := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: owned, namespace: shelf, ownerReferences: [{kind: Pod, name: p}]}}")
		if at == "3" {
			one = object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: precious, namespace: shelf}}")
		}
		list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMapList"}, Items: []unstructured.Unstructured{*one}}
		list.SetContinue(pages[at])
		return true, list, nil
	})
	if got, err := firstMissed(t.Context(), resource); err != nil || !slices.Equal(got, []string{"ConfigMap shelf/precious"}) || calls != 3 {
		t.Errorf("%v, %v after %d calls", got, err, calls)
	}
	pages["2"] = ""
	if got, err := firstMissed(t.Context(), resource); err != nil || len(got) != 0 {
		t.Errorf("only owned objects: %v, %v", got, err)
	}
}
