package join_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func ready(name string) string    { return sessiontest.NodeJSON(name, "True", "") }
func notReady(name string) string { return sessiontest.NodeJSON(name, "False", "KubeletNotReady") }

func TestLeftoversOfAnEarlierAttempt(t *testing.T) {
	for _, tc := range []struct {
		name             string
		masters, workers int
		spoil            func(r *kubespraytest.Retry)
		reset            []string
		removed          []string
	}{
		{"no API server", 1, 1, func(*kubespraytest.Retry) {}, []string{"master-1", "worker-1"}, nil},
		{"kubeadm has finished, the network plugin is missing", 1, 1, func(r *kubespraytest.Retry) {
			r.Sees(sessiontest.NodeJSON("master-1", "False", "NetworkPluginNotReady"))
		}, []string{"master-1", "worker-1"}, nil},
		{"a worker did not join", 1, 2, func(r *kubespraytest.Retry) {
			r.Sees(ready("master-1"), ready("worker-1"))
		}, []string{"worker-2"}, nil},
		{"a worker is not Ready", 1, 2, func(r *kubespraytest.Retry) {
			r.Sees(ready("master-1"), notReady("worker-1"), ready("worker-2"))
		}, []string{"worker-1"}, []string{"node worker-1"}},
		{"everything is Ready", 1, 1, func(r *kubespraytest.Retry) { r.Sees(ready("master-1"), ready("worker-1")) }, nil, nil},
		{"the user installs the network", 1, 1, func(r *kubespraytest.Retry) {
			r.In.Request.NetworkPlugin = "cni"
			r.Sees(sessiontest.NodeJSON("master-1", "False", "NetworkPluginNotReady"), sessiontest.NodeJSON("worker-1", "False", "NetworkPluginNotReady"))
		}, nil, nil},
		{"only a worker is Ready", 1, 2, func(r *kubespraytest.Retry) { r.Sees(notReady("master-1"), ready("worker-1")) }, nil, nil},
		{"a control plane is not Ready", 3, 0, func(r *kubespraytest.Retry) {
			r.Members(3, 3)
			r.Sees(ready("master-1"), ready("master-2"), notReady("master-3"))
		}, []string{"master-3"}, []string{"member a3", "node master-3"}},
		{"a control plane did not join Kubernetes, but etcd", 3, 0, func(r *kubespraytest.Retry) {
			r.Members(3)
			r.Sees(ready("master-1"), ready("master-2"))
		}, []string{"master-3"}, []string{"member a3"}},
		{"a control plane did not join etcd", 3, 0, func(r *kubespraytest.Retry) {
			r.Members(2)
			r.Sees(ready("master-1"), ready("master-2"))
		}, []string{"master-3"}, nil},
		{"the second control plane has the Ready ones", 2, 0, func(r *kubespraytest.Retry) {
			r.Members(1)
			r.Cluster = func(i int) string {
				if i == 0 {
					return sessiontest.List(notReady("master-1"))
				}
				return sessiontest.List(ready("master-2"), notReady("master-1"))
			}
			r.Etcd = strings.ReplaceAll(r.Etcd, "127.0.0.1", "127.0.0.2")
		}, []string{"master-1"}, []string{"node master-1"}},
		{"a new host of a complete cluster", 1, 2, func(r *kubespraytest.Retry) {
			r.In.Request.Complete, r.In.Request.Installed = true, []string{"host-1", "host-2"}
			r.Sees(ready("master-1"), notReady("worker-1"))
		}, []string{"worker-2"}, nil},
		{"an installed host of a complete cluster is not Ready", 1, 1, func(r *kubespraytest.Retry) {
			r.In.Request.Complete, r.In.Request.Installed = true, []string{"host-1", "host-2"}
			r.Sees(ready("master-1"), notReady("worker-1"))
		}, nil, nil},
		{"files of another Provisioning, no Kubernetes", 1, 1, func(r *kubespraytest.Retry) {
			r.Disks[1].Report = machine.Report{User: contract.User{Name: "old", UID: "uid-of-edge-9"}, Left: []string{"file /etc/bpa/depot-ca.crt"}}
		}, []string{"master-1"}, nil},
		{"a clean machine", 1, 1, func(r *kubespraytest.Retry) { r.Disks[1].Report = machine.Report{} }, []string{"master-1"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := kubespraytest.NewRetry(t, tc.masters, tc.workers)
			tc.spoil(r)
			if _, err := r.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &r.Log)
			}
			r.ExpectReset(tc.reset...)
			if diff := cmp.Diff(tc.removed, r.Removed); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
			if last := r.Ran[len(r.Ran)-1].Args; last[len(last)-1] != contract.PlaybookInstall || slices.Contains(last, "--limit") {
				t.Errorf("the last playbook is %v", last)
			}
			for i, d := range r.Disks { // the reset removed the mark, so it is written after it
				if d.Report.User != r.In.Request.User() {
					t.Errorf("machine %d has the mark %q", i+1, d.Report.User)
				}
			}
			for i, n := range r.In.Nodes {
				if states, _ := r.States(); states[n.HostUID] != contract.HostUsed {
					t.Errorf("host %d is %q in the record", i+1, states[n.HostUID])
				}
			}
		})
	}
}

// In these cases nothing is reset, and the run fails.
func TestLeftoversStay(t *testing.T) {
	for _, tc := range []struct {
		name             string
		masters, workers int
		spoil            func(r *kubespraytest.Retry)
		reason           contract.Reason
		says             string
	}{
		{"etcd would lose its majority", 3, 0, func(r *kubespraytest.Retry) {
			r.Members(3, 2)
			r.Sees(ready("master-1"), ready("master-2"), notReady("master-3"))
		}, contract.ReasonResetIncomplete, "without it, only 1 of 2 members of etcd are healthy"},
		{"etcd does not answer", 2, 0, func(r *kubespraytest.Retry) {
			r.Etcd, r.Health = "", ""
			r.Sees(ready("master-1"), notReady("master-2"))
		}, contract.ReasonResetIncomplete, "health"},
		{"there is no etcd", 2, 0, func(r *kubespraytest.Retry) {
			r.Fixture.Etcd = func(string, io.Writer) int { return 1 }
			r.Sees(ready("master-1"), notReady("master-2"))
		}, contract.ReasonResetIncomplete, "no Ready control plane has a member of etcd"},
		{"the complete cluster does not answer", 1, 1, func(r *kubespraytest.Retry) {
			r.In.Request.Complete, r.In.Request.Installed = true, []string{"host-1"}
		}, contract.ReasonResetIncomplete, "no control plane of the cluster is Ready"},
		{"the connection breaks", 1, 1, func(r *kubespraytest.Retry) {
			r.Cluster = func(int) string { r.Servers[0].Disconnect(); return "" }
		}, contract.ReasonHostUnreachable, "unreachable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := kubespraytest.NewRetry(t, tc.masters, tc.workers)
			tc.spoil(r)
			_, err := r.Run()
			if f := task.FailureOf(err); f.Reason != tc.reason || !f.Reason.Transient() || !strings.Contains(f.Message, tc.says) {
				t.Errorf("failure %+v", f)
			}
			r.ExpectReset()
			if len(r.Removed) > 0 || len(r.Ran) > 0 {
				t.Errorf("removed %v, %d playbooks", r.Removed, len(r.Ran))
			}
		})
	}
}

// A machine without a Kubernetes needs no playbook to be cleaned. A playbook that fails does not
// prevent the reset, but a machine that stays dirty does prevent the installation.
func TestResetOfLeftovers(t *testing.T) {
	r := kubespraytest.NewRetry(t, 1, 1)
	r.Disks[0].Report.Kubernetes = nil
	r.Play = func(c process.Command, stdout, stderr io.Writer) int {
		if c.Args[len(c.Args)-1] == contract.PlaybookReset {
			return kubespraytest.Recorded("failed", 2)(c, stdout, stderr)
		}
		return kubespraytest.Recorded("green", 0)(c, stdout, stderr)
	}
	if _, err := r.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &r.Log)
	}
	cleaned, limited := r.Reset()
	if !slices.Equal(cleaned, []string{"master-1", "worker-1"}) || !slices.Equal(limited, []string{"worker-1"}) {
		t.Errorf("cleaned %v, reset.yml on %v", cleaned, limited)
	}

	r = kubespraytest.NewRetry(t, 1, 1)
	r.Disks[1].Before = func(script string, stderr io.Writer) int {
		if script == "clean" {
			fmt.Fprint(stderr, "mount /var/lib/kubelet is busy")
			return 1
		}
		return 0
	}
	_, err := r.Run()
	f := task.FailureOf(err)
	if f.Reason != contract.ReasonResetIncomplete || f.Host != "worker-1" || !strings.Contains(f.Message, "is busy") || len(r.Ran) != 1 {
		t.Errorf("failure %+v after %d playbooks", f, len(r.Ran))
	}
}
