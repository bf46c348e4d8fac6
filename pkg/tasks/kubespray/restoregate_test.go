package kubespray

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
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// expectFailure runs the task and checks its failure.
func (r *restoreFixture) expectFailure(reason contract.Reason, says string) {
	r.t.Helper()
	_, err := r.run()
	if err == nil {
		r.t.Fatalf("no failure, want %s with %q\n%s", reason, says, &r.log)
	}
	if f := task.FailureOf(err); f.Reason != reason || !strings.Contains(f.Message, says) {
		r.t.Fatalf("failure %+v, want %s with %q\n%s", f, reason, says, &r.log)
	}
}

// breakProxies lets the update of the proxies on the workers fail until the result is called.
func (r *restoreFixture) breakProxies() (repair func()) {
	broken := true
	r.play = func(c process.Command, stdout, stderr io.Writer) int {
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
	r.in.Request.Restore.Fenced = false
	r.sealed[len(r.sealed)-1] ^= 1
	r.expectFailure(contract.ReasonInvalidRequest, "has been changed")
	if proved := r.installed.Data[contract.KeyProved]; proved != "" {
		t.Errorf("a bad copy is proved for %q", proved)
	}
	r.sealed[len(r.sealed)-1] ^= 1
	r.expectFailure(contract.ReasonHostsNotFenced, "may still run: master-1, master-2")
	if len(r.did) > 0 || r.now().Restoring != "" || r.installed.Data[contract.KeyProved] != "nightly" {
		t.Errorf("it did %v, restoring %q, proved %q", r.did, r.now().Restoring, r.installed.Data[contract.KeyProved])
	}
	r.in.Request.Restore.Fenced = true
	if _, err := r.run(); err != nil {
		t.Fatalf("%v\n%s", err, &r.log)
	}
	r.expectRestored()
}

// The backup says that all nodes are Ready. Only what kubelets have written since counts.
func TestRestoreWaitsForSignsOfLife(t *testing.T) {
	t.Parallel()
	for _, mute := range []string{"master-1", "worker-1"} {
		r := newRestore(t, true, 1)
		r.mute, r.in.HealthLimit = map[string]bool{mute: true}, 2*time.Second
		r.expectFailure(contract.ReasonClusterUnhealthy, "have not reached an API server within 2s: "+mute)
		if !slices.Contains(r.did, "start the rest master-1") || r.now().Restored != "" {
			t.Errorf("%s: restored %q, did %v", mute, r.now().Restored, r.did)
		}
		r.mute, r.did = nil, nil
		if _, err := r.run(); err != nil || slices.Contains(r.did, "cluster.yml master-1") {
			t.Fatalf("%s: %v, did %v\n%s", mute, err, r.did, &r.log)
		}
		r.expectRestored()
	}
}

// A dead worker does not keep the restore from its end.
func TestRestoreWithoutADeadWorker(t *testing.T) {
	r := newRestore(t, true, 1)
	r.servers[1].Stop()
	r.unready, r.in.HealthLimit = map[string]bool{"worker-1": true}, 10*time.Second
	out, err := r.run()
	if err != nil || !strings.Contains(out.Recap, "did not answer and are to be repaired or replaced: worker-1") {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &r.log)
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
	if _, err := r.run(); err == nil || !slices.Contains(r.did, "start the rest master-1") || r.now().Restoring != "nightly" {
		t.Fatalf("%v, did %v", err, r.did)
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
	for i, n := range r.machines { // the playbook has installed them
		if session.HasHost(r.in.Nodes[:1], n) {
			r.disks[i].with(r.in.Request.UID)
		}
	}
	repair()
	r.did, r.in.Request.Restore.Asked = nil, "nightly 2"
	r.expectFailure(contract.ReasonInvalidRequest, "To complete that restore: kubectl annotate bpa edge-1 -n site bpa.akraino.org/restore-.")
	if len(r.did) > 0 || r.now().Restoring != "nightly" {
		t.Errorf("it did %v, restoring %q", r.did, r.now().Restoring)
	}
	r.in.Request.Restore.Asked = "nightly"
	if _, err := r.run(); err != nil || slices.Contains(r.did, "cluster.yml master-1") {
		t.Fatalf("%v, did %v", err, r.did)
	}
	r.expectRestored()
}

// Variables that were applied after the backup are applied again, because objects in it come from the old ones.
func TestRestoreWithOtherVariables(t *testing.T) {
	for _, killed := range []bool{false, true} {
		r := newRestore(t, true, 1)
		old := r.now().Request.Settings() // those of the backup
		r.in.Request.Vars = map[string]json.RawMessage{"metrics_server_enabled": json.RawMessage("true")}
		record := r.now()
		record.Request.Vars = r.in.Request.Vars
		r.installed.Data[contract.KeyInstalled] = string(asJSON(t, record))
		if killed {
			repair := r.breakProxies()
			if _, err := r.run(); err == nil {
				t.Fatal("no failure")
			}
			repair()
		}
		if _, err := r.run(); err != nil {
			t.Fatalf("%v\n%s", err, &r.log)
		}
		r.expectRestored()
		for _, n := range r.now().Nodes {
			want := map[string]string{"master-1": r.in.Request.Settings() + "+" + old, "worker-1": r.in.Request.Settings()}[n.Name]
			if _, got := r.now().Level(n); got != want || old == r.in.Request.Settings() {
				t.Errorf("killed %t: %s has variables %s, want %s", killed, n.Name, got, want)
			}
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
		r.in.Request.KubernetesVersion = "1.35.4"
		err := CheckBackup(t.Context(), r.open, string(r.in.BackupKey), r.in.Request, []contract.Node{{Name: "master-1"}})
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
