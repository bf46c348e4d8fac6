package kubespray

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
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// The playbook is limited to the new node. Neither the task nor Ansible contacts a worker that stays.
func TestReplacementTouchesOnlyTheNewNode(t *testing.T) {
	w := newReplacement(t, 3)
	marks := len(w.disks[0].changes())
	if _, err := w.run(); err != nil {
		t.Fatalf("%v\n%s", err, &w.log)
	}
	if diff := cmp.Diff([]string{"master-1", "worker-3"}, w.connected()); diff != "" {
		t.Errorf("connected to (-want +got):\n%s", diff)
	}
	if len(w.disks[0].changes()) != marks || !slices.Equal(w.disks[3].changes(), []string{"mark"}) {
		t.Errorf("changed master-1: %v, and worker-3: %v", w.disks[0].changes()[marks:], w.disks[3].changes())
	}
	if len(w.ran) != 1 {
		t.Fatalf("%d playbooks", len(w.ran))
	}
	args := w.ran[0].Args
	if got := args[len(args)-3:]; !slices.Equal(got, []string{"--limit", "worker-3", contract.PlaybookScale}) {
		t.Errorf("ansible-playbook got %q", got)
	}
	if log := w.log.String(); !strings.Contains(log, "New nodes: worker-3. These nodes stay as they are: master-1, worker-1, worker-2\n") ||
		!strings.Contains(log, "Running scale.yml on 1 node,") {
		t.Errorf("the log does not say what the run touches:\n%s", log)
	}
	// Ansible has the host keys of the contacted nodes only, and facts of the others
	known, err := os.ReadFile(filepath.Join(w.in.ScratchDir, "known_hosts"))
	if err != nil {
		t.Fatal(err)
	}
	if pins, err := ssh.ParsePins(string(known)); err != nil || len(pins) != 2 || pins.Of("uid-1") == nil || pins.Of("uid-4") == nil {
		t.Errorf("Ansible may connect to %v, %v", pins, err)
	}
	if diff := cmp.Diff([]string{"master-1.json", "worker-1.json", "worker-2.json"}, w.factsOf()); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

// If every node is installed, no playbook runs and no node is changed. The health check still looks
// at the whole cluster.
func TestScaleWithoutNewNodes(t *testing.T) {
	w := newReplacement(t, 2)
	if _, err := w.run(); err != nil {
		t.Fatal(err)
	}
	marks := len(w.disks[0].changes()) + len(w.disks[1].changes()) + len(w.disks[2].changes())
	w.stay(w.in.Nodes...)
	w.ran = nil
	asked := 0
	w.kubectl = func() string { asked++; return healthy(w.in.Nodes...) }
	out, err := w.run()
	if err != nil || out.Recap != "no node is new" || len(w.ran) != 0 || asked == 0 {
		t.Errorf("%q, %v, %d playbooks, %d questions about the health", out.Recap, err, len(w.ran), asked)
	}
	if now := len(w.disks[0].changes()) + len(w.disks[1].changes()) + len(w.disks[2].changes()); now != marks {
		t.Errorf("%d scripts changed machines", now-marks)
	}
}

// After a failed attempt, the controller reports that the new host is or may be installed. Only the
// record of the task says that it is not, so the next attempt resets its machine and adds it.
func TestReplacementAfterAFailedAttempt(t *testing.T) {
	for name, forget := range map[string]func(w *fixture){
		"with the record": func(*fixture) {},
		// the installation was made by a build that did not store which hosts joined
		"of an older build": func(w *fixture) { delete(w.installed.Data, contract.KeyJoined) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newReplacement(t, 2)
			forget(w)
			green := w.play
			w.play = recorded("failed", 2)
			if _, err := w.run(); err == nil {
				t.Fatal("a failed playbook is no error")
			}
			w.play = green
			w.stay(w.in.Nodes...)
			w.disks[2].with(w.in.Request.UID)
			if _, err := w.run(); err != nil {
				t.Fatalf("%v\n%s", err, &w.log)
			}
			var ran []string
			for _, c := range w.ran {
				ran = append(ran, strings.Join(c.Args[len(c.Args)-3:], " "))
			}
			if diff := cmp.Diff([]string{"--limit worker-2 scale.yml", "--limit worker-2 reset.yml", "--limit worker-2 scale.yml"}, ran); diff != "" {
				t.Errorf("playbooks (-want +got):\n%s\n%s", diff, &w.log)
			}
			if diff := cmp.Diff([]string{"master-1", "worker-2"}, w.connected()); diff != "" {
				t.Errorf("connected to (-want +got):\n%s", diff)
			}
			var joined []string
			if err := json.Unmarshal([]byte(w.installed.Data[contract.KeyJoined]), &joined); err != nil || !slices.Equal(joined, []string{"uid-1", "uid-2", "uid-3"}) {
				t.Errorf("joined: %v, %v", joined, err)
			}
		})
	}
}

// A node that is not installed is new, even if the record has its host.
func TestNewNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(w *fixture)
		want   string
	}{
		"a new host": {func(*fixture) {}, "worker-2"},
		"a host that was reset": {func(w *fixture) {
			w.stay(w.in.Nodes...)
			w.installed.Data[contract.KeyHosts] = `{"uid-1":"used","uid-2":"clean","uid-3":"used"}`
		}, "worker-1,worker-2"},
		"a host that was released": {func(w *fixture) { w.stay(w.in.Nodes[0]) }, "worker-1,worker-2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newReplacement(t, 2)
			tc.change(w)
			if _, err := w.run(); err != nil {
				t.Fatalf("%v\n%s", err, &w.log)
			}
			args := w.ran[len(w.ran)-1].Args
			if got := args[len(args)-2]; got != tc.want {
				t.Errorf("limited to %s, want %s", got, tc.want)
			}
		})
	}
}

func TestScaleAddsOnlyWorkers(t *testing.T) {
	w := newReplacement(t, 1)
	w.in.Nodes[1].Roles = []string{contract.RoleControlPlane, contract.RoleWorker}
	_, err := w.run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonInvalidRequest || !strings.Contains(f.Message, "worker-1 is a control plane") {
		t.Errorf("%v", err)
	}
	if len(w.ran) != 0 || len(w.connected()) != 0 {
		t.Errorf("%d playbooks, connected to %v", len(w.ran), w.connected())
	}
}

// A playbook of another operation has facts of all nodes, so it must not get them from the inventory.
func TestUnlimitedPlaybookGetsNoFacts(t *testing.T) {
	w := newReplacement(t, 1)
	if _, err := w.run(); err != nil || len(w.factsOf()) != 1 {
		t.Fatalf("%v, facts of %v", err, w.factsOf())
	}
	w.in.Playbook = contract.PlaybookInstall
	w.play = func(c process.Command, stdout, stderr io.Writer) int {
		if got := w.factsOf(); got != nil {
			t.Errorf("facts of %v", got)
		}
		return recorded("green", 0)(c, stdout, stderr)
	}
	if _, err := w.run(); err != nil || len(w.ran) != 2 {
		t.Errorf("%v, %d playbooks", err, len(w.ran))
	}
}
