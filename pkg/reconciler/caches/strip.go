package caches

import (
	"strings"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Strip removes fields that the controller never reads from objects before they enter the caches.
// Most of a run's size is copies of its Pipeline and Tasks. The controller never writes an object
// that it has read from a cache, so these fields are not lost.
func Strip(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
	}
	switch o := o.(type) {
	case *corev1.ConfigMap:
		if strings.HasSuffix(o.Name, contract.OutcomeName("")) { // the outcome of a run, with the nodes and variables of all hosts
			checks, checked := o.Data[contract.KeyChecks] // for the status
			o.Data = nil
			if checked {
				o.Data = map[string]string{contract.KeyChecks: checks}
			}
		}
	case *rbacv1.RoleBinding:
		o.Subjects = nil
	case *tekton.PipelineRun:
		o.Status.PipelineSpec, o.Status.Provenance, o.Status.SpanContext = nil, nil, nil
	case *tekton.TaskRun:
		o.Spec, o.Status.TaskSpec, o.Status.Provenance, o.Status.SpanContext = tekton.TaskRunSpec{}, nil, nil, nil
		o.Status.Steps, o.Status.Sidecars = nil, nil
	}
	return o, nil
}
