package join_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// exchange is a worker whose machine was exchanged under the same name. The cluster still has the Node of
// that name.
type exchange struct {
	*kubespraytest.Fixture
	mu sync.Mutex
	// state is the condition Ready of the Node; empty: it does not exist. identity is what the kubelet of its
	// machine has reported, and own that of the new machine.
	state, identity, own string
	lives                bool     // the former machine runs
	did                  []string // with the Node and by the playbook
}

func newExchange(t *testing.T) *exchange {
	e := &exchange{Fixture: kubespraytest.NewReplacement(t, 2), state: "True", identity: "aaaa 1111", own: "bbbb\n1111\n"}
	e.In.Request.Lost = []string{"worker-2"}
	e.Nodes = e.node
	e.Waited = func(command string) {
		e.mu.Lock()
		defer e.mu.Unlock()
		if strings.Contains(command, "--for=condition=Ready=Unknown node/worker-2 ") && !e.lives {
			e.did, e.state = append(e.did, "await"), "Unknown"
		}
	}
	e.Scripts = func(i int, command string, stdout, _ io.Writer) (int, bool) {
		if strings.Contains(command, "/etc/machine-id") && i == 2 {
			fmt.Fprint(stdout, e.own)
			return 0, true
		}
		return 0, false
	}
	e.Play = func(c process.Command, stdout, stderr io.Writer) int {
		e.did = append(e.did, c.Args[len(c.Args)-1]+" with Node "+e.state)
		if c.Args[len(c.Args)-1] == contract.PlaybookScale {
			e.state = "True"
		}
		return kubespraytest.Recorded("green", 0)(c, stdout, stderr)
	}
	return e
}

func (e *exchange) node(command string, stdout io.Writer) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case strings.Contains(command, " delete node worker-2 "):
		e.did, e.state = append(e.did, "delete"), ""
	case strings.Contains(command, "nodeInfo"):
		fmt.Fprint(stdout, e.identity)
	default:
		fmt.Fprint(stdout, e.state)
	}
	return 0
}

// kubeadm join refuses a name whose Node is Ready. So the Node of the former machine is deleted first, after its
// last heartbeat. A Node of the machine itself, which an unfinished attempt has begun to join, stays.
func TestTheNodeOfTheFormerMachineIsDeleted(t *testing.T) {
	half := machine.Report{User: contract.User{UID: "uid-of-edge-1"}, Kubernetes: []string{"process kubelet (412)"}}
	for name, tc := range map[string]struct {
		change func(e *exchange)
		want   []string
	}{
		"Ready":               {func(*exchange) {}, []string{"await", "delete", "scale.yml with Node "}},
		"not Ready":           {func(e *exchange) { e.state = "Unknown" }, []string{"delete", "scale.yml with Node "}},
		"already deleted":     {func(e *exchange) { e.state = "" }, []string{"scale.yml with Node "}},
		"of the machine":      {func(e *exchange) { e.Disks[2].Report, e.identity = half, "BBBB 1111" }, []string{"scale.yml with Node True"}},
		"not certainly other": {func(e *exchange) { e.Disks[2].Report, e.own = half, "" }, []string{"scale.yml with Node True"}},
		"of another machine":  {func(e *exchange) { e.Disks[2].Report = half }, []string{"await", "delete", "reset.yml with Node ", "scale.yml with Node "}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newExchange(t)
			tc.change(e)
			e.Cluster = func(int) string {
				if e.state == "True" {
					return sessiontest.List(sessiontest.NodeJSON("master-1", "True", ""), sessiontest.NodeJSON("worker-1", "True", ""), sessiontest.NodeJSON("worker-2", "True", ""))
				}
				return sessiontest.List(sessiontest.NodeJSON("master-1", "True", ""), sessiontest.NodeJSON("worker-1", "True", ""))
			}
			if _, err := e.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &e.Log)
			}
			if diff := cmp.Diff(tc.want, e.did); diff != "" {
				t.Errorf("steps (-want +got):\n%s\n%s", diff, &e.Log)
			}
		})
	}
}

// A former machine that runs would go on with its pods beside the new machine. The new one does not join.
func TestNoMachineJoinsBesideItsFormerOne(t *testing.T) {
	e := newExchange(t)
	e.lives = true
	_, err := e.Run()
	f := task.FailureOf(err)
	if f.Reason != contract.ReasonResetIncomplete || !f.Reason.Transient() || f.Host != "worker-2" || !strings.Contains(f.Message, "Switch the former machine off") {
		t.Errorf("failure %+v", f)
	}
	if len(e.did) > 0 || slices.Contains(e.Disks[2].Changes(), "mark") {
		t.Errorf("steps %v, changes %v", e.did, e.Disks[2].Changes())
	}
}

// If the cluster does not say which Node it has, nothing joins.
func TestAClusterThatDoesNotSayWhichNodeItHas(t *testing.T) {
	e := newExchange(t)
	e.Nodes = func(string, io.Writer) int { return 1 }
	_, err := e.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonAPIUnavailable || len(e.did) > 0 {
		t.Errorf("failure %+v, steps %v", f, e.did)
	}
}

// The machine of a control plane was exchanged within the last heartbeats, and the new one has its name and its
// address. The Node and the member of etcd of the former machine go first.
func TestAnExchangedControlPlaneWithTheSameAddress(t *testing.T) {
	p := kubespraytest.NewPlanes(t, false, 3, 1, 3)
	n := p.In.Nodes[0]
	n.Host, n.HostUID = "host-9", "uid-9"
	p.In.Nodes = append(slices.Clone(p.In.Nodes[1:]), n)
	p.In.Request.Installed = p.In.Request.Installed[1:]
	p.In.Request.Lost, p.In.Playbook, p.In.Request.Operation = []string{"master-1"}, contract.PlaybookInstall, contract.OperationAddControlPlane
	p.In.Run, p.Machines[0], p.Disks[0].Report, p.Members[0].Sick = "edge-1-add-2", n, machine.Report{}, true
	if err := os.RemoveAll(filepath.Join(p.Dir, "machine-1")); err != nil {
		t.Fatal(err)
	}
	p.Waited = func(command string) {
		if strings.Contains(command, "--for=condition=Ready=Unknown node/master-1 ") {
			p.Change("await master-1", true)
			p.Mu.Lock()
			defer p.Mu.Unlock()
			p.Nodes["master-1"] = false
		}
	}
	p.Render()
	if _, err := p.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &p.Log)
	}
	want := []string{"await master-1", "member remove a1", "delete master-1"}
	if got := p.ChangesOnly(); len(got) < 3 || !slices.Equal(got[:3], want) {
		t.Errorf("changes %v\n%s", got, &p.Log)
	}
}
