package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func installed(changes ...func(*Seen)) Seen {
	s := Seen{Namespace: "site", Name: "b", Provisioning: "edge-1", Installed: true}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func ended(state runs.State, task runs.Task) func(*Seen) {
	return func(s *Seen) {
		s.Started = true
		task.Name, task.State = contract.TaskBackup, state
		s.Run = &Run{State: state, Reason: "Failed", Message: "Tekton's", Tasks: []runs.Task{task}, Started: noon, Completed: noon.Add(time.Minute)}
	}
}

func TestNext(t *testing.T) {
	results := map[string]string{"sha256": "abc", "size": "1234", "revision": "42", "member": "m-1", "version": "1.35.4"}
	for _, tc := range []struct {
		name    string
		seen    Seen
		do      Do
		status  corev1.ConditionStatus
		reason  string
		mention string
	}{
		{"start", installed(), Start, "Unknown", ReasonRunning, ""},
		{"beside a change of workers", installed(func(s *Seen) { s.Operation, s.ClusterRun = contract.OperationAddNodes, "edge-1-add-nodes-2" }), Start, "Unknown", ReasonRunning, ""},
		{"no Provisioning", installed(func(s *Seen) { s.Missing, s.Installed = true, false }), Stay, "Unknown", ReasonWaiting, "does not exist"},
		{"not installed", installed(func(s *Seen) { s.Installed = false }), Stay, "Unknown", ReasonWaiting, "kubectl bpa status -n site edge-1"},
		{"being deleted", installed(func(s *Seen) { s.Leaving = true }), Stay, "False", "RunCancelled", "being deleted"},
		{"bad settings", installed(func(s *Seen) { s.Settings = "key x" }), Stay, "Unknown", ReasonWaiting, "key x"},
		{"no depot", installed(func(s *Seen) { s.Depot = "100% no depot" }), Stay, "Unknown", ReasonWaiting, "100% no depot"},
		{"another backup", installed(func(s *Seen) { s.Before = "a" }), Stay, "Unknown", ReasonWaiting, "Backup a"},
		{"the site's limit is reached", installed(func(s *Seen) { s.Turn = &Turn{Running: 4, Limit: 4, Ahead: 11} }), Stay, "Unknown", ReasonQueued, "place 12"},
		{"another backup and the limit", installed(func(s *Seen) { s.Before, s.Turn = "a", &Turn{} }), Stay, "Unknown", ReasonWaiting, "Backup a"},
		{"during a restore", installed(func(s *Seen) { s.Operation, s.ClusterRun = contract.OperationRestore, "edge-1-restore-3" }), Stay, "Unknown", ReasonWaiting, "edge-1-restore-3"},
		{"after a part of a restore", installed(func(s *Seen) { s.Restoring = true }), Stay, "Unknown", ReasonWaiting, "until the restore of the cluster is complete"},
		{"during a reset", installed(func(s *Seen) { s.Operation, s.ClusterRun = contract.OperationReset, "edge-1-reset-3" }), Stay, "Unknown", ReasonWaiting, "edge-1-reset-3"},
		{"during a change of control planes", installed(func(s *Seen) { s.Operation = contract.OperationRemoveControlPlane }), Stay, "Unknown", ReasonWaiting, "remove-control-plane"},
		{"running", installed(func(s *Seen) { s.Started, s.Run = true, &Run{} }), Stay, "Unknown", ReasonRunning, ""},
		{"running while the Provisioning is deleted", installed(func(s *Seen) { s.Leaving, s.Started, s.Run = true, true, &Run{} }), Stay, "Unknown", ReasonRunning, ""},
		{"run deleted", installed(func(s *Seen) { s.Started = true }), Stay, "False", ReasonRunDeleted, "kubectl bpa backup -n site edge-1"},
		{"succeeded", installed(ended(runs.Succeeded, runs.Task{Results: results})), Stay, "True", ReasonStored, ""},
		{"no result", installed(ended(runs.Succeeded, runs.Task{})), Stay, "False", "VersionSkew", "apply config/"},
		{"failed", installed(ended(runs.Failed, runs.Task{Failure: &contract.Failure{Reason: "ClusterUnhealthy", Host: "m-1", Message: "no leader"}})), Stay, "False", "ClusterUnhealthy", "m-1: no leader. After"},
		{"failed without a failure", installed(ended(runs.Failed, runs.Task{Reason: "TaskRunImagePullFailed", Message: "no image"})), Stay, "False", "ImagePullFailed", "no image"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			step := Next(tc.seen)
			if step.Do != tc.do || step.Status != tc.status || step.Reason != tc.reason || !strings.Contains(step.Message, tc.mention) {
				t.Errorf("%+v", step)
			}
			if tc.status == "False" && !strings.Contains(step.Message, "`kubectl bpa backup -n site edge-1`") {
				t.Errorf("the message names no next command: %s", step.Message)
			}
			var status v1alpha1.BackupStatus
			Report(&status, tc.seen, step, nil)
			if got := status.GetCondition(v1alpha1.ConditionSucceeded); got.Status != tc.status || got.Message != step.Message {
				t.Errorf("reported %+v", got)
			}
			if stored := status.SHA256 != ""; stored != (tc.status == "True") {
				t.Errorf("sha256 %q", status.SHA256)
			}
		})
	}
}

func TestReport(t *testing.T) {
	s := installed(ended(runs.Succeeded, runs.Task{Results: map[string]string{"sha256": "abc", "size": "1234", "revision": "42", "member": "m-1", "version": contract.None}}))
	var status v1alpha1.BackupStatus
	Report(&status, s, Next(s), nil)
	status.Conditions = nil
	if status.StartTime == nil || !status.CompletionTime.Time.Equal(noon.Add(time.Minute)) {
		t.Errorf("times %v, %v", status.StartTime, status.CompletionTime)
	}
	status.StartTime, status.CompletionTime = nil, nil
	if diff := cmp.Diff(v1alpha1.BackupStatus{SHA256: "abc", Size: 1234, Revision: 42, Member: "m-1"}, status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	s = installed()
	Report(&status, s, Next(s), errors.New("the API server does not answer"))
	if c := status.GetCondition(v1alpha1.ConditionSucceeded); !c.IsUnknown() || c.Reason != ReasonWaiting || !strings.Contains(c.Message, "does not answer") {
		t.Errorf("after an error: %+v", c)
	}
}
