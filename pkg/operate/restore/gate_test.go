package restore_test

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/restore"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// expectFailure runs the task and checks its failure.
func (r *restoreFixture) expectFailure(reason contract.Reason, says string) {
	r.T.Helper()
	_, err := r.run()
	if err == nil {
		r.T.Fatalf("no failure, want %s with %q\n%s", reason, says, &r.Log)
	}
	if f := task.FailureOf(err); f.Reason != reason || !strings.Contains(f.Message, says) {
		r.T.Fatalf("failure %+v, want %s with %q\n%s", f, reason, says, &r.Log)
	}
}

// breakProxies lets the update of the proxies on the workers fail until the result is called.
func (r *restoreFixture) breakProxies() (repair func()) {
	broken := true
	r.Play = func(c process.Command, stdout, stderr io.Writer) int {
		if broken && slices.Contains(c.Args, "--tags") {
			return 2
		}
		return r.playbook(c, stdout, stderr)
	}
	return func() { broken = false }
}

// Old control planes that do not answer may be the majority of an etcd that works. Their hosts are powered off
// only when the copy is proved.
func TestRestoreProvesBeforeHostsAreFenced(t *testing.T) {
	r := newRestore(t, true, 3, 2)
	r.In.Request.Restore.Fenced = false
	r.sealed[len(r.sealed)-1] ^= 1
	r.expectFailure(contract.ReasonInvalidRequest, "has been changed")
	if proved := r.Installed.Data[contract.KeyProved]; proved != "" {
		t.Errorf("a bad copy is proved for %q", proved)
	}
	r.sealed[len(r.sealed)-1] ^= 1
	r.expectFailure(contract.ReasonHostsNotFenced, "may still run: master-1, master-2")
	if len(r.Did) > 0 || r.Now().Restoring != "" || r.Installed.Data[contract.KeyProved] != "nightly" {
		t.Errorf("it did %v, restoring %q, proved %q", r.Did, r.Now().Restoring, r.Installed.Data[contract.KeyProved])
	}
	r.In.Request.Restore.Fenced = true
	if _, err := r.run(); err != nil {
		t.Fatalf("%v\n%s", err, &r.Log)
	}
	r.expectRestored()
}

// The backup says that all nodes are Ready. Only what kubelets have written since counts.
func TestRestoreWaitsForSignsOfLife(t *testing.T) {
	t.Parallel()
	for _, mute := range []string{"master-1", "worker-1"} {
		r := newRestore(t, true, 1)
		r.mute, r.In.HealthLimit = map[string]bool{mute: true}, 2*time.Second
		r.expectFailure(contract.ReasonClusterUnhealthy, "have not reached an API server within 2s: "+mute)
		if !slices.Contains(r.Did, "start the rest master-1") || r.Now().Restored != "" {
			t.Errorf("%s: restored %q, did %v", mute, r.Now().Restored, r.Did)
		}
		r.mute, r.Did = nil, nil
		if _, err := r.run(); err != nil || slices.Contains(r.Did, "cluster.yml master-1") {
			t.Fatalf("%s: %v, did %v\n%s", mute, err, r.Did, &r.Log)
		}
		r.expectRestored()
	}
}

// A dead worker does not keep the restore from its end.
func TestRestoreWithoutADeadWorker(t *testing.T) {
	r := newRestore(t, true, 1)
	r.Servers[1].Stop()
	r.unready, r.In.HealthLimit = map[string]bool{"worker-1": true}, 10*time.Second
	out, err := r.run()
	if err != nil || !strings.Contains(out.Recap, "did not answer and are to be repaired or replaced: worker-1") {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &r.Log)
	}
	r.expectRestored()
	if _, err := r.run(); err != nil {
		t.Errorf("the second attempt: %v", err)
	}
}

// A failure on one worker leaves the cluster with its controllers.
func TestRestoreStartsControllersAllTheSame(t *testing.T) {
	r := newRestore(t, true, 1)
	repair := r.breakProxies()
	if _, err := r.run(); err == nil || !slices.Contains(r.Did, "start the rest master-1") || r.Now().Restoring != "nightly" {
		t.Fatalf("%v, did %v", err, r.Did)
	}
	repair()
	if _, err := r.run(); err != nil {
		t.Fatal(err)
	}
	r.expectRestored()
}

// When etcd has the content of the backup, users may have written something: another request for a restore
// does not delete it.
func TestRestoreThatIsAskedTwice(t *testing.T) {
	r := newRestore(t, true, 1)
	repair := r.breakProxies()
	if _, err := r.run(); err == nil {
		t.Fatal("no failure")
	}
	for i, n := range r.Machines { // the playbook has installed them
		if session.HasHost(r.In.Nodes[:1], n) {
			r.Disks[i].With(r.In.Request.UID)
		}
	}
	repair()
	r.Did, r.In.Request.Restore.Asked = nil, "nightly 2"
	r.expectFailure(contract.ReasonInvalidRequest, "To complete that restore: kubectl annotate bpa edge-1 -n site bpa.akraino.org/restore-.")
	if len(r.Did) > 0 || r.Now().Restoring != "nightly" {
		t.Errorf("it did %v, restoring %q", r.Did, r.Now().Restoring)
	}
	r.In.Request.Restore.Asked = "nightly"
	if _, err := r.run(); err != nil || slices.Contains(r.Did, "cluster.yml master-1") {
		t.Fatalf("%v, did %v", err, r.Did)
	}
	r.expectRestored()
}

// Variables that were applied after the backup are applied again, because objects in it come from the old ones.
func TestRestoreWithOtherVariables(t *testing.T) {
	for _, killed := range []bool{false, true} {
		r := newRestore(t, true, 1)
		old := r.Now().Request.Settings() // those of the backup
		r.In.Request.Vars = map[string]json.RawMessage{"metrics_server_enabled": json.RawMessage("true")}
		record := r.Now()
		record.Request.Vars = r.In.Request.Vars
		r.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(t, record))
		if killed {
			repair := r.breakProxies()
			if _, err := r.run(); err == nil {
				t.Fatal("no failure")
			}
			repair()
		}
		if _, err := r.run(); err != nil {
			t.Fatalf("%v\n%s", err, &r.Log)
		}
		r.expectRestored()
		for _, n := range r.Now().Nodes {
			want := map[string]string{"master-1": r.In.Request.Settings() + "+" + old, "worker-1": r.In.Request.Settings()}[n.Name]
			if _, got := r.Now().Level(n); got != want || old == r.In.Request.Settings() {
				t.Errorf("killed %t: %s has variables %s, want %s", killed, n.Name, got, want)
			}
		}
	}
}

// Variables of a control plane that are the same as when the backup was made are not applied again.
func TestRestoreWithVariablesOfANode(t *testing.T) {
	for _, changed := range []bool{false, true} {
		r := newRestore(t, true, 1)
		before := r.Now()
		before.Request.Slots = []contract.Slot{{Name: "master-1", Vars: map[string]json.RawMessage{"a": json.RawMessage("1")}}}
		request := contract.Request{Spec: before.Request}
		request.Slots = slices.Clone(request.Slots)
		if changed {
			request.Slots[0].Vars = nil
		}
		if got := restore.OtherSettings(before, request); (got != "") != changed {
			t.Errorf("changed %t: settings after the restore %q", changed, got)
		}
	}
}

func TestCheckBackup(t *testing.T) {
	for version, says := range map[string]string{
		"1.35.4": "", "1.35.3": "", "": "",
		"1.35.5": "gets 1.35.4", "1.34.4": "gets 1.35.4", "1.35": "gets 1.35.4", "x": "gets 1.35.4",
	} {
		r := newRestore(t, true, 1)
		r.seal(func(m *backup.Manifest) { m.KubernetesVersion = version })
		r.In.Request.KubernetesVersion = "1.35.4"
		err := restore.CheckBackup(t.Context(), r.open, string(r.In.BackupKey), r.In.Request, []contract.Node{{Name: "master-1"}})
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// RoleBindings that etcd does not have under the expected keys are deleted too.
func TestRestoreRevokesRoleBindings(t *testing.T) {
	r := newRestore(t, true, 1)
	r.bindings = []string{"bpa-health-01234567", "bpa-viewers", "node-leases"}
	if _, err := r.run(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.bindings, " "); got != "bpa-viewers node-leases" {
		t.Errorf("left: %s", got)
	}
}
