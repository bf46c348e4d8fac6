package runs

import (
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// AnnotationNodesKey, on a run, is the fingerprint of the public part of the cluster's own SSH key, with which the
// tasks of the run connect.
const AnnotationNodesKey = "bpa.akraino.org/nodes-ssh-key"

// Enrolls reports whether the run installs the SSH key of its cluster on its hosts.
func Enrolls(run *tekton.PipelineRun) bool {
	for _, p := range run.Spec.Params {
		if p.Name == contract.ParamEnroll {
			return p.Value.StringVal == "true"
		}
	}
	return false
}

// Enrolled reports whether the machines of a cluster have accepted the key with this fingerprint at last: of the
// runs of the cluster that have ended, the newest one has succeeded with this key. After a failure, it
// is not known, and neither is it before the first run of a build of BPA that knows keys of clusters.
func Enrolled(all []*tekton.PipelineRun, fingerprint string) bool {
	var newest *tekton.PipelineRun
	for _, run := range all {
		if run.IsDone() && (newest == nil || Completed(run).After(Completed(newest))) {
			newest = run
		}
	}
	return newest != nil && newest.Annotations[AnnotationNodesKey] == fingerprint && StateOf(newest.Status.GetCondition(apis.ConditionSucceeded)) == Succeeded
}
