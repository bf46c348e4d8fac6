package resources

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/substitution"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
)

// read reads a file of tekton/. It rejects unknown fields, as the API server does.
func read(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../../tekton", path))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func names[T any](items []T, name func(T) string) []string {
	var all []string
	for _, item := range items {
		all = append(all, name(item))
	}
	slices.Sort(all)
	return all
}

// TestPipelineAndRun: the run has exactly the params and workspaces that the Pipeline declares, and
// the Pipeline passes to each Task exactly the params and workspaces that the Task declares. Tekton
// rejects a run that binds a workspace which a Task does not declare. Only a restore has the private key of
// the backups. Only a Provisioning with variables in Secrets has their workspace, and only a run that enrolls hosts has
// that of the site's key.
func TestPipelineAndRun(t *testing.T) {
	for _, operation := range contract.Operations {
		t.Run(operation.Name, func(t *testing.T) { checkPipelineAndRun(t, operation) })
	}
}

func checkPipelineAndRun(t *testing.T, operation contract.Operation) {
	pipeline := &tekton.Pipeline{}
	read(t, "pipelines/"+operation.Pipeline+".yaml", pipeline)
	pipeline.SetDefaults(t.Context())
	if err := pipeline.Validate(t.Context()); err != nil {
		t.Errorf("Tekton refuses the Pipeline: %v", err)
	}
	if pipeline.Name != operation.Pipeline || pipeline.Namespace != runs.Namespace {
		t.Errorf("Pipeline %s/%s", pipeline.Namespace, pipeline.Name)
	}
	of := Run{Operation: operation.Name, Number: 1, Attempt: 1}
	p := provisioning()
	p.Spec.Kubespray.VarsFrom = []v1alpha1.VarsSource{{SecretRef: v1alpha1.SecretKeyRef{Name: "registry"}}}
	enrolls := of
	enrolls.Enroll = true
	run := convert.ToTekton(MakePipelineRun(p, enrolls))
	compare := func(what string, want, got []string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-declared +given):\n%s", what, diff)
		}
	}
	checkParams(t, "run", pipeline.Spec.Params, run.Spec.Params)
	released := of
	released.Release = "v2.31.0"
	checkParams(t, "run of a release", pipeline.Spec.Params, convert.ToTekton(MakePipelineRun(provisioning(), released)).Spec.Params)
	if operation.Pipeline == contract.PipelineInstall {
		of.Played = "sha256:0"
		checkParams(t, "run after a playbook that succeeded", pipeline.Spec.Params, convert.ToTekton(MakePipelineRun(provisioning(), of)).Spec.Params)
	}
	compare("workspaces of the run", names(pipeline.Spec.Workspaces, func(w tekton.PipelineWorkspaceDeclaration) string { return w.Name }),
		names(run.Spec.Workspaces, func(w tekton.WorkspaceBinding) string { return w.Name }))
	plain := names(convert.ToTekton(MakePipelineRun(provisioning(), of)).Spec.Workspaces, func(w tekton.WorkspaceBinding) string { return w.Name })
	for _, w := range pipeline.Spec.Workspaces {
		if missing := !slices.Contains(plain, w.Name); missing != slices.Contains([]string{contract.WorkspaceVars, contract.WorkspaceSiteSSH}, w.Name) || missing && !w.Optional {
			t.Errorf("without variables in Secrets and without new hosts, workspace %s is missing: %t; it is optional: %t", w.Name, missing, w.Optional)
		}
	}

	var tasks []string
	for _, pt := range pipeline.Spec.Tasks {
		tasks = append(tasks, pt.Name)
		task := &tekton.Task{}
		read(t, "tasks/"+pt.Name+".yaml", task)
		if task.Name != pt.Name || task.Namespace != runs.Namespace {
			t.Errorf("Task %s/%s in tasks/%s.yaml", task.Namespace, task.Name, pt.Name)
		}
		checkParams(t, pt.Name, task.Spec.Params, pt.Params)
		declared := slices.DeleteFunc(slices.Clone(task.Spec.Workspaces), func(w tekton.WorkspaceDeclaration) bool {
			return w.Name == contract.WorkspaceBackupKey && operation.Name != contract.OperationRestore
		})
		compare("workspaces of "+pt.Name, names(declared, func(w tekton.WorkspaceDeclaration) string { return w.Name }),
			names(pt.Workspaces, func(w tekton.WorkspacePipelineTaskBinding) string { return w.Name }))
		if pt.DisplayName == "" || pt.Description == "" {
			t.Errorf("%s has no displayName or description for tkn to show", pt.Name)
		}
		if !slices.ContainsFunc(task.Spec.Results, func(r tekton.TaskResult) bool { return r.Name == contract.ResultFailure }) {
			t.Errorf("%s declares no result %s: why it fails would be lost", pt.Name, contract.ResultFailure)
		}
	}
	var ours []string
	for _, step := range operation.Steps {
		ours = append(ours, step.Task)
	}
	if diff := cmp.Diff(ours, tasks); diff != "" {
		t.Errorf("tasks (-ours +the Pipeline's):\n%s", diff)
	}
}

// checkParams checks that every param that is passed is declared, and that every declared param is
// passed or has a default.
func checkParams(t *testing.T, of string, declared tekton.ParamSpecs, given tekton.Params) {
	t.Helper()
	for _, g := range given {
		if !slices.ContainsFunc(declared, func(d tekton.ParamSpec) bool { return d.Name == g.Name }) {
			t.Errorf("%s: param %s is given and not declared", of, g.Name)
		}
	}
	for _, d := range declared {
		if d.Default == nil && !slices.ContainsFunc(given, func(g tekton.Param) bool { return d.Name == g.Name }) {
			t.Errorf("%s: param %s is declared and neither given nor has it a default", of, d.Name)
		}
	}
}

// TestPipelineTakesTheTasksOfARelease: if a run has a kubespray release, its params contain the
// names of that release's Tasks, and the Pipeline passes these names to the resolver. A run without
// a release uses the default Tasks.
func TestPipelineTakesTheTasksOfARelease(t *testing.T) {
	pipeline := &tekton.Pipeline{}
	read(t, "pipelines/"+contract.PipelineInstall+".yaml", pipeline)
	for release, want := range map[string][2]string{"": {"seed-registry", "kubespray"}, "v2.31.0": {"seed-registry-v2.31.0", "kubespray-v2.31.0"}} {
		values := map[string]string{}
		for _, p := range pipeline.Spec.Params {
			if p.Default != nil {
				values["params."+p.Name] = p.Default.StringVal
			}
		}
		for _, p := range MakePipelineRun(provisioning(), Run{Number: 1, Attempt: 1, Release: release}).Spec.Params {
			values["params."+p.Name] = p.Value.StringVal
		}
		got := map[string]string{}
		for _, task := range pipeline.Spec.Tasks {
			for _, p := range task.TaskRef.Params {
				if p.Name == "name" {
					got[task.Name] = substitution.ApplyReplacements(p.Value.StringVal, values)
				}
			}
		}
		if got[contract.TaskSeedRegistry] != want[0] || got[contract.TaskKubespray] != want[1] {
			t.Errorf("release %q: the Pipeline resolves %v, want %v", release, got, want)
		}
	}
}
