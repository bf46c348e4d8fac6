package architecture

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/prerequisites"
)

// TestEveryKindHasACRD checks that v1alpha1.Kinds, which the scheme and the webhook read, has
// exactly the kinds of the generated CRDs.
func TestEveryKindHasACRD(t *testing.T) {
	crds := map[string]bool{}
	for _, objects := range manifests(t) {
		for _, object := range objects {
			if object.GetKind() == "CustomResourceDefinition" {
				names, _ := object.Object["spec"].(map[string]any)["names"].(map[string]any)
				crds[names["kind"].(string)] = true
			}
		}
	}
	for _, kind := range v1alpha1.Kinds {
		if _, ok := kind.Object.(client.Object); !ok || !crds[kind.Name] {
			t.Errorf("kind %s has no CRD in config/, or its object %T is none: add its markers and run make generate", kind.Name, kind.Object)
		}
		delete(crds, kind.Name)
	}
	for name := range crds {
		t.Errorf("the CRD of kind %s has no entry in v1alpha1.Kinds", name)
	}
}

// TestControllerWaitsForEachCRD checks that the controller waits for the resources of all generated
// CRDs. An informer of a resource that is missing blocks for ever and logs nothing.
func TestControllerWaitsForEachCRD(t *testing.T) {
	var want, got []string
	for _, objects := range manifests(t) {
		for _, object := range objects {
			if object.GetKind() == "CustomResourceDefinition" {
				names, _ := object.Object["spec"].(map[string]any)["names"].(map[string]any)
				want = append(want, names["plural"].(string))
			}
		}
	}
	for _, need := range prerequisites.Needs {
		if need.GroupVersion == v1alpha1.SchemeGroupVersion.String() {
			got = append(got, need.Resources...)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("prerequisites.Needs has other resources than the CRDs in config/ (-want +got):\n%s", diff)
	}
}
