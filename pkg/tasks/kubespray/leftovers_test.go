package kubespray

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
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func ready(name string) string    { return sessiontest.NodeJSON(name, "True", "") }
func notReady(name string) string { return sessiontest.NodeJSON(name, "False", "KubeletNotReady") }

func TestLeftoversOfAnEarlierAttempt(t *testing.T) {
	for _, tc := range []struct {
		name             string
		masters, workers int
		spoil            func(r *retry)
		reset            []string
		removed          []string
	}{
		{"no API server", 1, 1, func(*retry) {}, []string{"master-1", "worker-1"}, nil},
		{"kubeadm has finished, the network plugin is missing", 1, 1, func(r *retry) {
			r.sees(sessiontest.NodeJSON("master-1", "False", "NetworkPluginNotReady"))
		}, []string{"master-1", "worker-1"}, nil},
		{"a worker did not join", 1, 2, func(r *retry) {
			r.sees(ready("master-1"), ready("worker-1"))
		}, []string{"worker-2"}, nil},
		{"a worker is not Ready", 1, 2, func(r *retry) {
			r.sees(ready("master-1"), notReady("worker-1"), ready("worker-2"))
		}, []string{"worker-1"}, []string{"node worker-1"}},
		{"everything is Ready", 1, 1, func(r *retry) { r.sees(ready("master-1"), ready("worker-1")) }, nil, nil},
		{"the user installs the network", 1, 1, func(r *retry) {
			r.in.Request.NetworkPlugin = "cni"
			r.sees(sessiontest.NodeJSON("master-1", "False", "NetworkPluginNotReady"), sessiontest.NodeJSON("worker-1", "False", "NetworkPluginNotReady"))
		}, nil, nil},
		{"only a worker is Ready", 1, 2, func(r *retry) { r.sees(notReady("master-1"), ready("worker-1")) }, nil, nil},
		{"a control plane is not Ready", 3, 0, func(r *retry) {
			r.members(3, 3)
			r.sees(ready("master-1"), ready("master-2"), notReady("master-3"))
		}, []string{"master-3"}, []string{"member a3", "node master-3"}},
		{"a control plane did not join Kubernetes, but etcd", 3, 0, func(r *retry) {
			r.members(3)
			r.sees(ready("master-1"), ready("master-2"))
		}, []string{"master-3"}, []string{"member a3"}},
		{"a control plane did not join etcd", 3, 0, func(r *retry) {
			r.members(2)
			r.sees(ready("master-1"), ready("master-2"))
		}, []string{"master-3"}, nil},
		{"the second control plane has the Ready ones", 2, 0, func(r *retry) {
			r.members(1)
			r.cluster = func(i int) string {
				if i == 0 {
					return sessiontest.List(notReady("master-1"))
				}
				return sessiontest.List(ready("master-2"), notReady("master-1"))
			}
			r.etcd = strings.ReplaceAll(r.etcd, "127.0.0.1", "127.0.0.2")
		}, []string{"master-1"}, []string{"node master-1"}},
		{"a new host of a complete cluster", 1, 2, func(r *retry) {
			r.in.Request.Complete, r.in.Request.Installed = true, []string{"host-1", "host-2"}
			r.sees(ready("master-1"), notReady("worker-1"))
		}, []string{"worker-2"}, nil},
		{"an installed host of a complete cluster is not Ready", 1, 1, func(r *retry) {
			r.in.Request.Complete, r.in.Request.Installed = true, []string{"host-1", "host-2"}
			r.sees(ready("master-1"), notReady("worker-1"))
		}, nil, nil},
		{"files of another Provisioning, no Kubernetes", 1, 1, func(r *retry) {
			r.disks[1].report = machine.Report{User: contract.User{Name: "old", UID: "uid-of-edge-9"}, Left: []string{"file /etc/bpa/depot-ca.crt"}}
		}, []string{"master-1"}, nil},
		{"a clean machine", 1, 1, func(r *retry) { r.disks[1].report = machine.Report{} }, []string{"master-1"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRetry(t, tc.masters, tc.workers)
			tc.spoil(r)
			if _, err := r.run(); err != nil {
				t.Fatalf("%v\n%s", err, &r.log)
			}
			r.expectReset(tc.reset...)
			if diff := cmp.Diff(tc.removed, r.removed); diff != "" {
				t.Errorf("removed (-want +got):\n%s", diff)
			}
			if last := r.ran[len(r.ran)-1].Args; last[len(last)-1] != contract.PlaybookInstall || slices.Contains(last, "--limit") {
				t.Errorf("the last playbook is %v", last)
			}
			for i, d := range r.disks { // the reset removed the mark, so it is written after it
				if d.report.User != r.in.Request.User() {
					t.Errorf("machine %d has the mark %q", i+1, d.report.User)
				}
			}
			for i, n := range r.in.Nodes {
				if states, _ := r.states(); states[n.HostUID] != contract.HostUsed {
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
		spoil            func(r *retry)
		reason           contract.Reason
		says             string
	}{
		{"etcd would lose its majority", 3, 0, func(r *retry) {
			r.members(3, 2)
			r.sees(ready("master-1"), ready("master-2"), notReady("master-3"))
		}, contract.ReasonResetIncomplete, "without it, only 1 of 2 members of etcd are healthy"},
		{"etcd does not answer", 2, 0, func(r *retry) {
			r.etcd, r.health = "", ""
			r.sees(ready("master-1"), notReady("master-2"))
		}, contract.ReasonResetIncomplete, "health"},
		{"there is no etcd", 2, 0, func(r *retry) {
			r.fixture.etcd = func(string, io.Writer) int { return 1 }
			r.sees(ready("master-1"), notReady("master-2"))
		}, contract.ReasonResetIncomplete, "no Ready control plane has a member of etcd"},
		{"the complete cluster does not answer", 1, 1, func(r *retry) {
			r.in.Request.Complete, r.in.Request.Installed = true, []string{"host-1"}
		}, contract.ReasonResetIncomplete, "no control plane of the cluster is Ready"},
		{"the connection breaks", 1, 1, func(r *retry) {
			r.cluster = func(int) string { r.servers[0].Disconnect(); return "" }
		}, contract.ReasonHostUnreachable, "unreachable"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRetry(t, tc.masters, tc.workers)
			tc.spoil(r)
			_, err := r.run()
			if f := task.FailureOf(err); f.Reason != tc.reason || !f.Reason.Transient() || !strings.Contains(f.Message, tc.says) {
				t.Errorf("failure %+v", f)
			}
			r.expectReset()
			if len(r.removed) > 0 || len(r.ran) > 0 {
				t.Errorf("removed %v, %d playbooks", r.removed, len(r.ran))
			}
		})
	}
}

// A machine without a Kubernetes needs no playbook to be cleaned. A playbook that fails does not
// prevent the reset, but a machine that stays dirty does prevent the installation.
func TestResetOfLeftovers(t *testing.T) {
	r := newRetry(t, 1, 1)
	r.disks[0].report.Kubernetes = nil
	r.play = func(c process.Command, stdout, stderr io.Writer) int {
		if c.Args[len(c.Args)-1] == contract.PlaybookReset {
			return recorded("failed", 2)(c, stdout, stderr)
		}
		return recorded("green", 0)(c, stdout, stderr)
	}
	if _, err := r.run(); err != nil {
		t.Fatalf("%v\n%s", err, &r.log)
	}
	cleaned, limited := r.reset()
	if !slices.Equal(cleaned, []string{"master-1", "worker-1"}) || !slices.Equal(limited, []string{"worker-1"}) {
		t.Errorf("cleaned %v, reset.yml on %v", cleaned, limited)
	}

	r = newRetry(t, 1, 1)
	r.disks[1].before = func(script string, stderr io.Writer) int {
		if script == "clean" {
			fmt.Fprint(stderr, "mount /var/lib/kubelet is busy")
			return 1
		}
		return 0
	}
	_, err := r.run()
	f := task.FailureOf(err)
	if f.Reason != contract.ReasonResetIncomplete || f.Host != "worker-1" || !strings.Contains(f.Message, "is busy") || len(r.ran) != 1 {
		t.Errorf("failure %+v after %d playbooks", f, len(r.ran))
	}
}
