package upgrade_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/upgrade"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
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
	r := &u.In.Request
	r.KubernetesVersion, r.Upgrade.Path, r.Vars = "1.34.3", []string{"1.34.3"}, vars(`{"kubelet_max_pods":200}`)
	u.Render()
	u.fails("worker-1")
	if _, err := u.Run(); task.FailureOf(err).Reason != contract.ReasonPlaybookFailed {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	want := &contract.Target{Version: "1.34.3", Settings: r.Settings()}
	for _, n := range u.Now().Nodes {
		if diff := cmp.Diff(map[bool]*contract.Target{true: want}[n.Name == "worker-1"], n.Target); diff != "" {
			t.Errorf("target of %s (-want +got):\n%s", n.Name, diff)
		}
	}
	u.Did, r.Vars = nil, nil
	u.Render()
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectDid("cordon worker-1", "upgrade-cluster.yml worker-1", "uncordon worker-1")
	u.expectLevels("1.34.3", map[string]string{})
}

// Attempts after a half-done upgrade of a control plane leave the snapshot from before it.
func TestSnapshotOfTheFirstAttempt(t *testing.T) {
	u := newUpgrading(t, false, 3, 0, "master-1")
	u.fails("master-1")
	if _, err := u.Run(); err == nil || !u.played("snapshot master-2") {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	first := u.snapshots(1)
	u.Did = nil
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	if u.played("snapshot") || len(first) != 1 || !cmp.Equal(first, u.snapshots(1)) {
		t.Errorf("snapshots %v, then %v, changes %v", first, u.snapshots(1), u.Did)
	}
	if !strings.Contains(u.Log.String(), "The snapshot of etcd from before the first attempt is on master-2: ") {
		t.Errorf("the log does not name the snapshot:\n%s", &u.Log)
	}

	u = newUpgrading(t, false, 3, 0, "master-1")
	u.fails("master-1")
	if _, err := u.Run(); err == nil {
		t.Fatal("no error")
	}
	u.remove("machine-2" + upgrade.SnapshotFolder + "/" + u.snapshots(1)[0]) // somebody has deleted it
	if _, err := u.Run(); err != nil || len(u.snapshots(1)) != 1 {
		t.Errorf("snapshots %v, %v\n%s", u.snapshots(1), err, &u.Log)
	}
}

// A cancelled run uncordons the Ready nodes of its batch in one command.
func TestUpgradeThatIsCancelled(t *testing.T) {
	u := newUpgrading(t, false, 1, 4, "worker-1", "worker-2", "worker-3")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	u.playing = func(string) bool {
		u.Mu.Lock()
		u.Nodes["worker-2"] = false
		u.Mu.Unlock()
		cancel()
		return false
	}
	if _, err := kubespray.Run(ctx, u.In, u.Living.Ports()); err == nil {
		t.Fatal("no error")
	}
	if u.Cordoned["worker-1"] || !u.Cordoned["worker-2"] || u.Cordoned["worker-3"] {
		t.Errorf("cordoned %v\n%s", u.Cordoned, &u.Log)
	}
	if diff := cmp.Diff([]string{"worker-2"}, u.Now().Draining); diff != "" {
		t.Errorf("draining (-want +got):\n%s", diff)
	}
	if !strings.Contains(u.Log.String(), "Accept pods again: worker-1, worker-3\n") {
		t.Errorf("log:\n%s", &u.Log)
	}
}

// Variables that broke a kubelet are corrected by other ones. The node is not drained.
func TestUpgradeOfANodeThatAnUpgradeBroke(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.In.HealthLimit = 2 * time.Second
	u.breaks("worker-1")
	if _, err := u.Run(); err == nil {
		t.Fatal("no error")
	}
	if _, err := u.Run(); !strings.Contains(task.FailureOf(err).Message, "node worker-1 is to be upgraded, but it does not work") {
		t.Errorf("with the same variables: %v", err)
	}
	u.Did, u.In.Request.Vars = nil, vars(`{"kubelet_max_pods":110}`)
	u.Render()
	u.Nodes["worker-2"] = false
	if _, err := u.Run(); task.FailureOf(err).Host != "worker-2" {
		t.Errorf("another node does not work: %v", err)
	}
	u.Nodes["worker-2"] = true
	u.playing = func(name string) bool {
		u.Mu.Lock()
		defer u.Mu.Unlock()
		u.Nodes[name] = true
		return true
	}
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectDid("upgrade-cluster.yml worker-1", "uncordon worker-1")
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4"})
}

// breaks lets the playbook fail on a node, whose kubelet does not start any more.
func (u *upgrading) breaks(node string) {
	u.playing = func(name string) bool {
		if name != node {
			return true
		}
		u.Mu.Lock()
		defer u.Mu.Unlock()
		u.Nodes[name] = false
		return false
	}
}

// The kubespray task accepts the versions that the webhook accepts.
func TestUpgradeToAReleaseCandidate(t *testing.T) {
	u := newUpgrading(t, false, 1, 1, "worker-1")
	u.In.Request.KubernetesVersion, u.In.Request.Upgrade.Path = "1.35.0-rc.1", []string{"1.35.0-rc.1"}
	if _, err := u.Run(); err != nil && strings.Contains(err.Error(), "must be versions of Kubernetes") {
		t.Error(err)
	}
}
