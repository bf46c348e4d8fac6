package architecture

import (
	"context"
	"slices"
	"testing"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
)

// siteKey is the Secret with the SSH key that opens all hosts of a site.
const siteKey = "key-of-all-hosts"

// TestPodsWithCodeOfUsersHoldNoForeignKey walks over all operations: the pod of a task mounts no Secret but those
// of its own cluster. Only enroll, which runs nothing but BPA's own program, mounts the key of the site. An
// author of a Provisioning can make every other pod that connects to nodes show what it mounts.
func TestPodsWithCodeOfUsersHoldNoForeignKey(t *testing.T) {
	p := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "edge-1", UID: "uid-1"}}
	p.Spec.SSH.SecretName = siteKey
	p.Spec.Kubespray.VarsFrom = []v1alpha1.VarsSource{{Variable: "password", SecretRef: v1alpha1.SecretKeyRef{Name: "vars", Key: "password"}}}
	p.SetDefaults(context.Background())
	own := []string{contract.NodesKeyName("edge-1"), contract.BackupKeyName("edge-1"), contract.VarsKeyName("edge-1"), "vars"}
	enrolls := 0
	for _, operation := range contract.Operations {
		run := convert.ToTekton(resources.MakePipelineRun(p, resources.Run{Operation: operation.Name, Number: 1, Enroll: true, Plugins: true}))
		for task, secrets := range secretsOfPods(t, operation, run.Spec) {
			for _, secret := range secrets {
				switch {
				case slices.Contains(own, secret):
				case secret == siteKey && task == contract.TaskEnroll:
					enrolls++
				default:
					t.Errorf("%s: the pod of %s mounts Secret %s", operation.Name, task, secret)
				}
			}
		}
	}
	if enrolls != len(contract.Operations) {
		t.Errorf("%d of %d operations can enroll hosts again after their key is lost", enrolls, len(contract.Operations))
	}
	if slices.ContainsFunc(contract.AllTasks(), func(task contract.Task) bool { return task.Name == contract.TaskEnroll && task.PerRelease }) {
		t.Errorf("the image of %s is that of a kubespray release", contract.TaskEnroll)
	}
}

// secretsOfPods returns the names of the Secrets that the pod of each task mounts, by its workspaces and volumes.
func secretsOfPods(t *testing.T, operation contract.Operation, run tekton.PipelineRunSpec) map[string][]string {
	t.Helper()
	var pipeline tekton.Pipeline
	readYAML(t, "tekton/pipelines/"+operation.Pipeline+".yaml", &pipeline)
	pods := map[string][]string{}
	for _, pt := range pipeline.Spec.Tasks {
		for _, used := range pt.Workspaces {
			from := used.Workspace
			if from == "" {
				from = used.Name
			}
			for _, bound := range run.Workspaces {
				if bound.Name == from {
					pods[pt.Name] = append(pods[pt.Name], secretsOfWorkspace(bound)...)
				}
			}
		}
		var task tekton.Task
		readYAML(t, "tekton/tasks/"+pt.Name+".yaml", &task)
		for _, v := range task.Spec.Volumes {
			pods[pt.Name] = append(pods[pt.Name], secretsOfVolume(v.VolumeSource)...)
		}
	}
	return pods
}

func secretsOfWorkspace(w tekton.WorkspaceBinding) []string {
	return secretsOfVolume(corev1.VolumeSource{Secret: w.Secret, Projected: w.Projected})
}

func secretsOfVolume(v corev1.VolumeSource) (names []string) {
	if v.Secret != nil {
		names = append(names, v.Secret.SecretName)
	}
	if v.Projected != nil {
		for _, source := range v.Projected.Sources {
			if source.Secret != nil {
				names = append(names, source.Secret.Name)
			}
		}
	}
	return names
}
