package join_test

import (
	"encoding/json"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// recordOf returns the record of the cluster.
func recordOf(w *kubespraytest.Fixture) (i contract.Installed) {
	w.T.Helper()
	if err := json.Unmarshal([]byte(w.Installed.Data[contract.KeyInstalled]), &i); err != nil {
		w.T.Fatalf("%v: %q", err, w.Installed.Data[contract.KeyInstalled])
	}
	return i
}

// A healthy cluster has a record with everything that the next run must know, and nothing about
// this run. Its nodes count as having the patch that was requested before.
func TestInstallationIsRecorded(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.In.Request.Operation, w.In.Request.PassedOver, w.In.Request.Lost = contract.OperationInstall, []string{"host-9"}, []string{"worker-9"}
	w.In.Request.KubernetesVersion, w.In.Request.Cluster, w.In.Request.Patched = "1.35.4", "edge", "monday"
	w.Nodes = func(string, io.Writer) int { return 0 }
	w.Stay(w.In.Nodes[0])
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	want := contract.Installed{Nodes: slices.Clone(w.In.Nodes), EtcdNext: 2, Patched: "monday", Request: contract.Spec{Provisioning: "edge-1", Namespace: "site", UID: "uid-of-edge-1",
		Cluster: "edge", KubernetesVersion: "1.35.4", SSHUser: "root", SSHPort: w.In.Request.SSHPort}}
	want.Nodes[0].Etcd = "etcd1"
	if diff := cmp.Diff(want, recordOf(w)); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestUnhealthyClusterIsNotRecorded(t *testing.T) {
	w := kubespraytest.New(t, 0)
	w.In.HealthLimit = 50 * time.Millisecond
	w.Kubectl = func() string {
		return sessiontest.List(sessiontest.NodeJSON("master-1", "False", "NetworkPluginNotReady"))
	}
	if _, err := w.Run(); task.FailureOf(err).Reason != contract.ReasonClusterUnhealthy {
		t.Fatalf("Run: %v", err)
	}
	if text := w.Installed.Data[contract.KeyInstalled]; text != "" {
		t.Errorf("record %s", text)
	}
}

// A node that is being removed stays in the record, whatever other run comes in between. The
// numbers of etcd's members only grow.
func TestRecordKeepsANodeThatLeaves(t *testing.T) {
	l := kubespraytest.NewLiving(t, 3)
	record := l.Now()
	record.Leaving, record.EtcdNext = []string{"worker-1"}, 7
	l.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(t, record))
	l.In.Playbook, l.In.Request.Remove, l.In.Request.Operation = contract.PlaybookScale, nil, contract.OperationAddNodes
	l.Stay(l.In.Nodes...)
	l.In.Nodes = slices.Delete(l.In.Nodes, 1, 2)
	if _, err := l.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	got := l.Now()
	if diff := cmp.Diff([]string{"master-1", "worker-2", "worker-3", "worker-1"}, session.Names(got.Nodes)); diff != "" || !slices.Equal(got.Leaving, record.Leaving) || got.EtcdNext != 7 {
		t.Errorf("leaving %v, next member %d, nodes (-want +got):\n%s", got.Leaving, got.EtcdNext, diff)
	}
}

// The record says which nodes are installed, also if joined.json does not exist.
func TestScaleReadsTheRecord(t *testing.T) {
	w := kubespraytest.NewReplacement(t, 2)
	delete(w.Installed.Data, contract.KeyJoined)
	w.Stay(w.In.Nodes...) // the controller reports the host of a failed attempt too
	if _, err := w.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &w.Log)
	}
	args := w.Ran[len(w.Ran)-1].Args
	if got := args[len(args)-2]; got != "worker-2" {
		t.Errorf("limited to %s", got)
	}
	if got := session.Names(recordOf(w).Nodes); !slices.Equal(got, []string{"master-1", "worker-1", "worker-2"}) {
		t.Errorf("record %v", got)
	}
}
