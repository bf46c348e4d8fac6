package selecthosts_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/renderinventory"
	"github.com/akraino-icn/bpa/pkg/tasks/selecthosts"
)

const root = "../../.."

// The flags and results in the YAML of a task must be those of its command.
func TestTaskFiles(t *testing.T) {
	for name, results := range map[string]map[string]string{
		contract.TaskSelectHosts:     selecthosts.Output{}.Results(),
		contract.TaskRenderInventory: renderinventory.Output{}.Results(),
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, "tekton/tasks", name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			var task tekton.Task
			if err := yaml.UnmarshalStrict(text, &task); err != nil {
				t.Fatal(err)
			}
			task.SetDefaults(context.Background())
			if err := task.Validate(context.Background()); err != nil {
				t.Error(err)
			}
			if task.Name != name || task.Namespace != "bpa-system" || task.Labels["app.kubernetes.io/part-of"] != "bpa" {
				t.Errorf("metadata %+v", task.ObjectMeta)
			}
			checkResults(t, task, results)
			checkStep(t, task, name)
			checkUse(t, task, string(text))
		})
	}
}

func checkResults(t *testing.T, task tekton.Task, results map[string]string) {
	t.Helper()
	want := []string{contract.ResultFailure}
	for name := range results {
		want = append(want, name)
	}
	var got []string
	for _, result := range task.Spec.Results {
		got = append(got, result.Name)
		if result.Description == "" {
			t.Errorf("result %s has no description", result.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-command +YAML):\n%s", diff)
	}
}

var flags = regexp.MustCompile(`flag\.\w+\("([a-z0-9-]+)"`)

func checkStep(t *testing.T, task tekton.Task, name string) {
	t.Helper()
	step := task.Spec.Steps[0]
	if len(task.Spec.Steps) != 1 || step.Script != "" || step.Image != "ko://github.com/akraino-icn/bpa/cmd/"+name ||
		!slices.Equal(step.Command, []string{"/ko-app/" + name}) {
		t.Errorf("step %+v is not the command %s alone", step, name)
	}
	source, err := os.ReadFile(filepath.Join(root, "cmd", name, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{}
	for _, match := range flags.FindAllStringSubmatch(string(source), -1) {
		if match[1] != "results-dir" { // the YAML does not set it: its default is the directory that Tekton uses
			want = append(want, match[1])
		}
	}
	got := []string{}
	for _, arg := range step.Args {
		flag, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		got = append(got, flag)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("flags (-command +YAML):\n%s", diff)
	}
	if s := step.SecurityContext; s == nil || !*s.RunAsNonRoot || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem ||
		s.Capabilities.Drop[0] != "ALL" || s.SeccompProfile.Type != "RuntimeDefault" {
		t.Errorf("security context %+v is not the restricted one", s)
	}
}

// checkUse checks that every param and workspace of a Task has a description and is used.
func checkUse(t *testing.T, task tekton.Task, text string) {
	t.Helper()
	for _, p := range task.Spec.Params {
		if p.Description == "" || !strings.Contains(text, "$(params."+p.Name+")") {
			t.Errorf("param %s is not described or not used", p.Name)
		}
	}
	for _, w := range task.Spec.Workspaces {
		if w.Description == "" || !w.ReadOnly || !strings.Contains(text, "$(workspaces."+w.Name+".path)") {
			t.Errorf("workspace %s is not described, not read-only or not used", w.Name)
		}
	}
}
