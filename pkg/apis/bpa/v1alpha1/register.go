package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/akraino-icn/bpa/pkg/apis/bpa"
)

// SchemeGroupVersion is the group and version of every kind in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: bpa.GroupName, Version: "v1alpha1"}

var (
	// SchemeBuilder collects the functions that add this package's kinds to a scheme.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)
	// AddToScheme adds Kinds and their lists to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Kind is one kind of this package.
//
// +k8s:deepcopy-gen=false
type Kind struct {
	Name string
	// Object and List are empty objects of the kind and of its list.
	Object, List runtime.Object
}

// Kinds are all kinds of this package. The scheme and the webhook read this list; the generators find the
// same kinds by their markers in the source.
var Kinds = []Kind{
	{"Provisioning", &Provisioning{}, &ProvisioningList{}},
	{"Backup", &Backup{}, &BackupList{}},
	{"Software", &Software{}, &SoftwareList{}},
}

// Resource returns the name of a resource together with the API group. The generated listers call
// it.
func Resource(resource string) schema.GroupResource {
	return SchemeGroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	for _, kind := range Kinds {
		scheme.AddKnownTypes(SchemeGroupVersion, kind.Object, kind.List)
	}
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
