package kubespray

import (
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A run that failed after the health check, for example because the kubeconfig was not collected,
// leaves Request.Complete false. The next run must keep the cluster even if its control plane boots.
func TestClusterThatWasHealthyOnceIsKept(t *testing.T) {
	r := newRetry(t, 1, 1)
	r.disks[0].report, r.disks[1].report = machine.Report{}, machine.Report{}
	if _, err := r.run(); err != nil {
		t.Fatal(err)
	}
	if text := r.installed.Data[contract.KeyComplete]; text != "true" {
		t.Fatalf("%s is %q after the health check", contract.KeyComplete, text)
	}
	r.ran = nil
	for _, d := range r.disks {
		d.with(r.in.Request.UID)
	}
	r.stay(r.in.Nodes...) // and no API server answers
	if _, err := r.run(); err != nil {
		t.Fatalf("%v\n%s", err, &r.log)
	}
	r.expectReset()
	if len(r.ran) != 1 {
		t.Errorf("%d playbooks", len(r.ran))
	}

	r.ran = nil
	r.stay(r.in.Nodes[0]) // it is not known whether worker-1 is a node
	_, err := r.run()
	if err == nil {
		t.Fatalf("no error\n%s", &r.log)
	}
	if f := task.FailureOf(err); f.Reason != contract.ReasonResetIncomplete || !strings.Contains(f.Message, "it is not certain that worker-1 is no node of it") {
		t.Errorf("failure %+v", f)
	}
	r.expectReset()
	if len(r.ran) > 0 {
		t.Errorf("%d playbooks", len(r.ran))
	}
}

// Only the health check proves that a cluster is complete. The end of the playbook does not.
func TestClusterThatWasNeverHealthyIsNotComplete(t *testing.T) {
	w := newFixture(t, 0)
	w.in.HealthLimit = 50 * time.Millisecond
	w.kubectl = func() string {
		return sessiontest.List(sessiontest.NodeJSON("master-1", "False", "NetworkPluginNotReady"))
	}
	if _, err := w.run(); task.FailureOf(err).Reason != contract.ReasonClusterUnhealthy {
		t.Fatalf("Run: %v", err)
	}
	if text := w.installed.Data[contract.KeyComplete]; text != "" || w.installed.Data[contract.KeyJoined] == "" {
		t.Errorf("%s is %q; the ConfigMap is %v", contract.KeyComplete, text, w.installed.Data)
	}
}

// A user has reset all hosts of a complete cluster, and the installation that follows fails. Its
// leftovers are not a cluster, so the next attempt resets them.
func TestEmptyMachinesAreNoCompleteCluster(t *testing.T) {
	r := newRetry(t, 1, 0)
	r.installed.Data = map[string]string{contract.KeyComplete: "true"}
	r.disks[0].report = machine.Report{}
	r.play = recorded("failed", 2)
	r.stay(r.in.Nodes...)
	if _, err := r.run(); err == nil {
		t.Fatal("the playbook did not fail")
	}
	r.ran, r.play = nil, recorded("green", 0)
	r.disks[0].with(r.in.Request.UID)
	if _, err := r.run(); err != nil {
		t.Fatalf("%v\n%s", err, &r.log)
	}
	r.expectReset("master-1")
}
