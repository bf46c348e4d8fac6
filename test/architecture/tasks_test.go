package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/contract"
)

const root = "../.."

// TestTasksAreWhatTheTableSays compares contract.AllTasks with the files. Every row has a Task
// with the same params, workspaces and results, a symbolic link in config/, a program, a package,
// and a position in the Pipeline. Every file of a Task has a row.
func TestTasksAreWhatTheTableSays(t *testing.T) {
	rows := map[string]contract.Task{}
	for _, row := range contract.AllTasks() {
		rows[row.Name] = row
		t.Run(row.Name, func(t *testing.T) { checkTask(t, row) })
	}
	files, err := filepath.Glob(filepath.Join(root, "tekton/tasks/*.yaml"))
	if err != nil || len(files) != len(rows) {
		t.Errorf("%d files in tekton/tasks, %d rows in contract.Tasks (%v)", len(files), len(rows), err)
	}
}

// TestTasksWithAnsible checks that the tasks with Ansible in their image (PerRelease) are those for which .ko.yaml and the
// bootstrap machine, which is another module, have such an image.
func TestTasksWithAnsible(t *testing.T) {
	var programs, manifests []string
	for _, row := range contract.Tasks {
		if row.PerRelease {
			programs = append(programs, "github.com/akraino-icn/bpa/cmd/"+row.Name)
			manifests = append(manifests, "600-task-"+row.Name+".yaml")
		}
	}
	for path, want := range map[string]struct {
		names   []string
		pattern string
	}{
		".ko.yaml":                                {programs, `(?m)^  (github\.com/akraino-icn/bpa/cmd/\S+):`},
		"bootstrap/internal/cluster/project.go":   {programs, `"(github\.com/akraino-icn/bpa/cmd/\S+)"`},
		"bootstrap/internal/cluster/kubespray.go": {manifests, `"(600-task-\S+)"`},
	} {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range regexp.MustCompile(want.pattern).FindAllStringSubmatch(string(text), -1) {
			got = append(got, m[1])
		}
		slices.Sort(got)
		if diff := cmp.Diff(slices.Sorted(slices.Values(want.names)), got); diff != "" {
			t.Errorf("tasks with Ansible (-contract.Tasks +%s):\n%s", path, diff)
		}
	}
}

// TestPipelinesAreWhatTheTableSays compares contract.Operations with the Pipelines.
func TestPipelinesAreWhatTheTableSays(t *testing.T) {
	pipelines := map[string]bool{}
	for _, operation := range append(slices.Clone(contract.Operations), contract.BackupOperation) {
		pipelines[operation.Pipeline] = true
		t.Run(operation.Name, func(t *testing.T) { checkPipeline(t, operation) })
	}
	files, err := filepath.Glob(filepath.Join(root, "tekton/pipelines/*.yaml"))
	if err != nil || len(files) != len(pipelines) {
		t.Errorf("%d files in tekton/pipelines, %d Pipelines in contract.Operations (%v)", len(files), len(pipelines), err)
	}
}

func checkPipeline(t *testing.T, operation contract.Operation) {
	percent, rows := int32(0), map[string]contract.Task{}
	for _, row := range operation.Tasks() {
		rows[row.Name] = row
	}
	for _, step := range operation.Steps {
		if step.Percent <= percent || step.Percent >= 100 {
			t.Errorf("%s ends at %d%%, and the task before it at %d%%: progress must rise and stay below 100", step.Task, step.Percent, percent)
		}
		percent = step.Percent
	}
	path := "tekton/pipelines/" + operation.Pipeline + ".yaml"
	if to, err := os.Readlink(filepath.Join(root, "config/601-pipeline-"+operation.Pipeline+".yaml")); err != nil || to != "../"+path {
		t.Errorf("the link in config/ leads to %q (%v), want ../%s", to, err, path)
	}
	var pipeline tekton.Pipeline
	readYAML(t, path, &pipeline)
	if len(pipeline.Spec.Tasks) != len(rows) {
		t.Errorf("%d tasks in %s, %d in contract.Operations", len(pipeline.Spec.Tasks), path, len(rows))
	}
	var order []string
	for _, task := range pipeline.Spec.Tasks {
		order = append(order, task.Name)
		if want := runAfter(order); !slices.Equal(task.RunAfter, want) {
			t.Errorf("%s runs after %v, want %v", task.Name, task.RunAfter, want)
		}
		if skipped := len(task.When) > 0; skipped != (task.Name == contract.TaskEnroll) && task.Name != contract.TaskInstallPlugins {
			t.Errorf("%s can be left out: %t", task.Name, skipped)
		}
		if row := rows[task.Name]; row.PerRelease != slices.ContainsFunc(pipeline.Spec.Params, func(p tekton.ParamSpec) bool { return p.Name == row.ReleaseParam() }) {
			t.Errorf("%s: PerRelease is %t, and the Pipeline's param %s says otherwise", task.Name, row.PerRelease, row.ReleaseParam())
		}
	}
}

// runAfter returns the tasks after which the last one of order runs. Enroll and render-inventory run side by side:
// the pod of enroll then costs no time. All other tasks run one after the other.
func runAfter(order []string) []string {
	last := len(order) - 1
	switch {
	case last == 0:
		return nil
	case order[last] == contract.TaskRenderInventory && order[last-1] == contract.TaskEnroll:
		return runAfter(order[:last])
	case order[last-1] == contract.TaskRenderInventory && last > 1 && order[last-2] == contract.TaskEnroll:
		return order[last-2 : last]
	}
	return order[last-1 : last]
}

func checkTask(t *testing.T, row contract.Task) {
	path := "tekton/tasks/" + row.Name + ".yaml"
	var task tekton.Task
	readYAML(t, path, &task)
	if task.Name != row.Name || task.Namespace != "bpa-system" {
		t.Errorf("%s holds Task %s/%s", path, task.Namespace, task.Name)
	}
	compare := func(what string, want, got []string) {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-contract.Tasks +%s):\n%s", what, path, diff)
		}
	}
	var params, workspaces, results []string
	for _, p := range task.Spec.Params {
		params = append(params, p.Name)
	}
	for _, w := range task.Spec.Workspaces {
		workspaces = append(workspaces, w.Name)
	}
	for _, r := range task.Spec.Results {
		results = append(results, r.Name)
	}
	compare("params", row.Params, params)
	compare("workspaces", row.Workspaces, workspaces)
	compare("results", append(slices.Clone(row.Results), contract.ResultFailure), results)
	for _, step := range task.Spec.Steps {
		if step.Image != row.Image() || len(step.Command) == 0 || step.Command[0] != "/ko-app/"+row.Name || step.Script != "" {
			t.Errorf("step %s runs %v of %s, want the command /ko-app/%s of %s and no script", step.Name, step.Command, step.Image, row.Name, row.Image())
		}
		pod := corev1.PodSpec{Containers: []corev1.Container{{
			Name: step.Name, Image: step.Image, SecurityContext: step.SecurityContext, Resources: step.ComputeResources,
			ReadinessProbe: &corev1.Probe{}, LivenessProbe: &corev1.Probe{}, // a task has none
		}}}
		for _, wrong := range unrestricted(pod) {
			t.Error(wrong)
		}
	}
	for _, needed := range []string{"cmd/" + row.Name + "/main.go", "pkg/tasks/" + strings.ReplaceAll(row.Name, "-", "") + "/doc.go"} {
		if _, err := os.Stat(filepath.Join(root, needed)); err != nil {
			t.Error(err)
		}
	}
	link := filepath.Join(root, "config/600-task-"+row.Name+".yaml")
	if to, err := os.Readlink(link); err != nil || to != "../"+path {
		t.Errorf("%s leads to %q (%v), want ../%s", link, to, err, path)
	}
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
