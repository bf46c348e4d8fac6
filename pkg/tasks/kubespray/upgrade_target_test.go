package kubespray

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// fails lets the playbook fail on a node once, before it has changed the version of its kubelet.
func (u *upgrading) fails(node string) {
	u.playing = func(name string) bool {
		if name != node {
			return true
		}
		u.playing = func(string) bool { return true }
		return false
	}
}

// A node that a failed playbook may have changed is upgraded again, even if the earlier variables are
// requested again. No other node is.
func TestUpgradeThatIsTakenBackAfterAFailure(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-1")
	r := &u.in.Request
	r.KubernetesVersion, r.Upgrade.Path, r.Vars = "1.34.3", []string{"1.34.3"}, vars(`{"kubelet_max_pods":200}`)
	u.render()
	u.fails("worker-1")
	if _, err := u.run(); task.FailureOf(err).Reason != contract.ReasonPlaybookFailed {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	want := &contract.Target{Version: "1.34.3", Settings: r.Settings()}
	for _, n := range u.now().Nodes {
		if diff := cmp.Diff(map[bool]*contract.Target{true: want}[n.Name == "worker-1"], n.Target); diff != "" {
			t.Errorf("target of %s (-want +got):\n%s", n.Name, diff)
		}
	}
	u.did, r.Vars = nil, nil
	u.render()
	if _, err := u.run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	u.expectDid("cordon worker-1", "upgrade-cluster.yml worker-1", "uncordon worker-1")
	u.expectLevels("1.34.3", map[string]string{})
}

// Attempts after a half-done upgrade of a control plane leave the snapshot from before it.
func TestSnapshotOfTheFirstAttempt(t *testing.T) {
	u := newUpgrading(t, false, 3, 0, "master-1")
	u.fails("master-1")
	if _, err := u.run(); err == nil || !u.played("snapshot master-2") {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	first := u.snapshots(1)
	u.did = nil
	if _, err := u.run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	if u.played("snapshot") || len(first) != 1 || !cmp.Equal(first, u.snapshots(1)) {
		t.Errorf("snapshots %v, then %v, changes %v", first, u.snapshots(1), u.did)
	}
	if !strings.Contains(u.log.String(), "The snapshot of etcd from before the first attempt is on master-2: ") {
		t.Errorf("the log does not name the snapshot:\n%s", &u.log)
	}

	u = newUpgrading(t, false, 3, 0, "master-1")
	u.fails("master-1")
	if _, err := u.run(); err == nil {
		t.Fatal("no error")
	}
	u.remove("machine-2" + SnapshotFolder + "/" + u.snapshots(1)[0]) // somebody has deleted it
	if _, err := u.run(); err != nil || len(u.snapshots(1)) != 1 {
		t.Errorf("snapshots %v, %v\n%s", u.snapshots(1), err, &u.log)
	}
}

// A cancelled run uncordons the Ready nodes of its batch in one command.
func TestUpgradeThatIsCancelled(t *testing.T) {
	u := newUpgrading(t, false, 1, 4, "worker-1", "worker-2", "worker-3")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	u.playing = func(string) bool {
		u.mu.Lock()
		u.nodes["worker-2"] = false
		u.mu.Unlock()
		cancel()
		return false
	}
	if _, err := Run(ctx, u.in, u.living.ports()); err == nil {
		t.Fatal("no error")
	}
	if u.cordoned["worker-1"] || !u.cordoned["worker-2"] || u.cordoned["worker-3"] {
		t.Errorf("cordoned %v\n%s", u.cordoned, &u.log)
	}
	if diff := cmp.Diff([]string{"worker-2"}, u.now().Draining); diff != "" {
		t.Errorf("draining (-want +got):\n%s", diff)
	}
	if !strings.Contains(u.log.String(), "Accept pods again: worker-1, worker-3\n") {
		t.Errorf("log:\n%s", &u.log)
	}
}

// Variables that broke a kubelet are corrected by other ones. The node is not drained.
func TestUpgradeOfANodeThatAnUpgradeBroke(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.in.HealthLimit = 2 * time.Second
	u.breaks("worker-1")
	if _, err := u.run(); err == nil {
		t.Fatal("no error")
	}
	if _, err := u.run(); !strings.Contains(task.FailureOf(err).Message, "node worker-1 is to be upgraded, but it does not work") {
		t.Errorf("with the same variables: %v", err)
	}
	u.did, u.in.Request.Vars = nil, vars(`{"kubelet_max_pods":110}`)
	u.render()
	u.nodes["worker-2"] = false
	if _, err := u.run(); task.FailureOf(err).Host != "worker-2" {
		t.Errorf("another node does not work: %v", err)
	}
	u.nodes["worker-2"] = true
	u.playing = func(name string) bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.nodes[name] = true
		return true
	}
	if _, err := u.run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	u.expectDid("cordon worker-1", "upgrade-cluster.yml worker-1", "uncordon worker-1")
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4"})
}

// breaks lets the playbook fail on a node, whose kubelet does not start any more.
func (u *upgrading) breaks(node string) {
	u.playing = func(name string) bool {
		if name != node {
			return true
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.nodes[name] = false
		return false
	}
}

// The kubespray task accepts the versions that the webhook accepts.
func TestUpgradeToAReleaseCandidate(t *testing.T) {
	u := newUpgrading(t, false, 1, 1, "worker-1")
	u.in.Request.KubernetesVersion, u.in.Request.Upgrade.Path = "1.35.0-rc.1", []string{"1.35.0-rc.1"}
	if _, err := u.run(); err != nil && strings.Contains(err.Error(), "must be versions of Kubernetes") {
		t.Error(err)
	}
}
