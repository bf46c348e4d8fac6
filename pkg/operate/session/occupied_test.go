package session_test

import (
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// If one of three machines has a Kubernetes of another owner, none of the three is changed.
func TestAKubernetesOfAnotherOwner(t *testing.T) {
	for name, tc := range map[string]struct {
		uid  string
		says []string
	}{
		"another Provisioning": {"uid-of-edge-9", []string{"it belongs to Provisioning site/cluster-of-uid-of-edge-9"}},
		"nobody":               {"", []string{"the machine does not say whose it is"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.New(t, 2)
			w.In.Request.DepotCA = kubespraytest.DepotCA
			w.Disks[2].With(tc.uid)
			_, err := w.Run()
			f := task.FailureOf(err)
			if f.Reason != contract.ReasonHostOccupied || f.Host != "worker-2" || f.Reason.Transient() {
				t.Fatalf("failure %+v", f)
			}
			for _, want := range append(tc.says, "host-3", "process kubelet (412)", "Nothing was changed on any node", "use another host",
				`kubectl patch bmh host-3 -n site --type=merge -p '{"spec":{"consumerRef":null}}'`, "kubectl bpa hosts reset host-3 -n site --force.") {
				if !strings.Contains(f.Message, want) {
					t.Errorf("message %q does not contain %q", f.Message, want)
				}
			}
			w.ExpectUntouched()
			w.ExpectStates(contract.HostStates{})
		})
	}
}

// The commands are at the end of the message. They must be complete also if names are long and much
// is on the machine.
func TestTheAdviceForAnOccupiedHostIsComplete(t *testing.T) {
	w := kubespraytest.New(t, 1)
	w.In.Request.Namespace, w.In.Nodes[1].Host = "production-north", "rack-12-unit-07.example.org"
	w.Disks[1].With("uid-of-edge-9")
	w.Disks[1].Report.Kubernetes = []string{
		"process kube-apiserver (1234567)", "process kubelet (1234568)", "/etc/systemd/system/kubelet.service", "/var/lib/kubelet/config.yaml",
	}
	_, err := w.Run()
	message := task.FailureOf(err).Message
	if want := "kubectl bpa hosts reset rack-12-unit-07.example.org -n production-north --force."; !strings.HasSuffix(message, want) {
		t.Errorf("message %q (%d bytes) does not end with %q", message, len(message), want)
	}
}

// These machines have a Kubernetes of this cluster, so the playbook may run on them.
func TestAKubernetesOfThisCluster(t *testing.T) {
	for name, prepare := range map[string]func(w *kubespraytest.Fixture){
		"marked": func(w *kubespraytest.Fixture) { w.Disks[0].With("uid-of-edge-1") },
		"installed by a build that wrote no mark": func(w *kubespraytest.Fixture) {
			w.Disks[0].With("")
			w.In.Request.Installed, w.In.Request.Complete = []string{"host-1"}, true
		},
		"its mark was removed by an interrupted reset": func(w *kubespraytest.Fixture) {
			w.Disks[0].With("")
			w.Record(`{"uid-1":"used"}`)
		},
		"no Kubernetes": func(w *kubespraytest.Fixture) {
			w.Disks[0].Report = machine.Report{User: contract.User{Name: "old", UID: "uid-of-edge-9"}, Left: []string{"file /etc/bpa/depot-ca.crt"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.New(t, 0)
			prepare(w)
			w.Cluster = func(int) string { return sessiontest.List(sessiontest.NodeJSON("master-1", "True", "")) }
			if _, err := w.Run(); err != nil || len(w.Ran) != 1 {
				t.Errorf("%d playbooks, %v", len(w.Ran), err)
			}
		})
	}
}
