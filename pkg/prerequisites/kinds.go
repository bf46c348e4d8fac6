package prerequisites

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// Need is an API group version that the API server must serve.
type Need struct {
	GroupVersion string
	Resources    []string
	Install      string // name of the software with these kinds; completes "install ..."
}

// Needs are the APIs that the controller needs. HardwareData is not one of them, because older
// versions of Metal3 do not have this kind. They have the same facts in the status of the hosts.
var Needs = []Need{
	ours(),
	{"tekton.dev/v1", []string{"pipelineruns", "taskruns", "pipelines", "tasks"}, "Tekton Pipelines v1.15 or later with its resolvers (https://tekton.dev/docs/installation), " +
		"then apply BPA's config/ again, which has objects of Tekton's kinds"},
	{"metal3.io/v1alpha1", []string{"baremetalhosts"}, "Metal3's Bare Metal Operator (https://book.metal3.io)"},
}

// ours returns the need of BPA's own kinds. Each resource has its CRD in a file of config/.
func ours() Need {
	var resources, files []string
	for _, kind := range v1alpha1.Kinds {
		resource, _ := meta.UnsafeGuessKindToResource(v1alpha1.SchemeGroupVersion.WithKind(kind.Name))
		resources = append(resources, resource.Resource)
		files = append(files, "config/300-"+resource.Resource+".yaml")
	}
	return Need{v1alpha1.SchemeGroupVersion.String(), resources, "BPA's own kinds (" + strings.Join(files, ", ") + ")"}
}

// Discovery is the part of client-go's discovery client that this package uses.
type Discovery interface {
	ServerResourcesForGroupVersion(groupVersion string) (*metav1.APIResourceList, error)
}

// Missing returns the needs that the API server does not serve completely. Each returned need lists
// only those of its resources that are missing. It returns an error if the API server does not
// answer.
func Missing(d Discovery, needs []Need) ([]Need, error) {
	var missing []Need
	for _, need := range needs {
		list, err := d.ServerResourcesForGroupVersion(need.GroupVersion)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("list the kinds of %s: %w", need.GroupVersion, err)
		}
		served := map[string]bool{}
		if err == nil {
			for _, r := range list.APIResources {
				served[r.Name] = true
			}
		}
		lacks := need
		lacks.Resources = nil
		for _, name := range need.Resources {
			if !served[name] {
				lacks.Resources = append(lacks.Resources, name)
			}
		}
		if len(lacks.Resources) > 0 {
			missing = append(missing, lacks)
		}
	}
	return missing, nil
}

// Message describes in one line which kinds are missing and which software the user must install.
func Message(missing []Need) string {
	var parts []string
	for _, need := range missing {
		parts = append(parts, fmt.Sprintf("%s (%s) is missing: install %s", need.GroupVersion, strings.Join(need.Resources, ", "), need.Install))
	}
	return strings.Join(parts, "; ")
}
