package kube

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestStore(t *testing.T) {
	ctx := context.Background()
	client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "edge-1-progress", Namespace: "site"}})
	conflicts := 2
	client.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if conflicts--; conflicts >= 0 {
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "edge-1-progress", nil)
		}
		return false, nil, nil
	})
	store := NewStore(client.CoreV1().ConfigMaps("site"), "edge-1-progress")
	for _, set := range [][2]string{{"a", "1"}, {"b", "2"}, {"b", "2"}} {
		if err := store.Set(ctx, set[0], set[1]); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	for _, key := range []string{"a", "b", "c"} {
		value, err := store.Get(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		got[key] = value
	}
	if diff := cmp.Diff(map[string]string{"a": "1", "b": "2", "c": ""}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	updates := 0
	for _, action := range client.Actions() {
		switch action.GetVerb() {
		case "update":
			updates++
		case "get":
		default:
			t.Errorf("the store needs the right to %s", action.GetVerb())
		}
	}
	if updates != 4 {
		t.Errorf("%d updates, want 4: two conflicts, two writes, none for a value that is there", updates)
	}
	if err := NewStore(client.CoreV1().ConfigMaps("site"), "none").Set(ctx, "a", "1"); !apierrors.IsNotFound(err) {
		t.Errorf("Set() on a missing ConfigMap = %v", err)
	}
}
