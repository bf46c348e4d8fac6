package join_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// The playbook is limited to the new node. Neither the task nor Ansible contacts a worker that stays.
func TestReplacementTouchesOnlyTheNewNode(t *testing.T) {
	w := kubespraytest.NewReplacement(t, 3)
	marks := len(w.Disks[0].Changes())
	if _, err := w.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &w.Log)
	}
	if diff := cmp.Diff([]string{"master-1", "worker-3"}, w.Connected()); diff != "" {
		t.Errorf("connected to (-want +got):\n%s", diff)
	}
	if len(w.Disks[0].Changes()) != marks || !slices.Equal(w.Disks[3].Changes(), []string{"mark"}) {
		t.Errorf("changed master-1: %v, and worker-3: %v", w.Disks[0].Changes()[marks:], w.Disks[3].Changes())
	}
	if len(w.Ran) != 1 {
		t.Fatalf("%d playbooks", len(w.Ran))
	}
	args := w.Ran[0].Args
	if got := args[len(args)-3:]; !slices.Equal(got, []string{"--limit", "worker-3", contract.PlaybookScale}) {
		t.Errorf("ansible-playbook got %q", got)
	}
	if log := w.Log.String(); !strings.Contains(log, "New nodes: worker-3. These nodes stay as they are: master-1, worker-1, worker-2\n") ||
		!strings.Contains(log, "Running scale.yml on 1 node,") {
		t.Errorf("the log does not say what the run touches:\n%s", log)
	}
	// Ansible has the host keys of the contacted nodes only, and facts of the others
	known, err := os.ReadFile(filepath.Join(w.In.ScratchDir, "known_hosts"))
	if err != nil {
		t.Fatal(err)
	}
	if pins, err := ssh.ParsePins(string(known)); err != nil || len(pins) != 2 || pins.Of("uid-1") == nil || pins.Of("uid-4") == nil {
		t.Errorf("Ansible may connect to %v, %v", pins, err)
	}
	if diff := cmp.Diff([]string{"master-1.json", "worker-1.json", "worker-2.json"}, w.FactsOf()); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

// If every node is installed, no playbook runs and no node is changed. The health check still looks
// at the whole cluster.
func TestScaleWithoutNewNodes(t *testing.T) {
	w := kubespraytest.NewReplacement(t, 2)
	if _, err := w.Run(); err != nil {
		t.Fatal(err)
	}
	marks := len(w.Disks[0].Changes()) + len(w.Disks[1].Changes()) + len(w.Disks[2].Changes())
	w.Stay(w.In.Nodes...)
	w.Ran = nil
	asked := 0
	w.Kubectl = func() string { asked++; return kubespraytest.Healthy(w.In.Nodes...) }
	out, err := w.Run()
	if err != nil || out.Recap != "no node is new" || len(w.Ran) != 0 || asked == 0 {
		t.Errorf("%q, %v, %d playbooks, %d questions about the health", out.Recap, err, len(w.Ran), asked)
	}
	if now := len(w.Disks[0].Changes()) + len(w.Disks[1].Changes()) + len(w.Disks[2].Changes()); now != marks {
		t.Errorf("%d scripts changed machines", now-marks)
	}
}

// After a failed attempt, the controller reports that the new host is or may be installed. Only the
// record of the task says that it is not, so the next attempt resets its machine and adds it.
func TestReplacementAfterAFailedAttempt(t *testing.T) {
	for name, forget := range map[string]func(w *kubespraytest.Fixture){
		"with the record":               func(*kubespraytest.Fixture) {},
		"without the hosts that joined": func(w *kubespraytest.Fixture) { delete(w.Installed.Data, contract.KeyJoined) },
	} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.NewReplacement(t, 2)
			forget(w)
			green := w.Play
			w.Play = kubespraytest.Recorded("failed", 2)
			if _, err := w.Run(); err == nil {
				t.Fatal("a failed playbook is no error")
			}
			w.Play = green
			w.Stay(w.In.Nodes...)
			w.Disks[2].With(w.In.Request.UID)
			if _, err := w.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &w.Log)
			}
			var ran []string
			for _, c := range w.Ran {
				ran = append(ran, strings.Join(c.Args[len(c.Args)-3:], " "))
			}
			if diff := cmp.Diff([]string{"--limit worker-2 scale.yml", "--limit worker-2 reset.yml", "--limit worker-2 scale.yml"}, ran); diff != "" {
				t.Errorf("playbooks (-want +got):\n%s\n%s", diff, &w.Log)
			}
			if diff := cmp.Diff([]string{"master-1", "worker-2"}, w.Connected()); diff != "" {
				t.Errorf("connected to (-want +got):\n%s", diff)
			}
			var joined []string
			if err := json.Unmarshal([]byte(w.Installed.Data[contract.KeyJoined]), &joined); err != nil || !slices.Equal(joined, []string{"uid-1", "uid-2", "uid-3"}) {
				t.Errorf("joined: %v, %v", joined, err)
			}
		})
	}
}

// A node that is not installed is new, even if the record has its host.
func TestNewNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(w *kubespraytest.Fixture)
		want   string
	}{
		"a new host": {func(*kubespraytest.Fixture) {}, "worker-2"},
		"a host that was reset": {func(w *kubespraytest.Fixture) {
			w.Stay(w.In.Nodes...)
			w.Installed.Data[contract.KeyHosts] = `{"uid-1":"used","uid-2":"clean","uid-3":"used"}`
		}, "worker-1,worker-2"},
		"a host that was released": {func(w *kubespraytest.Fixture) { w.Stay(w.In.Nodes[0]) }, "worker-1,worker-2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := kubespraytest.NewReplacement(t, 2)
			tc.change(w)
			if _, err := w.Run(); err != nil {
				t.Fatalf("%v\n%s", err, &w.Log)
			}
			args := w.Ran[len(w.Ran)-1].Args
			if got := args[len(args)-2]; got != tc.want {
				t.Errorf("limited to %s, want %s", got, tc.want)
			}
		})
	}
}

func TestScaleAddsOnlyWorkers(t *testing.T) {
	w := kubespraytest.NewReplacement(t, 1)
	w.In.Nodes[1].Roles = []string{contract.RoleControlPlane, contract.RoleWorker}
	_, err := w.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonInvalidRequest || !strings.Contains(f.Message, "worker-1 is a control plane") {
		t.Errorf("%v", err)
	}
	if len(w.Ran) != 0 || len(w.Connected()) != 0 {
		t.Errorf("%d playbooks, connected to %v", len(w.Ran), w.Connected())
	}
}

// A playbook of another operation has facts of all nodes, so it must not get them from the inventory.
func TestUnlimitedPlaybookGetsNoFacts(t *testing.T) {
	w := kubespraytest.NewReplacement(t, 1)
	if _, err := w.Run(); err != nil || len(w.FactsOf()) != 1 {
		t.Fatalf("%v, facts of %v", err, w.FactsOf())
	}
	w.In.Playbook = contract.PlaybookInstall
	w.Play = func(c process.Command, stdout, stderr io.Writer) int {
		if got := w.FactsOf(); got != nil {
			t.Errorf("facts of %v", got)
		}
		return kubespraytest.Recorded("green", 0)(c, stdout, stderr)
	}
	if _, err := w.Run(); err != nil || len(w.Ran) != 2 {
		t.Errorf("%v, %d playbooks", err, len(w.Ran))
	}
}
