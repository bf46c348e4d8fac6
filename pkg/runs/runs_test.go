package runs

import (
	"slices"
	"testing"
	"time"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
)

// TestSpec checks for each operation that Tekton accepts the run, that each task has an account of
// its own and a token only if it needs one, and that no task runs as root.
func TestSpec(t *testing.T) {
	for _, operation := range contract.Operations {
		run := convert.Make(metav1.ObjectMeta{Namespace: "site", Name: "edge-1-" + operation.Name},
			Run{Name: "edge-1", Operation: operation, Release: "v2.31.0", SSHSecret: "key", Timeout: time.Hour}.Spec(Param("more", "value")))
		run.SetDefaults(t.Context())
		if err := run.Validate(t.Context()); err != nil {
			t.Errorf("%s: Tekton refuses the run: %v", operation.Name, err)
		}
		if !slices.ContainsFunc(run.Spec.Params, func(p tekton.Param) bool { return p.Name == "more" && p.Value.StringVal == "value" }) {
			t.Errorf("%s: params %v", operation.Name, run.Spec.Params)
		}
		if user := run.Spec.TaskRunTemplate.PodTemplate.SecurityContext; !*user.RunAsNonRoot || *user.RunAsUser == 0 {
			t.Errorf("%s: the tasks may run as root: %+v", operation.Name, user)
		}
		for _, task := range operation.Tasks() {
			of := run.GetTaskRunSpec(task.Name)
			if of.ServiceAccountName != contract.ServiceAccountName("edge-1", task.Name) || *of.PodTemplate.AutomountServiceAccountToken != task.CallsAPI() {
				t.Errorf("%s: task %s has account %s and a token: %t", operation.Name, task.Name, of.ServiceAccountName, *of.PodTemplate.AutomountServiceAccountToken)
			}
		}
	}
}

// TestRules checks that a task may use only its own ConfigMaps, and that the names of the ConfigMaps
// are those that must exist before the run.
// TestTaskConfigMaps: a task that gets another ConfigMap changes what every run creates, or needs code that creates it for
// some runs only, as for plugins and packages.
func TestTaskConfigMaps(t *testing.T) {
	want := []string{"edge-1-installed", "edge-1-known-hosts", "edge-1-progress"}
	if got := slices.Sorted(slices.Values(TaskConfigMaps("edge-1"))); !slices.Equal(got, want) {
		t.Errorf("created for each run: %q, want %q", got, want)
	}
}

func TestRules(t *testing.T) {
	for _, task := range contract.AllTasks() {
		for _, rule := range Rules("edge-1", "edge-1-run-7-out", task) {
			if rule.Resources[0] == "artifacts" { // of the Provisioning, in the depot
				if !task.Uploads || !slices.Equal(rule.ResourceNames, []string{"edge-1"}) || slices.Contains(rule.Verbs, "delete") {
					t.Errorf("%s may %v of %v", task.Name, rule.Verbs, rule.ResourceNames)
				}
				continue
			}
			if task.CallsAPI() && len(rule.ResourceNames) == 0 {
				t.Errorf("%s may use all ConfigMaps", task.Name)
			}
		}
	}
}
