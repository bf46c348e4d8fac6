package remove_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

func TestRemoveWorker(t *testing.T) {
	l := kubespraytest.NewLiving(t, 3)
	l.Shrink(1)
	before := map[int]int{}
	out, err := l.Run()
	if err != nil {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	l.ExpectDid("cordon worker-1", "drain worker-1", "save worker-1", "remove-node.yml worker-1", "save worker-1", "clean worker-1", "authorize worker-1")
	l.ExpectMembers("master-1", "worker-2", "worker-3")
	l.ExpectStates(contract.HostStates{"uid-1": "used", "uid-2": "clean", "uid-3": "used", "uid-4": "used"})
	if out.Recap != "1 node removed: worker-1" {
		t.Errorf("recap %q", out.Recap)
	}
	l.Done = before
	if diff := cmp.Diff([]string{"master-1", "worker-1"}, l.Connected()); diff != "" {
		t.Errorf("connected to (-want +got):\n%s", diff)
	}
	expectPlaybookInput(l)
	record := l.Now()
	if record.Nodes[0].Etcd != "etcd1" || record.EtcdNext != 2 || record.Request.OperatingSystem != "debian-12" {
		t.Errorf("record %+v", record)
	}
	for _, want := range []string{"These nodes leave: worker-1. These stay: master-1, worker-2, worker-3", "Draining node worker-1, at most 1m0s", "1 pod must leave"} {
		if !strings.Contains(l.Log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, &l.Log)
		}
	}
	// the run was killed after its end: another attempt has nothing to do
	l.Did = nil
	if out, err := l.Run(); err != nil || out.Recap != "no node is left to remove" {
		t.Errorf("%q, %v", out.Recap, err)
	}
	l.ExpectDid()
	l.ExpectMembers("master-1", "worker-2", "worker-3")
}

// expectPlaybookInput checks that Ansible can connect only to worker-1 and the first control plane.
func expectPlaybookInput(l *kubespraytest.Living) {
	l.T.Helper()
	var extra map[string]any
	raw, err := os.ReadFile(l.In.ScratchDir + "/extra-vars.json")
	if err != nil || json.Unmarshal(raw, &extra) != nil {
		l.T.Fatal(err)
	}
	delete(extra, "ansible_ssh_args")
	want := map[string]any{"reset_confirmation": true, "flush_iptables": false, "reset_restart_network": false, "skip_confirmation": true,
		"node": "worker-1", "allow_ungraceful_removal": true, "drain_timeout": "30s", "drain_grace_period": 30., "drain_retries": 1.,
		"no_proxy": "10.60.0.1,10.60.0.2,10.60.0.3,10.60.0.4,127.0.0.1,localhost"}
	if diff := cmp.Diff(want, extra); diff != "" {
		l.T.Errorf("extra variables (-want +got):\n%s", diff)
	}
	known, err := os.ReadFile(l.In.ScratchDir + "/known_hosts")
	if err != nil || strings.Contains(string(known), "uid-3") || strings.Contains(string(known), "uid-4") || !strings.Contains(string(known), "uid-1") {
		l.T.Errorf("Ansible may connect to %s, %v", known, err)
	}
	if diff := cmp.Diff([]string{"master-1.json", "worker-2.json", "worker-3.json"}, l.FactsOf()); diff != "" {
		l.T.Errorf("facts (-want +got):\n%s", diff)
	}
}

// A task can be killed before each of its changes. The next attempt ends in the same state as one
// that was not interrupted, and removes no further node.
func TestRemovalThatIsKilled(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		l := kubespraytest.NewLiving(t, 3)
		l.Shrink(2)
		l.KillAt = at
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		l.Kill = cancel
		_, err := kubespray.Run(ctx, l.In, l.Ports())
		cancel()
		if err == nil {
			if at < 18 {
				t.Errorf("only %d changes were interrupted", at-1)
			}
			return
		}
		before := fmt.Sprintf("before change %d, after %v", at, l.Did)
		l.KillAt = 0
		if _, err := l.Run(); err != nil {
			t.Errorf("killed %s: %v\n%s", before, err, &l.Log)
		}
		l.ExpectMembers("master-1", "worker-3")
		l.ExpectStates(contract.HostStates{"uid-1": "used", "uid-2": "clean", "uid-3": "clean", "uid-4": "used"})
		if slices.ContainsFunc(l.Did, func(what string) bool { return strings.Contains(what, "worker-3") || strings.Contains(what, "master") }) {
			t.Errorf("killed %s: a node that stays was changed: %v", before, l.Did)
		}
		for i := 1; i <= 2; i++ {
			if r := l.Disks[i].Report; !session.IsEmpty(r) {
				t.Errorf("killed %s: machine %d has %v", before, i+1, r)
			}
		}
		if t.Failed() {
			return
		}
	}
}

func TestRemovalWithoutADrain(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(l *kubespraytest.Living)
		did    []string
		stay   []string
		recap  string
	}{
		"the node was drained by an earlier attempt": {func(l *kubespraytest.Living) {
			l.Shrink(1)
			record := l.Now()
			record.Leaving = []string{"worker-2"}
			l.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(l.T, record))
		}, []string{"save worker-2", "remove-node.yml worker-2", "save worker-2", "clean worker-2", "authorize worker-2"}, []string{"master-1", "worker-1"}, "1 node removed: worker-2"},
		"the host is lost and does not answer": {func(l *kubespraytest.Living) {
			l.In.Request.Remove = &contract.Removal{Nodes: []string{"worker-2"}}
			l.Nodes["worker-2"] = false
			l.Servers[2].Stop()
		}, []string{"delete worker-2"}, []string{"master-1", "worker-1"}, "1 node removed: worker-2; host-3 did not answer, so it was not reset"},
		"the host is lost and does not answer, and other nodes are drained": {func(l *kubespraytest.Living) {
			l.In.Request.Remove.Nodes, l.In.Request.Lost = []string{"worker-2"}, []string{"worker-2"}
			l.Nodes["worker-2"] = false
			l.Servers[2].Stop()
		}, []string{"delete worker-2"}, []string{"master-1", "worker-1"}, "1 node removed: worker-2; host-3 did not answer, so it was not reset"},
		"the host is in quarantine, and its node is Ready": {func(l *kubespraytest.Living) {
			l.In.Request.Remove.Nodes, l.In.Request.Lost = []string{"worker-2"}, []string{"worker-2"}
		}, []string{"cordon worker-2", "drain worker-2", "save worker-2", "remove-node.yml worker-2", "save worker-2", "clean worker-2", "authorize worker-2"},
			[]string{"master-1", "worker-1"}, "1 node removed: worker-2"},
		"the removal of a host in quarantine, without a drain": {func(l *kubespraytest.Living) { l.In.Request.Remove = &contract.Removal{Nodes: []string{"worker-2"}} },
			[]string{"save worker-2", "remove-node.yml worker-2", "save worker-2", "clean worker-2", "authorize worker-2"}, []string{"master-1", "worker-1"}, "1 node removed: worker-2"},
		"the node object is gone": {func(l *kubespraytest.Living) {
			l.In.Request.Remove.Nodes = []string{"worker-2"}
			delete(l.Nodes, "worker-2")
		}, []string{"save worker-2", "remove-node.yml worker-2", "save worker-2", "clean worker-2", "authorize worker-2"}, []string{"master-1", "worker-1"}, "1 node removed: worker-2"},
		"the node never joined": {func(l *kubespraytest.Living) {
			l.In.Request.Remove.Nodes = []string{"worker-2"}
			l.Nodes["worker-2"] = false
			record := l.Now()
			record.Nodes = record.Nodes[:2]
			l.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(l.T, record))
		}, []string{"save worker-2", "reset.yml worker-2", "clean worker-2", "authorize worker-2", "delete worker-2"}, []string{"master-1", "worker-1"}, "1 node removed: worker-2"},
		"the machine is empty": {func(l *kubespraytest.Living) {
			l.In.Request.Remove = &contract.Removal{Nodes: []string{"worker-2"}}
			l.Disks[2].Report = machine.Report{}
		}, []string{"authorize worker-2", "delete worker-2"}, []string{"master-1", "worker-1"}, "1 node removed: worker-2"},
		"the node has left already": {func(l *kubespraytest.Living) { l.In.Request.Remove.Nodes = []string{"worker-9"} }, nil, []string{"master-1", "worker-1", "worker-2"}, "no node is left to remove"},
	} {
		t.Run(name, func(t *testing.T) {
			l := kubespraytest.NewLiving(t, 2)
			tc.change(l)
			out, err := l.Run()
			if err != nil || out.Recap != tc.recap {
				t.Fatalf("recap %q, %v\n%s", out.Recap, err, &l.Log)
			}
			l.ExpectDid(tc.did...)
			l.ExpectMembers(tc.stay...)
			states, _ := l.States()
			if want := map[bool]contract.HostState{true: "used", false: "clean"}[strings.Contains(tc.recap, "did not answer") || len(tc.did) == 0]; states["uid-3"] != want {
				t.Errorf("host-3 is %s, want %s", states["uid-3"], want)
			}
		})
	}
}

// If kubespray fails, the task does its work.
func TestRemovalWhosePlaybookFails(t *testing.T) {
	l := kubespraytest.NewLiving(t, 2)
	l.In.Request.Remove.Nodes = []string{"worker-2"}
	l.Play = func(c process.Command, stdout, stderr io.Writer) int {
		if c.Args[len(c.Args)-1] == contract.PlaybookRemove {
			return kubespraytest.Recorded("failed", 2)(c, stdout, stderr)
		}
		return l.Playbook(c, stdout, stderr)
	}
	if _, err := l.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	l.ExpectDid("cordon worker-2", "drain worker-2", "save worker-2", "save worker-2", "reset.yml worker-2", "clean worker-2", "authorize worker-2", "delete worker-2")
	l.ExpectMembers("master-1", "worker-1")
}

// The node of a machine that is not empty leaves the cluster, and stays in the record.
func TestRemovalWhoseResetFails(t *testing.T) {
	l := kubespraytest.NewLiving(t, 3)
	l.In.Request.Remove.Nodes = []string{"worker-2", "worker-3"}
	healthy := l.Disks[2].Before
	l.Disks[2].Before = func(script string, stderr io.Writer) int {
		if script == "clean" {
			fmt.Fprint(stderr, "it is busy")
			return 1
		}
		return healthy(script, stderr)
	}
	_, err := l.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonResetIncomplete || f.Host != "worker-2" {
		t.Fatalf("failure %+v\n%s", f, &l.Log)
	}
	record := l.Now()
	if diff := cmp.Diff([]string{"master-1", "worker-1", "worker-2"}, session.Names(record.Nodes)); diff != "" || !slices.Equal(record.Leaving, []string{"worker-2"}) {
		t.Errorf("leaving %v, nodes (-want +got):\n%s", record.Leaving, diff)
	}
	l.Disks[2].Before = healthy
	l.In.Request.Remove.Nodes = nil // the user took it back, but it is too late for worker-2
	if _, err := l.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	l.ExpectMembers("master-1", "worker-1")
	l.ExpectStates(contract.HostStates{"uid-1": "used", "uid-2": "used", "uid-3": "clean", "uid-4": "clean"})
}

// These removals end before anything is changed.
func TestRemovalThatIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(l *kubespraytest.Living)
		reason contract.Reason
		says   string
	}{
		"no removal":             {func(l *kubespraytest.Living) { l.In.Request.Remove = nil }, contract.ReasonInvalidRequest, "does not say which nodes leave"},
		"the only control plane": {func(l *kubespraytest.Living) { l.In.Request.Remove.Nodes = []string{"master-1"} }, contract.ReasonInvalidRequest, "delete the Provisioning"},
		"the members are not known": {func(l *kubespraytest.Living) {
			delete(l.Installed.Data, contract.KeyInstalled)
			l.In.Request.Members = nil
		}, contract.ReasonInvalidRequest, "which nodes the cluster has"},
		"the record is unreadable": {func(l *kubespraytest.Living) { l.Installed.Data[contract.KeyInstalled] = "{" }, contract.ReasonInvalidRequest, "installed.json"},
		"a live node, but no SSH":  {func(l *kubespraytest.Living) { l.Servers[2].Stop() }, contract.ReasonHostUnreachable, "node worker-2 is Ready, but its host host-3 did not answer"},
		"in quarantine, and not alive any more": {func(l *kubespraytest.Living) {
			l.In.Request.Remove.Alive, l.In.Request.Lost, l.Nodes["worker-2"] = []string{"worker-2"}, []string{"worker-2"}, false
			l.Servers[2].Stop()
		}, contract.ReasonHostUnreachable, "node worker-2 is not Ready any more, and its host host-3 did not answer. Nothing was changed"},
		"another machine answers": {func(l *kubespraytest.Living) {
			l.Answers(map[int]func(io.Writer) int{2: kubespraytest.Says("name x", "card eth0 aa:bb:cc:00:00:01")})
		}, contract.ReasonWrongMachine, "is another machine"},
		"the login is rejected":       {func(l *kubespraytest.Living) { l.Servers[2].Rekey(l.HostKey.PublicKey(), l.HostKey) }, contract.ReasonSSHDenied, "host-3"},
		"no API server":               {func(l *kubespraytest.Living) { l.Cluster = nil }, contract.ReasonAPIUnavailable, ""},
		"the control plane is silent": {func(l *kubespraytest.Living) { l.Servers[0].Stop() }, contract.ReasonHostUnreachable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := kubespraytest.NewLiving(t, 2)
			l.In.Request.Remove.Nodes = []string{"worker-2"}
			l.In.ProbeLimit = time.Second
			tc.change(l)
			_, err := l.Run()
			if err == nil {
				t.Fatal("no error")
			}
			if f := task.FailureOf(err); f.Reason != tc.reason || !strings.Contains(f.Message, tc.says) {
				t.Errorf("failure %+v", f)
			}
			l.ExpectDid()
		})
	}
}

// A lost record is rebuilt from the request.
func TestRemovalWithoutARecord(t *testing.T) {
	l := kubespraytest.NewLiving(t, 2)
	delete(l.Installed.Data, contract.KeyInstalled)
	l.In.Request.Remove.Nodes = []string{"worker-1"}
	if _, err := l.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	l.ExpectMembers("master-1", "worker-2")
}

// A lost node stays in the record until it is replaced or removed. Other removals do not wait for it.
func TestRemovalWhileAnotherNodeIsLost(t *testing.T) {
	l := kubespraytest.NewLiving(t, 3)
	l.In.Request.Remove.Nodes = []string{"worker-3"}
	l.In.Request.Lost, l.In.Request.Kept = []string{"worker-1"}, []string{"worker-1"}
	l.Nodes["worker-1"], l.In.HealthLimit = false, 5*time.Second
	l.Servers[1].Stop()
	if _, err := l.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.Log)
	}
	l.ExpectDid("cordon worker-3", "drain worker-3", "save worker-3", "remove-node.yml worker-3", "save worker-3", "clean worker-3", "authorize worker-3")
	if record := l.Now(); !slices.Equal(session.Names(record.Nodes), []string{"master-1", "worker-2", "worker-1"}) {
		t.Errorf("record %+v", record)
	}
	if _, there := l.Nodes["worker-1"]; !there {
		t.Error("the node object of the lost node is gone, although it stays in the cluster")
	}
}
