package kubespray

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// These upgrades end before anything is changed.
func TestUpgradeThatIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		nodes  []string
		change func(u *upgrading)
		reason contract.Reason
		host   string
		says   string
	}{
		"no upgrade":               {[]string{"worker-1"}, func(u *upgrading) { u.in.Request.Upgrade = nil }, contract.ReasonInvalidRequest, "", "which nodes are upgraded"},
		"a wrong version":          {[]string{"worker-1"}, func(u *upgrading) { u.in.Request.Upgrade.From = "$(x)" }, contract.ReasonInvalidRequest, "", "versions of Kubernetes"},
		"no time for a drain":      {[]string{"worker-1"}, func(u *upgrading) { u.in.Request.Upgrade.DrainSeconds = 0 }, contract.ReasonInvalidRequest, "", "no time to drain"},
		"an unknown node":          {[]string{"worker-9"}, func(*upgrading) {}, contract.ReasonInvalidRequest, "", "not in the cluster"},
		"a lost node":              {[]string{"worker-1"}, func(u *upgrading) { u.in.Request.Kept = []string{"worker-1"} }, contract.ReasonInvalidRequest, "", "is lost"},
		"two control planes":       {[]string{"master-1", "master-2"}, func(*upgrading) {}, contract.ReasonInvalidRequest, "", "one at a time"},
		"a broken node":            {[]string{"worker-1"}, func(u *upgrading) { u.nodes["worker-1"] = false }, contract.ReasonClusterUnhealthy, "worker-1", "kubectl bpa retry edge-1 -n site"},
		"another node is broken":   {[]string{"worker-1"}, func(u *upgrading) { u.nodes["worker-2"] = false }, contract.ReasonClusterUnhealthy, "worker-2", "no node was upgraded"},
		"no API server":            {[]string{"worker-1"}, func(u *upgrading) { u.cluster = nil }, contract.ReasonAPIUnavailable, "", ""},
		"a member of etcd is sick": {[]string{"master-1"}, func(u *upgrading) { u.members[2].sick = true }, contract.ReasonQuorumAtRisk, "master-1", "only 1 of 3 members"},
		"the host does not answer": {[]string{"worker-1"}, func(u *upgrading) { u.planesFixture.servers[3].Stop() }, contract.ReasonHostUnreachable, "worker-1", "host-4"},
		"another machine answers": {[]string{"worker-1"}, func(u *upgrading) {
			u.answers(map[int]func(io.Writer) int{3: says("name x", "card eth0 aa:bb:cc:00:00:01")})
		}, contract.ReasonWrongMachine, "worker-1", "Nothing was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpgrading(t, false, 3, 2, tc.nodes...)
			u.in.ProbeLimit, u.in.HealthLimit = time.Second, 2*time.Second
			tc.change(u)
			_, err := u.run()
			if err == nil {
				t.Fatalf("no error\n%s", &u.log)
			}
			if f := task.FailureOf(err); f.Reason != tc.reason || f.Host != tc.host || !strings.Contains(f.Message, tc.says) {
				t.Errorf("failure %+v", f)
			}
			u.expectDid()
		})
	}
}

// A pod that may not leave blocks the upgrade of its node. It was not changed, and accepts pods again. The others
// of the batch are upgraded.
func TestUpgradeWhoseDrainIsBlocked(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 1, 3, "worker-1", "worker-2")
	u.in.Request.Upgrade.DrainSeconds, u.stuck["worker-2"] = 2, true
	var b fakeBudget
	if err := json.Unmarshal([]byte(`{"metadata":{"namespace":"shop","name":"web"},"spec":{"selector":{"matchLabels":{"app":"shop"}}}}`), &b); err != nil {
		t.Fatal(err)
	}
	u.budgets = []fakeBudget{b}
	_, err := u.run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonDrainBlocked || f.Host != "worker-2" || !strings.Contains(f.Message, "kubectl describe pdb web -n shop") ||
		!strings.HasPrefix(f.Message, "worker-1 upgraded to 1.35.4; worker-2 not drained yet. ") || !strings.Contains(f.Message, "The node accepts pods again") || !strings.HasSuffix(f.Message, "raise spec.upgrade.drainTimeout") {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	if u.cordoned["worker-1"] || u.cordoned["worker-2"] || len(u.now().Draining) > 0 || !slices.Contains(u.did, "upgrade-cluster.yml worker-1") {
		t.Errorf("cordoned %v, draining %v, changes %v", u.cordoned, u.now().Draining, u.did)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4"})
	u.cordoned["worker-2"] = true // by a user
	if _, err := u.run(); err == nil || !strings.Contains(task.FailureOf(err).Message, "The node stays cordoned, as it was before the drain") {
		t.Errorf("cordoned by a user: %v", err)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4"})
	u.stuck["worker-2"], u.cordoned["worker-2"] = false, false
	if _, err := u.run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4", "worker-2": "1.35.4"})
}

// A node that dies while it is drained is not taken for drained.
func TestUpgradeOfANodeThatDies(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.in.ProbeLimit = 300 * time.Millisecond // a node is dead after 600 ms
	inner := u.living.commands
	u.living.commands = func(command string, stdout, stderr io.Writer) (int, bool) {
		if strings.Contains(command, " cordon worker-1") {
			u.mu.Lock()
			u.nodes["worker-1"] = false
			u.mu.Unlock()
		}
		return inner(command, stdout, stderr)
	}
	_, err := u.run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonClusterUnhealthy || f.Host != "worker-1" || u.played("upgrade-cluster.yml") {
		t.Errorf("failure %+v, changes %v", f, u.did)
	}
}

// The playbook fails on one node of a batch. The node that works accepts pods again. The broken one
// stays cordoned, until it was repaired and the next attempt has upgraded it.
func TestUpgradeWhosePlaybookFails(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 1, 3, "worker-1", "worker-2")
	u.in.HealthLimit = 3 * time.Second // also on a loaded machine
	u.playing = func(name string) bool {
		if name != "worker-2" {
			return true
		}
		u.mu.Lock()
		u.nodes[name] = false
		u.mu.Unlock()
		return false
	}
	_, err := u.run()
	f := task.FailureOf(err)
	if f.Reason != contract.ReasonPlaybookFailed {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	for _, want := range []string{"worker-1 (v1.35.4) works, but is not upgraded", "worker-2 (v1.34.3) does not work and stays cordoned", "No other node was changed", "kubectl bpa retry edge-1 -n site"} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("message %q does not say %q", f.Message, want)
		}
	}
	if u.cordoned["worker-1"] || !u.cordoned["worker-2"] || !slices.Equal(u.now().Draining, []string{"worker-2"}) {
		t.Errorf("cordoned %v, draining %v", u.cordoned, u.now().Draining)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": ">1.35.4", "worker-2": ">1.35.4"})

	u.did = nil
	if _, err := u.run(); !strings.Contains(task.FailureOf(err).Message, "node worker-2 is to be upgraded, but it does not work") {
		t.Errorf("it is not repaired: %v", err)
	}
	u.expectDid()

	u.nodes["worker-2"], u.playing = true, func(string) bool { return true }
	if _, err := u.run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4", "worker-2": "1.35.4"})
	if u.cordoned["worker-2"] || len(u.now().Draining) > 0 {
		t.Errorf("cordoned %v, draining %v", u.cordoned, u.now().Draining)
	}
}

// A green recap does not mean that a node works. The nodes that work are recorded.
func TestUpgradeWhoseNodeStaysBehind(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(u *upgrading)
		says   string
	}{
		"the kubelet has the old version": {func(u *upgrading) { u.kubelets["worker-2"] = "1.34.3" }, "its kubelet has version v1.34.3, not v1.35.4"},
		"the kubelet has stopped":         {func(u *upgrading) { u.silent["worker-2"] = true }, "no heartbeat since the playbook ended"},
		"the node is not Ready":           {func(u *upgrading) { u.nodes["worker-2"] = false }, "node worker-2 is not Ready"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpgrading(t, false, 1, 2, "worker-1", "worker-2")
			u.in.HealthLimit = 2 * time.Second
			inner := u.play
			u.play = func(c processCommand, stdout, stderr io.Writer) int {
				status := inner(c, stdout, stderr)
				u.mu.Lock()
				defer u.mu.Unlock()
				tc.change(u)
				return status
			}
			_, err := u.run()
			f := task.FailureOf(err)
			if f.Reason != contract.ReasonClusterUnhealthy || f.Host != "worker-2" || !strings.Contains(f.Message, tc.says) || !strings.Contains(f.Message, "worker-1 (v1.35.4) is upgraded") {
				t.Errorf("%+v\n%s", f, &u.log)
			}
			u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4", "worker-2": ">1.35.4"})
			if u.cordoned["worker-1"] {
				t.Error("worker-1 is cordoned")
			}
		})
	}
}

// The API server of a control plane node must have the new version too.
func TestUpgradeWhoseServerStaysBehind(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 3, 0, "master-2")
	u.in.HealthLimit = 2 * time.Second
	inner := u.play
	u.play = func(c processCommand, stdout, stderr io.Writer) int {
		status := inner(c, stdout, stderr)
		u.servers[u.machines[1].Address] = "1.34.3"
		return status
	}
	_, err := u.run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonClusterUnhealthy || !strings.Contains(f.Message, `its API server does not have version "v1.35.4"`) {
		t.Errorf("%+v\n%s", f, &u.log)
	}
}

// A node that an earlier run has left cordoned accepts pods again when it is Ready.
func TestUpgradeAfterAnotherBatch(t *testing.T) {
	u := newUpgrading(t, false, 1, 3, "worker-3")
	record := u.now()
	record.Draining = []string{"worker-1"}
	u.installed.Data[contract.KeyInstalled] = string(asJSON(t, record))
	u.cordoned["worker-1"] = true
	if _, err := u.run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	if u.cordoned["worker-1"] || u.did[0] != "uncordon worker-1" {
		t.Errorf("changes %v", u.did)
	}
}

// After a failure in its check of the whole cluster, the nodes stay recorded as upgraded.
func TestUpgradeThatBreaksTheCluster(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.in.HealthLimit = 2 * time.Second
	inner := u.play
	u.play = func(c processCommand, stdout, stderr io.Writer) int {
		u.mu.Lock()
		u.nodes["worker-2"] = false
		u.mu.Unlock()
		return inner(c, stdout, stderr)
	}
	_, err := u.run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonClusterUnhealthy || f.Host != "worker-2" || !strings.Contains(f.Message, "the upgrade to 1.35.4 is done, but the cluster is not healthy") {
		t.Errorf("%+v\n%s", f, &u.log)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4"})
}
