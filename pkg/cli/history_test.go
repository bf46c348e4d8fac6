package cli

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// lived returns the runs of a cluster: one that the controller stopped because of an edit, one that
// failed, one that a user cancelled, and an active one. The others belong to somebody else.
func lived() []client.Object {
	p := provisioning("edge-1")
	edited := runOf(p, contract.OperationInstall, 1, isCancelled, endsWith("Cancelled", `PipelineRun "edge-1-install-1" was cancelled`))
	edited.Annotations[runs.AnnotationSuperseded] = "true"
	broken := runOf(p, contract.OperationInstall, 2, endsWith("Failed", "Tasks Completed: 4 (Failed: 1, Cancelled 0), Skipped: 1"))
	brokenTask := failsWith(taskOf(broken, contract.TaskKubespray),
		`{"reason":"PlaybookFailed","host":"worker-1","step":"kubeadm join","message":"[preflight] \u001b[31mthe kubelet is not running: see journalctl -u kubelet for the reason, and start it again"}`)
	// The task reports an unreachable host because it was stopped.
	stopped := runOf(p, contract.OperationInstall, 3, isCancelled, endsWith("Cancelled", `PipelineRun "edge-1-install-3" was cancelled`))
	stoppedTask := failsWith(taskOf(stopped, contract.TaskKubespray), `{"reason":"HostUnreachable","host":"worker-1","message":"the connection broke"}`)
	active := runOf(p, contract.OperationInstall, 4, func(r *tekton.PipelineRun) { r.Status.StartTime = nil })

	earlier := provisioning("edge-1")
	earlier.UID = "earlier"
	foreign := runOf(earlier, contract.OperationInstall, 9)
	other := runOf(provisioning("edge-2"), contract.OperationInstall, 1)
	return []client.Object{p, edited, broken, brokenTask, stopped, stoppedTask, active, foreign, other, provisioning("edge-2")}
}

func TestHistory(t *testing.T) {
	limit := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}, Data: map[string]string{"depot-url": "internet", "run-history": "7"}}
	for name, args := range map[string][]string{"table": nil, "json": {"-o", "json"}, "yaml": {"--output=yaml"}} {
		t.Run(name, func(t *testing.T) {
			w := newStopped(t, append(lived(), limit)...)
			w.golden("history/"+name, w.run(t.Context(), append([]string{"history", "edge-1"}, args...)...))
		})
	}
}

func TestHistoryWithoutRuns(t *testing.T) {
	w := newStopped(t, provisioning("edge-1"))
	w.expect(w.run(t.Context(), "history", "edge-1"), codeDone, "edge-1 has no runs. The controller keeps at most the last 5 runs.")
	w = newStopped(t, provisioning("edge-1"))
	w.expect(w.run(t.Context(), "history", "edge-1", "-o", "json"), codeDone, `"runs": []`)
}

// The order of runs that were created in the same second is that of their numbers.
func TestHistoryOrder(t *testing.T) {
	p := provisioning("edge-1")
	var all work
	for _, n := range []int{10, 9} {
		run := runOf(p, contract.OperationInstall, n)
		run.CreationTimestamp = metav1.NewTime(noon)
		all.runs = append(all.runs, run)
	}
	got := records(p, all)
	if len(got) != 2 || got[0].Attempt != 9 || got[1].Attempt != 10 {
		t.Errorf("%+v: want attempt 9 before 10", got)
	}
}
