package tekton

import (
	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the API of the kinds.
var SchemeGroupVersion = schema.GroupVersion{Group: pipeline.GroupName, Version: "v1"}

// AddToScheme adds the kinds to a scheme, which must not have Tekton's own types.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &PipelineRun{}, &PipelineRunList{}, &TaskRun{}, &TaskRunList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}
