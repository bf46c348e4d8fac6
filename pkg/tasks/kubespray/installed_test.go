package kubespray

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
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// recordOf returns the record of the cluster.
func (w *fixture) recordOf() (i contract.Installed) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.installed.Data[contract.KeyInstalled]), &i); err != nil {
		w.t.Fatalf("%v: %q", err, w.installed.Data[contract.KeyInstalled])
	}
	return i
}

// A healthy cluster has a record with everything that the next run must know, and nothing about
// this run. Its nodes count as having the patch that was requested before.
func TestInstallationIsRecorded(t *testing.T) {
	w := newFixture(t, 1)
	w.in.Request.Operation, w.in.Request.PassedOver, w.in.Request.Lost = contract.OperationInstall, []string{"host-9"}, []string{"worker-9"}
	w.in.Request.KubernetesVersion, w.in.Request.Cluster, w.in.Request.Patched = "1.35.4", "edge", "monday"
	w.nodes = func(string, io.Writer) int { return 0 }
	w.stay(w.in.Nodes[0])
	if _, err := w.run(); err != nil {
		t.Fatal(err)
	}
	want := contract.Installed{Nodes: slices.Clone(w.in.Nodes), EtcdNext: 2, Patched: "monday", Request: contract.Request{Provisioning: "edge-1", Namespace: "site", UID: "uid-of-edge-1",
		Cluster: "edge", KubernetesVersion: "1.35.4", SSHUser: "root", SSHPort: w.in.Request.SSHPort}}
	want.Nodes[0].Etcd = "etcd1"
	if diff := cmp.Diff(want, w.recordOf()); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
}

func TestUnhealthyClusterIsNotRecorded(t *testing.T) {
	w := newFixture(t, 0)
	w.in.HealthLimit = 50 * time.Millisecond
	w.kubectl = func() string {
		return sessiontest.List(sessiontest.NodeJSON("master-1", "False", "NetworkPluginNotReady"))
	}
	if _, err := w.run(); task.FailureOf(err).Reason != contract.ReasonClusterUnhealthy {
		t.Fatalf("Run: %v", err)
	}
	if text := w.installed.Data[contract.KeyInstalled]; text != "" {
		t.Errorf("record %s", text)
	}
}

// A node that is being removed stays in the record, whatever other run comes in between. The
// numbers of etcd's members only grow.
func TestRecordKeepsANodeThatLeaves(t *testing.T) {
	l := newLiving(t, 3)
	record := l.now()
	record.Leaving, record.EtcdNext = []string{"worker-1"}, 7
	l.installed.Data[contract.KeyInstalled] = string(asJSON(t, record))
	l.in.Playbook, l.in.Request.Remove, l.in.Request.Operation = contract.PlaybookScale, nil, contract.OperationAddNodes
	l.stay(l.in.Nodes...)
	l.in.Nodes = slices.Delete(l.in.Nodes, 1, 2)
	if _, err := l.run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	got := l.now()
	if diff := cmp.Diff([]string{"master-1", "worker-2", "worker-3", "worker-1"}, session.Names(got.Nodes)); diff != "" || !slices.Equal(got.Leaving, record.Leaving) || got.EtcdNext != 7 {
		t.Errorf("leaving %v, next member %d, nodes (-want +got):\n%s", got.Leaving, got.EtcdNext, diff)
	}
}

// The record says which nodes are installed, also if joined.json does not exist.
func TestScaleReadsTheRecord(t *testing.T) {
	w := newReplacement(t, 2)
	delete(w.installed.Data, contract.KeyJoined)
	w.stay(w.in.Nodes...) // the controller reports the host of a failed attempt too
	if _, err := w.run(); err != nil {
		t.Fatalf("%v\n%s", err, &w.log)
	}
	args := w.ran[len(w.ran)-1].Args
	if got := args[len(args)-2]; got != "worker-2" {
		t.Errorf("limited to %s", got)
	}
	if got := session.Names(w.recordOf().Nodes); !slices.Equal(got, []string{"master-1", "worker-1", "worker-2"}) {
		t.Errorf("record %v", got)
	}
}
