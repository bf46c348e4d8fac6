package convert

import (
	"encoding/json"
	"fmt"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// ToTekton returns a run for a creation by Tekton's client. It shares nothing with the original.
func ToTekton(run *tekton.PipelineRun) *v1.PipelineRun {
	out := &v1.PipelineRun{}
	text, err := json.Marshal(run)
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil { // only by a change of the types, which the test of this package would find
		panic(fmt.Sprintf("convert PipelineRun %s: %v", run.Name, err))
	}
	return out
}

// Make returns a run for a creation by Tekton's client.
func Make(m metav1.ObjectMeta, spec tekton.PipelineRunSpec) *v1.PipelineRun {
	return ToTekton(&tekton.PipelineRun{ObjectMeta: m, Spec: spec})
}

// Run returns what BPA reads of a run; nil of nil.
func Run(run *v1.PipelineRun) *tekton.PipelineRun {
	if run == nil {
		return nil
	}
	out := &tekton.PipelineRun{TypeMeta: run.TypeMeta, ObjectMeta: run.ObjectMeta}
	out.Spec.Status = tekton.PipelineRunSpecStatus(run.Spec.Status)
	out.Spec.Params = each(run.Spec.Params, func(p *v1.Param) tekton.Param { return tekton.Param{Name: p.Name, Value: value(&p.Value)} })
	out.Spec.Workspaces = each(run.Spec.Workspaces, func(w *v1.WorkspaceBinding) tekton.WorkspaceBinding {
		return tekton.WorkspaceBinding{Name: w.Name, ConfigMap: w.ConfigMap, Secret: w.Secret, Projected: w.Projected}
	})
	out.Status.Status = run.Status.Status
	out.Status.StartTime, out.Status.CompletionTime = run.Status.StartTime, run.Status.CompletionTime
	out.Status.ChildReferences = each(run.Status.ChildReferences, func(c *v1.ChildStatusReference) tekton.ChildStatusReference {
		return tekton.ChildStatusReference{TypeMeta: c.TypeMeta, Name: c.Name, PipelineTaskName: c.PipelineTaskName}
	})
	return out
}

// Runs returns what BPA reads of several runs.
func Runs(all []*v1.PipelineRun) []*tekton.PipelineRun {
	return each(all, func(run **v1.PipelineRun) *tekton.PipelineRun { return Run(*run) })
}

// TaskRuns returns what BPA reads of tasks.
func TaskRuns(all []*v1.TaskRun) []*tekton.TaskRun {
	return each(all, func(run **v1.TaskRun) *tekton.TaskRun { return taskRun(*run) })
}

func taskRun(run *v1.TaskRun) *tekton.TaskRun {
	out := &tekton.TaskRun{TypeMeta: run.TypeMeta, ObjectMeta: run.ObjectMeta}
	out.Status.Status = run.Status.Status
	out.Status.PodName, out.Status.StartTime, out.Status.CompletionTime = run.Status.PodName, run.Status.StartTime, run.Status.CompletionTime
	out.Status.Results = each(run.Status.Results, func(r *v1.TaskRunResult) tekton.TaskRunResult {
		return tekton.TaskRunResult{Name: r.Name, Type: tekton.ParamType(r.Type), Value: value(&r.Value)}
	})
	return out
}

func value(v *v1.ParamValue) tekton.ParamValue {
	return tekton.ParamValue{Type: tekton.ParamType(v.Type), StringVal: v.StringVal, ArrayVal: v.ArrayVal, ObjectVal: v.ObjectVal}
}

// each converts the items of a slice; nil stays nil.
func each[From, To any](all []From, as func(*From) To) []To {
	if all == nil {
		return nil
	}
	out := make([]To, len(all))
	for i := range all {
		out[i] = as(&all[i])
	}
	return out
}
