package kubespray_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/contract"
)

var flagName = regexp.MustCompile(`flag\.\w+\((?:&[\w.]+, )?"([a-z-]+)"`)

// This test is for the two tasks that connect to nodes by SSH. The command must have every flag
// that the YAML passes, and the SSH key must be mounted into only one step.
func TestTaskFiles(t *testing.T) {
	for name, results := range map[string][]string{
		contract.TaskKubespray: {contract.ResultFailure, contract.ResultRecap},
		contract.TaskCollectKubeconfig: {contract.ResultCA, contract.ResultCertificate, contract.ResultEndpoint,
			contract.ResultFailure, contract.ResultVersion},
	} {
		t.Run(name, func(t *testing.T) {
			task, text := readTask(t, name)
			var got []string
			for _, result := range task.Spec.Results {
				got = append(got, result.Name)
			}
			slices.Sort(got)
			if diff := cmp.Diff(results, got); diff != "" {
				t.Errorf("results (-command +YAML):\n%s", diff)
			}
			step := task.Spec.Steps[0]
			if step.Image != "ko://github.com/akraino-icn/bpa/cmd/"+name || !slices.Equal(step.Command, []string{"/ko-app/" + name}) {
				t.Errorf("step runs %v of %s", step.Command, step.Image)
			}
			checkFlags(t, name, step.Args)
			want := []string{contract.WorkspaceRequest, contract.WorkspaceInventory, contract.WorkspaceSSH}
			if name == contract.TaskKubespray {
				want = append(want, contract.WorkspaceBackupKey)
				if key := task.Spec.Workspaces[len(want)-1]; key.Name != contract.WorkspaceBackupKey || !key.Optional {
					t.Errorf("workspace %s: only a restore has the key of the backups", key.Name)
				}
				want = append(want, contract.WorkspaceVars)
				if values := task.Spec.Workspaces[len(want)-1]; values.Name != contract.WorkspaceVars || !values.Optional {
					t.Errorf("workspace %s: most clusters have no variables in Secrets", values.Name)
				}
			}
			if diff := cmp.Diff(want, workspaces(step)); diff != "" {
				t.Errorf("workspaces of the step alone (-want +got):\n%s", diff)
			}
			for _, p := range task.Spec.Params {
				if !strings.Contains(text, "$(params."+p.Name+")") {
					t.Errorf("param %s is not used", p.Name)
				}
			}
		})
	}
}

func readTask(t *testing.T, name string) (tekton.Task, string) {
	t.Helper()
	text, err := os.ReadFile("../../../tekton/tasks/" + name + ".yaml")
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
	return task, string(text)
}

func checkFlags(t *testing.T, name string, args []string) {
	t.Helper()
	source, err := os.ReadFile("../../../cmd/" + name + "/main.go")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, match := range flagName.FindAllStringSubmatch(string(source), -1) {
		known = append(known, match[1])
	}
	for _, arg := range args {
		flag, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !slices.Contains(known, flag) {
			t.Errorf("the command has no flag %s, only %v", flag, known)
		}
	}
}

func workspaces(step tekton.Step) []string {
	var names []string
	for _, w := range step.Workspaces {
		names = append(names, w.Name)
	}
	return names
}
