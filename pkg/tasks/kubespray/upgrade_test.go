package kubespray

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A batch of workers is drained, upgraded together, and recorded. No other machine is changed.
func TestUpgradeOfWorkers(t *testing.T) {
	u := newUpgrading(t, false, 1, 3, "worker-1", "worker-2")
	out, err := u.run()
	if err != nil || out.Recap != "worker-1, worker-2 upgraded to 1.35.4" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &u.log)
	}
	u.expectDid("cordon worker-1", "cordon worker-2", "drain worker-1", "drain worker-2", "upgrade-cluster.yml worker-1,worker-2",
		"uncordon worker-1", "uncordon worker-2")
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4", "worker-2": "1.35.4"})
	if got := u.now().Draining; len(got) > 0 {
		t.Errorf("draining %v", got)
	}
	if diff := cmp.Diff([]string{"master-1", "worker-1", "worker-2"}, u.connected()); diff != "" {
		t.Errorf("connected (-want +got):\n%s", diff)
	}
	extra := u.extraVars()
	for name, want := range map[string]any{"serial": "100%", "upgrade_node_always_cordon": false, "force_etcd_cert_refresh": false, "kubeadm_ignore_preflight_errors": []any{"CoreDNSUnsupportedPlugins", "CoreDNSMigration"}} {
		if !cmp.Equal(extra[name], want) {
			t.Errorf("extra variable %s is %v, want %v", name, extra[name], want)
		}
	}
}

// TestIgnoredErrors: kubeadm refuses an upgrade if it does not know the version of CoreDNS, which it does not upgrade.
func TestIgnoredErrors(t *testing.T) {
	ours := []string{"CoreDNSUnsupportedPlugins", "CoreDNSMigration"}
	for name, c := range map[string]struct {
		vars string
		want []string
	}{
		"no variables":                  {`{}`, ours},
		"errors of the user":            {`{"kubeadm_ignore_preflight_errors":["SystemVerification","CoreDNSMigration"]}`, []string{"SystemVerification", "CoreDNSMigration", "CoreDNSUnsupportedPlugins"}},
		"all errors":                    {`{"kubeadm_ignore_preflight_errors":["all"]}`, nil},
		"a template":                    {`{"kubeadm_ignore_preflight_errors":"{{ mine }}"}`, nil},
		"kubeadm upgrades CoreDNS":      {`{"kubeadm_init_phases_skip":[]}`, nil},
		"kubeadm upgrades CoreDNS, too": {`{"kubeadm_init_phases_skip_default":[]}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var r contract.Request
			if err := json.Unmarshal([]byte(c.vars), &r.Vars); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, IgnoredErrors(r)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if got := IgnoredErrors(contract.Request{SecretVars: map[string]string{IgnoreErrors: "digest"}}); got != nil {
		t.Errorf("a variable in a Secret is overridden with %v", got)
	}
	if got := IgnoredErrors(contract.Request{PluginVars: map[string]json.RawMessage{IgnoreErrors: json.RawMessage(`["Port-10250"]`)}}); len(got) != 3 || got[0] != "Port-10250" {
		t.Errorf("the variable of a plugin becomes %v", got)
	}
}

// When the last node is upgraded, the request is that of the cluster.
func TestUpgradeOfTheLastNode(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-2")
	u.setLevels(map[string]string{"master-1": "1.35.4", "worker-1": "1.35.4"})
	if _, err := u.run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	u.expectLevels("1.35.4", map[string]string{})
}

// The first control plane node of a hop is upgraded after a snapshot of etcd, which is taken on
// another one. The second one needs no snapshot.
func TestUpgradeOfControlPlanes(t *testing.T) {
	for _, stacked := range []bool{false, true} {
		u := newUpgrading(t, stacked, 3, 1, "master-1")
		if _, err := u.run(); err != nil {
			t.Fatalf("%v\n%s", err, &u.log)
		}
		u.expectDid("cordon master-1", "snapshot master-2", "upgrade-cluster.yml master-1", "uncordon master-1")
		u.expectLevels("1.34.3", map[string]string{"master-1": "1.35.4"})
		if got := u.snapshots(1); len(got) != 1 || !strings.HasPrefix(got[0], "etcd-1.34.3-to-1.35.4-") || !strings.HasSuffix(got[0], ".db") {
			t.Errorf("snapshots %v", got)
		}
		if !strings.Contains(u.log.String(), "A snapshot of etcd before the upgrade is on master-2: ") {
			t.Errorf("the log does not name the snapshot:\n%s", &u.log)
		}
		u.did, u.in.Request.Upgrade.Nodes = nil, []string{"master-2"}
		if _, err := u.run(); err != nil {
			t.Fatalf("%v\n%s", err, &u.log)
		}
		u.expectDid("cordon master-2", "drain master-2", "upgrade-cluster.yml master-2", "uncordon master-2")
	}
}

// Of the last three hops, the oldest and the newest snapshot stay, and none that is damaged. Without a
// snapshot, nothing is changed.
func TestSnapshots(t *testing.T) {
	u := newUpgrading(t, false, 1, 1, "master-1")
	for _, name := range []string{"etcd-1.31.0-to-1.32.0-1.db", "etcd-1.32.0-to-1.33.0-2.db", "etcd-1.33.0-to-1.34.3-3.db", "etcd-1.33.0-to-1.34.3-4.db", "etcd-1.33.0-to-1.34.3-5.db", "etcd-1.33.0-to-1.34.3-6.db.part"} {
		u.write("machine-1"+SnapshotFolder+"/"+name, name)
	}
	u.age("machine-1" + SnapshotFolder)
	for name, tc := range map[string]struct{ change, undo func() }{
		"the checksum is wrong": {func() { u.write("cluster/etcd.db", strings.Repeat("x", 99)) }, func() {}},
		"the disk is full":      {func() { u.write("cluster/free", "1000") }, func() { u.write("cluster/free", "99999999") }},
		"etcdctl fails":         {func() { u.write("cluster/etcd-fails", "") }, func() { u.remove("cluster/etcd-fails") }},
	} {
		good := u.read("cluster/etcd.db")
		tc.change()
		_, err := u.run()
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		if f := task.FailureOf(err); f.Host != "master-1" || !strings.Contains(f.Message, "No node was changed") {
			t.Errorf("%s: %+v", name, f)
		}
		u.expectDid("cordon master-1", "snapshot master-1", "uncordon master-1")
		u.expectLevels("1.34.3", map[string]string{})
		if got := u.snapshots(0); slices.ContainsFunc(got, func(n string) bool { return strings.Contains(n, "1.34.3-to") && strings.HasSuffix(n, ".db") }) {
			t.Errorf("%s: snapshots %v", name, got)
		}
		tc.undo()
		u.write("cluster/etcd.db", good)
		u.did = nil
	}
	if _, err := u.run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	got := u.snapshots(0)
	if len(got) != 4 || got[0] != "etcd-1.32.0-to-1.33.0-2.db" || got[1] != "etcd-1.33.0-to-1.34.3-3.db" || got[2] != "etcd-1.33.0-to-1.34.3-5.db" ||
		!strings.HasPrefix(got[3], "etcd-1.34.3-to-1.35.4-") {
		t.Errorf("snapshots %v", got)
	}
	u.expectModes("machine-1"+SnapshotFolder, 0o700, 0o600)
}

// Etcd 3.6 does not follow a version of 3.5 that can bring back removed members, and no version follows a
// newer one.
func TestUpgradeOfEtcd(t *testing.T) {
	for _, tc := range []struct {
		now, next string
		refused   bool
	}{
		{"3.5.25", "3.6.10", true}, {"3.5.26", "3.6.10", false}, {"3.5.25", "3.5.29", false}, {"3.6.5", "3.6.5", false}, {"3.5.25", "", true},
		{"3.6.5", "3.5.29", true}, {"3.6.5", "3.6.4", true}, {"3.6.5", "", true},
	} {
		u := newUpgrading(t, false, 1, 1, "master-1")
		u.etcdNow = tc.now
		u.etcdNext(tc.next)
		_, err := u.run()
		if (err != nil) != tc.refused {
			t.Errorf("from %s to %s: %v", tc.now, tc.next, err)
		}
		if tc.refused {
			u.expectDid()
			if f := task.FailureOf(err); tc.next != "" && (f.Reason != contract.ReasonInvalidRequest || !strings.Contains(f.Message, "etcd "+tc.now)) {
				t.Errorf("from %s to %s: %+v", tc.now, tc.next, f)
			}
		}
	}
}

// A run that is killed at any point is continued by the next one. It upgrades each node once at least,
// leaves none cordoned, and touches no other one.
func TestUpgradeThatIsKilled(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		u := newUpgrading(t, false, 1, 3, "worker-1", "worker-2")
		u.in.ProbeLimit = time.Second
		if !u.killed(at) {
			if at < 12 {
				t.Errorf("only %d changes were interrupted", at-1)
			}
			return
		}
		before := slices.Clone(u.did)
		if _, err := u.run(); err != nil {
			t.Fatalf("killed after %v: %v\n%s", before, err, &u.log)
		}
		u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4", "worker-2": "1.35.4"})
		if u.cordoned["worker-1"] || u.cordoned["worker-2"] || len(u.now().Draining) > 0 {
			t.Errorf("killed after %v: cordoned %v, draining %v", before, u.cordoned, u.now().Draining)
		}
		if slices.ContainsFunc(u.did, func(what string) bool {
			return strings.Contains(what, "worker-3") || strings.Contains(what, "reset") || strings.Contains(what, "clean")
		}) {
			t.Errorf("killed after %v: %v", before, u.did)
		}
		if t.Failed() {
			return
		}
	}
}

// An attempt after one that has upgraded all nodes only checks the cluster and completes the record.
func TestUpgradeWithNothingLeft(t *testing.T) {
	u := newUpgrading(t, false, 1, 1, "worker-1")
	u.setLevels(map[string]string{"master-1": "1.35.4", "worker-1": "1.35.4"})
	out, err := u.run()
	if err != nil || out.Recap != "no node is left to be upgraded" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &u.log)
	}
	u.expectDid()
	u.expectLevels("1.35.4", map[string]string{})
}

// Other variables alone are an upgrade too.
func TestUpgradeOfVariables(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.in.Request.KubernetesVersion, u.in.Request.Upgrade.Path = "1.34.3", []string{"1.34.3"}
	u.in.Request.Vars = vars(`{"kubelet_max_pods":200}`)
	u.render()
	if out, err := u.run(); err != nil || out.Recap != "worker-1 configured" {
		t.Fatalf("%+v, %v\n%s", out, err, &u.log)
	}
	if strings.Contains(u.log.String(), "upgraded") {
		t.Errorf("the log of a change of variables says that a node is upgraded:\n%s", &u.log)
	}
	record := u.now()
	for _, n := range record.Nodes {
		_, settings := record.Level(n)
		if want := n.Name == "worker-1"; (settings == u.in.Request.Settings()) != want {
			t.Errorf("node %s has the variables %s", n.Name, settings)
		}
	}
}

// A node that a user has cordoned stays cordoned.
func TestUpgradeOfACordonedNode(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-1", "worker-2")
	u.cordoned["worker-1"] = true
	if _, err := u.run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	if !u.cordoned["worker-1"] || u.cordoned["worker-2"] {
		t.Errorf("cordoned %v", u.cordoned)
	}
	if !slices.Contains(u.did, "drain worker-1") {
		t.Errorf("changes %v", u.did)
	}
}

// Lost nodes are not waited for, and nothing connects to them.
func TestUpgradeWhileANodeIsLost(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.in.Request.Lost, u.in.Request.Kept = []string{"worker-2"}, []string{"worker-2"}
	u.nodes["worker-2"], u.in.HealthLimit = false, 5*time.Second
	u.planesFixture.servers[2].Stop()
	if _, err := u.run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.log)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4"})
}
