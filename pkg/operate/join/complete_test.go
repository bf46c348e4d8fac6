package join_test

import (
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A run that failed after the health check, for example because the kubeconfig was not collected,
// leaves Request.Complete false. The next run must keep the cluster even if its control plane boots.
func TestClusterThatWasHealthyOnceIsKept(t *testing.T) {
	r := kubespraytest.NewRetry(t, 1, 1)
	r.Disks[0].Report, r.Disks[1].Report = machine.Report{}, machine.Report{}
	if _, err := r.Run(); err != nil {
		t.Fatal(err)
	}
	if text := r.Installed.Data[contract.KeyComplete]; text != "true" {
		t.Fatalf("%s is %q after the health check", contract.KeyComplete, text)
	}
	r.Ran = nil
	for _, d := range r.Disks {
		d.With(r.In.Request.UID)
	}
	r.Stay(r.In.Nodes...) // and no API server answers
	if _, err := r.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &r.Log)
	}
	r.ExpectReset()
	if len(r.Ran) != 1 {
		t.Errorf("%d playbooks", len(r.Ran))
	}

	r.Ran = nil
	r.Stay(r.In.Nodes[0]) // it is not known whether worker-1 is a node
	_, err := r.Run()
	if err == nil {
		t.Fatalf("no error\n%s", &r.Log)
	}
	if f := task.FailureOf(err); f.Reason != contract.ReasonResetIncomplete || !strings.Contains(f.Message, "it is not certain that worker-1 is no node of it") {
		t.Errorf("failure %+v", f)
	}
	r.ExpectReset()
	if len(r.Ran) > 0 {
		t.Errorf("%d playbooks", len(r.Ran))
	}
}

// Only the health check proves that a cluster is complete. The end of the playbook does not.
func TestClusterThatWasNeverHealthyIsNotComplete(t *testing.T) {
	w := kubespraytest.New(t, 0)
	w.In.HealthLimit = 50 * time.Millisecond
	w.Kubectl = func() string {
		return sessiontest.List(sessiontest.NodeJSON("master-1", "False", "NetworkPluginNotReady"))
	}
	if _, err := w.Run(); task.FailureOf(err).Reason != contract.ReasonClusterUnhealthy {
		t.Fatalf("Run: %v", err)
	}
	if text := w.Installed.Data[contract.KeyComplete]; text != "" || w.Installed.Data[contract.KeyJoined] == "" {
		t.Errorf("%s is %q; the ConfigMap is %v", contract.KeyComplete, text, w.Installed.Data)
	}
}

// A user has reset all hosts of a complete cluster, and the installation that follows fails. Its
// leftovers are not a cluster, so the next attempt resets them.
func TestEmptyMachinesAreNoCompleteCluster(t *testing.T) {
	r := kubespraytest.NewRetry(t, 1, 0)
	r.Installed.Data = map[string]string{contract.KeyComplete: "true"}
	r.Disks[0].Report = machine.Report{}
	r.Play = kubespraytest.Recorded("failed", 2)
	r.Stay(r.In.Nodes...)
	if _, err := r.Run(); err == nil {
		t.Fatal("the playbook did not fail")
	}
	r.Ran, r.Play = nil, kubespraytest.Recorded("green", 0)
	r.Disks[0].With(r.In.Request.UID)
	if _, err := r.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &r.Log)
	}
	r.ExpectReset("master-1")
}
