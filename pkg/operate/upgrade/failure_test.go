package upgrade_test

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
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
		"no upgrade":               {[]string{"worker-1"}, func(u *upgrading) { u.In.Request.Upgrade = nil }, contract.ReasonInvalidRequest, "", "which nodes are upgraded"},
		"a wrong version":          {[]string{"worker-1"}, func(u *upgrading) { u.In.Request.Upgrade.From = "$(x)" }, contract.ReasonInvalidRequest, "", "versions of Kubernetes"},
		"no time for a drain":      {[]string{"worker-1"}, func(u *upgrading) { u.In.Request.Upgrade.DrainSeconds = 0 }, contract.ReasonInvalidRequest, "", "no time to drain"},
		"an unknown node":          {[]string{"worker-9"}, func(*upgrading) {}, contract.ReasonInvalidRequest, "", "not in the cluster"},
		"a lost node":              {[]string{"worker-1"}, func(u *upgrading) { u.In.Request.Kept = []string{"worker-1"} }, contract.ReasonInvalidRequest, "", "is lost"},
		"two control planes":       {[]string{"master-1", "master-2"}, func(*upgrading) {}, contract.ReasonInvalidRequest, "", "one at a time"},
		"a broken node":            {[]string{"worker-1"}, func(u *upgrading) { u.Nodes["worker-1"] = false }, contract.ReasonClusterUnhealthy, "worker-1", "kubectl bpa retry edge-1 -n site"},
		"another node is broken":   {[]string{"worker-1"}, func(u *upgrading) { u.Nodes["worker-2"] = false }, contract.ReasonClusterUnhealthy, "worker-2", "no node was upgraded"},
		"no API server":            {[]string{"worker-1"}, func(u *upgrading) { u.Cluster = nil }, contract.ReasonAPIUnavailable, "", ""},
		"a member of etcd is sick": {[]string{"master-1"}, func(u *upgrading) { u.Members[2].Sick = true }, contract.ReasonQuorumAtRisk, "master-1", "only 1 of 3 members"},
		"the host does not answer": {[]string{"worker-1"}, func(u *upgrading) { u.Planes.Servers[3].Stop() }, contract.ReasonHostUnreachable, "worker-1", "host-4"},
		"another machine answers": {[]string{"worker-1"}, func(u *upgrading) {
			u.Answers(map[int]func(io.Writer) int{3: kubespraytest.Says("name x", "card eth0 aa:bb:cc:00:00:01")})
		}, contract.ReasonWrongMachine, "worker-1", "Nothing was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpgrading(t, false, 3, 2, tc.nodes...)
			u.In.ProbeLimit, u.In.HealthLimit = time.Second, 2*time.Second
			tc.change(u)
			_, err := u.Run()
			if err == nil {
				t.Fatalf("no error\n%s", &u.Log)
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
	u.In.Request.Upgrade.DrainSeconds, u.Stuck["worker-2"] = 2, true
	u.Budgets = append(u.Budgets, kubespraytest.Budget("shop", "web", "shop"))
	_, err := u.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonDrainBlocked || f.Host != "worker-2" || !strings.Contains(f.Message, "kubectl describe pdb web -n shop") ||
		!strings.HasPrefix(f.Message, "worker-1 upgraded to 1.35.4; worker-2 not drained yet. ") || !strings.Contains(f.Message, "The node accepts pods again") || !strings.HasSuffix(f.Message, "raise spec.upgrade.drainTimeout") {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	if u.Cordoned["worker-1"] || u.Cordoned["worker-2"] || len(u.Now().Draining) > 0 || !slices.Contains(u.Did, "upgrade-cluster.yml worker-1") {
		t.Errorf("cordoned %v, draining %v, changes %v", u.Cordoned, u.Now().Draining, u.Did)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4"})
	u.Cordoned["worker-2"] = true // by a user
	if _, err := u.Run(); err == nil || !strings.Contains(task.FailureOf(err).Message, "The node stays cordoned, as it was before the drain") {
		t.Errorf("cordoned by a user: %v", err)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4"})
	u.Stuck["worker-2"], u.Cordoned["worker-2"] = false, false
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4", "worker-2": "1.35.4"})
}

// A node that dies while it is drained is not taken for drained.
func TestUpgradeOfANodeThatDies(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.In.ProbeLimit = 1500 * time.Millisecond // a node is dead after 3 s
	u.On("patch nodes worker-1", func(apitest.Call) error {
		u.Mu.Lock()
		defer u.Mu.Unlock()
		u.Nodes["worker-1"] = false
		return nil
	})
	_, err := u.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonClusterUnhealthy || f.Host != "worker-1" || u.played("upgrade-cluster.yml") {
		t.Errorf("failure %+v, changes %v", f, u.Did)
	}
}

// The playbook fails on one node of a batch. The node that works accepts pods again. The broken one
// stays cordoned, until it was repaired and the next attempt has upgraded it.
func TestUpgradeWhosePlaybookFails(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 1, 3, "worker-1", "worker-2")
	u.In.HealthLimit = 3 * time.Second // also on a loaded machine
	u.playing = func(name string) bool {
		if name != "worker-2" {
			return true
		}
		u.Mu.Lock()
		u.Nodes[name] = false
		u.Mu.Unlock()
		return false
	}
	_, err := u.Run()
	f := task.FailureOf(err)
	if f.Reason != contract.ReasonPlaybookFailed {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	for _, want := range []string{"worker-1 (v1.35.4) works, but is not upgraded", "worker-2 (v1.34.3) does not work and stays cordoned", "No other node was changed", "kubectl bpa retry edge-1 -n site"} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("message %q does not say %q", f.Message, want)
		}
	}
	if u.Cordoned["worker-1"] || !u.Cordoned["worker-2"] || !slices.Equal(u.Now().Draining, []string{"worker-2"}) {
		t.Errorf("cordoned %v, draining %v", u.Cordoned, u.Now().Draining)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": ">1.35.4", "worker-2": ">1.35.4"})

	u.Did = nil
	if _, err := u.Run(); !strings.Contains(task.FailureOf(err).Message, "node worker-2 is to be upgraded, but it does not work") {
		t.Errorf("it is not repaired: %v", err)
	}
	u.expectDid()

	u.Nodes["worker-2"], u.playing = true, func(string) bool { return true }
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4", "worker-2": "1.35.4"})
	if u.Cordoned["worker-2"] || len(u.Now().Draining) > 0 {
		t.Errorf("cordoned %v, draining %v", u.Cordoned, u.Now().Draining)
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
		"the node is not Ready":           {func(u *upgrading) { u.Nodes["worker-2"] = false }, "node worker-2 is not Ready"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUpgrading(t, false, 1, 2, "worker-1", "worker-2")
			u.In.HealthLimit = 2 * time.Second
			inner := u.Play
			u.Play = func(c processCommand, stdout, stderr io.Writer) int {
				status := inner(c, stdout, stderr)
				u.Mu.Lock()
				defer u.Mu.Unlock()
				tc.change(u)
				return status
			}
			_, err := u.Run()
			f := task.FailureOf(err)
			if f.Reason != contract.ReasonClusterUnhealthy || f.Host != "worker-2" || !strings.Contains(f.Message, tc.says) || !strings.Contains(f.Message, "worker-1 (v1.35.4) is upgraded") {
				t.Errorf("%+v\n%s", f, &u.Log)
			}
			u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4", "worker-2": ">1.35.4"})
			if u.Cordoned["worker-1"] {
				t.Error("worker-1 is cordoned")
			}
		})
	}
}

// The API server of a control plane node must have the new version too.
func TestUpgradeWhoseServerStaysBehind(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 3, 0, "master-2")
	u.In.HealthLimit = 2 * time.Second
	inner := u.Play
	u.Play = func(c processCommand, stdout, stderr io.Writer) int {
		status := inner(c, stdout, stderr)
		u.servers[u.Machines[1].Address] = "1.34.3"
		return status
	}
	_, err := u.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonClusterUnhealthy || !strings.Contains(f.Message, `its API server does not have version "v1.35.4"`) {
		t.Errorf("%+v\n%s", f, &u.Log)
	}
}

// A node that an earlier run has left cordoned accepts pods again when it is Ready.
func TestUpgradeAfterAnotherBatch(t *testing.T) {
	u := newUpgrading(t, false, 1, 3, "worker-3")
	record := u.Now()
	record.Draining = []string{"worker-1"}
	u.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(t, record))
	u.Cordoned["worker-1"] = true
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	if u.Cordoned["worker-1"] || u.Did[0] != "uncordon worker-1" {
		t.Errorf("changes %v", u.Did)
	}
}

// After a failure in its check of the whole cluster, the nodes stay recorded as upgraded.
func TestUpgradeThatBreaksTheCluster(t *testing.T) {
	t.Parallel()
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.In.HealthLimit = 2 * time.Second
	inner := u.Play
	u.Play = func(c processCommand, stdout, stderr io.Writer) int {
		u.Mu.Lock()
		u.Nodes["worker-2"] = false
		u.Mu.Unlock()
		return inner(c, stdout, stderr)
	}
	_, err := u.Run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonClusterUnhealthy || f.Host != "worker-2" || !strings.Contains(f.Message, "the upgrade to 1.35.4 is done, but the cluster is not healthy") {
		t.Errorf("%+v\n%s", f, &u.Log)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4"})
}
