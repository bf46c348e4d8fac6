package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// The rebuilt record has the members of etcd by the names that they have, and never gives a name
// again that a member has had.
func TestRememberKeepsTheNamesOfEtcd(t *testing.T) {
	for _, tc := range []struct {
		name    string
		happens []string
		want    string // the control planes and their members, in their order
		next    int
	}{
		{"installed", nil, "master-1=etcd1 master-2=etcd2 master-3=etcd3", 4},
		{"replaced", []string{"host host-2 gone", "retry now", "done"}, "master-1=etcd1 master-3=etcd3 master-2=etcd4", 5},
		{"replaced twice", []string{"host host-2 gone", "retry now", "done", "host host-1 gone", "retry again", "done"}, "master-3=etcd3 master-2=etcd4 master-1=etcd5", 6},
		{"a worker is added after that", []string{"host host-2 gone", "retry now", "done", "edit nodes master-1 master-2 master-3 worker-1 worker-2", "done"},
			"master-1=etcd1 master-3=etcd3 master-2=etcd4", 5},
		{"another replacement fails", []string{"host host-2 gone", "retry now", "done", "host host-1 gone", "retry again", "fails PlaybookFailed|master-1|join|no"},
			"master-1=etcd1 master-3=etcd3 master-2=etcd4", 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newScene()
			for _, line := range append([]string{"nodes master-1 master-2 master-3 worker-1", "cluster"}, tc.happens...) {
				w.happen(t, strings.Fields(line))
				w.describe()
			}
			for _, source := range []string{"recorded", "rebuilt"} {
				var planes []string
				for _, n := range w.seen.Memory.Nodes {
					if controlPlane(n) {
						planes = append(planes, n.Name+"="+n.Etcd)
					}
				}
				if diff := cmp.Diff(tc.want, strings.Join(planes, " ")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", source, diff)
				}
				if w.seen.Memory.EtcdNext != tc.next {
					t.Errorf("%s: the next member is etcd%d, want etcd%d", source, w.seen.Memory.EtcdNext, tc.next)
				}
				w.seen.Memory = nil
				w.seen.Remember(nil)
			}
		})
	}
}

// A rebuilt record keeps what a run that applies variables without a drain has not completed: the patch of
// a lost node.
func TestRebuiltRecordOfAHalfPatchedNode(t *testing.T) {
	half := &contract.Target{Patch: "monday"}
	nodes := []contract.Node{{Name: "m", HostUID: "1"}, {Name: "w", HostUID: "2", Target: half}}
	r := contract.Request{Spec: contract.Spec{KubernetesVersion: "1.35.4"}, Record: contract.Record{Members: nodes}, Order: contract.Order{Upgrade: &contract.Upgrade{Nodes: []string{"m", "w"}, Narrow: &contract.Narrow{Variables: []string{"a"}}}}}
	for state, want := range map[State]*contract.Target{
		Succeeded: half,
		Failed:    {Version: "1.35.4", Settings: r.Settings(), Variables: []string{"a"}, Patch: "monday"},
	} {
		s := Seen{Started: r, Runs: []Run{{State: state, Touched: true}}}
		s.Started.Members = []contract.Node{nodes[0], nodes[1]}
		s.Started.Members[0].Settings, s.Started.Members[1].Settings = "old", "old"
		record := []contract.Node{s.Started.Members[0], s.Started.Members[1]}
		s.markTargets(record)
		if diff := cmp.Diff(want, record[1].Target); diff != "" {
			t.Errorf("%v (-want +got):\n%s", state, diff)
		}
	}
}

// TestLostRecordOfASmallerCluster: a lost record of a cluster that became smaller, and whose plugins or version changed
// after that, is rebuilt (L8).
func TestLostRecordOfASmallerCluster(t *testing.T) {
	for name, change := range map[string]string{"a run for plugins": "plugins multus", "an upgrade": "edit version 1.35.4"} {
		t.Run(name, func(t *testing.T) {
			w := installedScene(t, "version 1.34.3", "set w 2 0")
			w.tell(t, "edit set w 1 0", "done")
			w.finish(t)
			w.tell(t, change)
			w.finish(t)
			want := *w.seen.Memory
			if len(want.Nodes) != 3 {
				t.Fatalf("the cluster has the nodes %v", names(want.Nodes))
			}
			w.tell(t, "record lost")
			if w.seen.Memory == nil {
				t.Fatalf("the record of %v is not rebuilt", names(want.Nodes))
			}
			same := cmpopts.IgnoreFields(contract.Node{}, "Version", "Settings") // the rebuilt one has them for each node, also if they are those of the request
			if diff := cmp.Diff(want.Nodes, w.seen.Memory.Nodes, same); diff != "" || w.seen.Memory.EtcdNext != want.EtcdNext {
				t.Errorf("next member of etcd %d, want %d; nodes of the rebuilt record (-want +got):\n%s", w.seen.Memory.EtcdNext, want.EtcdNext, diff)
			}
			if w.advance(t); w.last.Do == StartRun || !w.p.Status.IsReady() {
				t.Errorf("Ready %t, with the rebuilt record: %s", w.p.Status.IsReady(), w.describe())
			}
		})
	}
}
