package upgrade_test

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/upgrade"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// A batch of workers is drained, upgraded together, and recorded. No other machine is changed.
func TestUpgradeOfWorkers(t *testing.T) {
	u := newUpgrading(t, false, 1, 3, "worker-1", "worker-2")
	out, err := u.Run()
	if err != nil || out.Recap != "worker-1, worker-2 upgraded to 1.35.4" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &u.Log)
	}
	u.expectDid("cordon worker-1", "cordon worker-2", "drain worker-1", "drain worker-2", "upgrade-cluster.yml worker-1,worker-2",
		"uncordon worker-1", "uncordon worker-2")
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4", "worker-2": "1.35.4"})
	if got := u.Now().Draining; len(got) > 0 {
		t.Errorf("draining %v", got)
	}
	if diff := cmp.Diff([]string{"master-1", "worker-1", "worker-2"}, u.Connected()); diff != "" {
		t.Errorf("connected (-want +got):\n%s", diff)
	}
	extra := u.extraVars()
	for name, want := range map[string]any{"serial": "100%", "upgrade_node_always_cordon": false, "force_etcd_cert_refresh": false, "kubeadm_ignore_preflight_errors": []any{"CoreDNSUnsupportedPlugins", "CoreDNSMigration"}} {
		if !cmp.Equal(extra[name], want) {
			t.Errorf("extra variable %s is %v, want %v", name, extra[name], want)
		}
	}
}

// TestUpgradedWorkersAreNoEtcdClients: with flannel, kubespray creates their certificates again.
func TestUpgradedWorkersAreNoEtcdClients(t *testing.T) {
	u := newUpgrading(t, false, 1, 3, "worker-1", "worker-2")
	u.In.Request.NetworkPlugin = "flannel"
	inner := u.Scripts
	var mu sync.Mutex
	var removed, filled []string
	u.Scripts = func(i int, command string, stdout, stderr io.Writer) (int, bool) {
		if strings.Contains(command, "node-worker-3-key.pem; do") {
			filled = append(filled, u.In.Nodes[i].Name)
			return 0, true
		}
		if command == "sh -c 'rm -f /etc/ssl/etcd/ssl/node-*.pem'" {
			mu.Lock()
			defer mu.Unlock()
			removed = append(removed, u.In.Nodes[i].Name)
			return 0, true
		}
		return inner(i, command, stdout, stderr)
	}
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	slices.Sort(removed)
	if diff := cmp.Diff([]string{"worker-1", "worker-2"}, removed); diff != "" {
		t.Errorf("removed from (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"master-1"}, filled); diff != "" {
		t.Errorf("filled for the worker that is in no batch (-want +got):\n%s", diff)
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
			if diff := cmp.Diff(c.want, upgrade.IgnoredErrors(r)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if got := upgrade.IgnoredErrors(contract.Request{Spec: contract.Spec{SecretVars: map[string]string{upgrade.IgnoreErrors: "digest"}}}); got != nil {
		t.Errorf("a variable in a Secret is overridden with %v", got)
	}
	if got := upgrade.IgnoredErrors(contract.Request{Spec: contract.Spec{PluginVars: map[string]json.RawMessage{upgrade.IgnoreErrors: json.RawMessage(`["Port-10250"]`)}}}); len(got) != 3 || got[0] != "Port-10250" {
		t.Errorf("the variable of a plugin becomes %v", got)
	}
}

// When the last node is upgraded, the request is that of the cluster.
func TestUpgradeOfTheLastNode(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-2")
	u.setLevels(map[string]string{"master-1": "1.35.4", "worker-1": "1.35.4"})
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectLevels("1.35.4", map[string]string{})
}

// The first control plane node of a hop is upgraded after a snapshot of etcd, which is taken on
// another one. The second one needs no snapshot.
func TestUpgradeOfControlPlanes(t *testing.T) {
	for _, stacked := range []bool{false, true} {
		u := newUpgrading(t, stacked, 3, 1, "master-1")
		if _, err := u.Run(); err != nil {
			t.Fatalf("%v\n%s", err, &u.Log)
		}
		u.expectDid("cordon master-1", "snapshot master-2", "upgrade-cluster.yml master-1", "uncordon master-1")
		u.expectLevels("1.34.3", map[string]string{"master-1": "1.35.4"})
		if got := u.snapshots(1); len(got) != 1 || !strings.HasPrefix(got[0], "etcd-1.34.3-to-1.35.4-") || !strings.HasSuffix(got[0], ".db") {
			t.Errorf("snapshots %v", got)
		}
		if !strings.Contains(u.Log.String(), "A snapshot of etcd before the upgrade is on master-2: ") {
			t.Errorf("the log does not name the snapshot:\n%s", &u.Log)
		}
		u.Did, u.In.Request.Upgrade.Nodes = nil, []string{"master-2"}
		if _, err := u.Run(); err != nil {
			t.Fatalf("%v\n%s", err, &u.Log)
		}
		u.expectDid("cordon master-2", "drain master-2", "upgrade-cluster.yml master-2", "uncordon master-2")
	}
}

// Of the last three hops, the oldest and the newest snapshot stay, and none that is damaged. Without a
// snapshot, nothing is changed.
func TestSnapshots(t *testing.T) {
	u := newUpgrading(t, false, 1, 1, "master-1")
	for _, name := range []string{"etcd-1.31.0-to-1.32.0-1.db", "etcd-1.32.0-to-1.33.0-2.db", "etcd-1.33.0-to-1.34.3-3.db", "etcd-1.33.0-to-1.34.3-4.db", "etcd-1.33.0-to-1.34.3-5.db", "etcd-1.33.0-to-1.34.3-6.db.part"} {
		u.Write("machine-1"+upgrade.SnapshotFolder+"/"+name, name)
	}
	u.age("machine-1" + upgrade.SnapshotFolder)
	for name, tc := range map[string]struct{ change, undo func() }{
		"the checksum is wrong": {func() { u.Write("cluster/etcd.db", strings.Repeat("x", 99)) }, func() {}},
		"the disk is full":      {func() { u.Write("cluster/free", "1000") }, func() { u.Write("cluster/free", "99999999") }},
		"etcdctl fails":         {func() { u.Write("cluster/etcd-fails", "") }, func() { u.remove("cluster/etcd-fails") }},
	} {
		good := u.Read("cluster/etcd.db")
		tc.change()
		_, err := u.Run()
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
		u.Write("cluster/etcd.db", good)
		u.Did = nil
	}
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	got := u.snapshots(0)
	if len(got) != 4 || got[0] != "etcd-1.32.0-to-1.33.0-2.db" || got[1] != "etcd-1.33.0-to-1.34.3-3.db" || got[2] != "etcd-1.33.0-to-1.34.3-5.db" ||
		!strings.HasPrefix(got[3], "etcd-1.34.3-to-1.35.4-") {
		t.Errorf("snapshots %v", got)
	}
	u.expectModes("machine-1"+upgrade.SnapshotFolder, 0o700, 0o600)
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
		_, err := u.Run()
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
		u.In.ProbeLimit = time.Second
		if !u.killed(at) {
			if at < 12 {
				t.Errorf("only %d changes were interrupted", at-1)
			}
			return
		}
		before := slices.Clone(u.Did)
		if _, err := u.Run(); err != nil {
			t.Fatalf("killed after %v: %v\n%s", before, err, &u.Log)
		}
		u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4", "worker-2": "1.35.4"})
		if u.Cordoned["worker-1"] || u.Cordoned["worker-2"] || len(u.Now().Draining) > 0 {
			t.Errorf("killed after %v: cordoned %v, draining %v", before, u.Cordoned, u.Now().Draining)
		}
		if slices.ContainsFunc(u.Did, func(what string) bool {
			return strings.Contains(what, "worker-3") || strings.Contains(what, "reset") || strings.Contains(what, "clean")
		}) {
			t.Errorf("killed after %v: %v", before, u.Did)
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
	out, err := u.Run()
	if err != nil || out.Recap != "no node is left to be upgraded" {
		t.Fatalf("recap %q, %v\n%s", out.Recap, err, &u.Log)
	}
	u.expectDid()
	u.expectLevels("1.35.4", map[string]string{})
}

// Other variables alone are an upgrade too.
func TestUpgradeOfVariables(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.In.Request.KubernetesVersion, u.In.Request.Upgrade.Path = "1.34.3", []string{"1.34.3"}
	u.In.Request.Vars = vars(`{"kubelet_max_pods":200}`)
	u.Render()
	if out, err := u.Run(); err != nil || out.Recap != "worker-1 configured" {
		t.Fatalf("%+v, %v\n%s", out, err, &u.Log)
	}
	if strings.Contains(u.Log.String(), "upgraded") {
		t.Errorf("the log of a change of variables says that a node is upgraded:\n%s", &u.Log)
	}
	record := u.Now()
	for _, n := range record.Nodes {
		_, settings := record.Level(n)
		if want := n.Name == "worker-1"; (settings == u.In.Request.Settings()) != want {
			t.Errorf("node %s has the variables %s", n.Name, settings)
		}
	}
}

// A node that a user has cordoned stays cordoned.
func TestUpgradeOfACordonedNode(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-1", "worker-2")
	u.Cordoned["worker-1"] = true
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	if !u.Cordoned["worker-1"] || u.Cordoned["worker-2"] {
		t.Errorf("cordoned %v", u.Cordoned)
	}
	if !slices.Contains(u.Did, "drain worker-1") {
		t.Errorf("changes %v", u.Did)
	}
}

// Lost nodes are not waited for, and nothing connects to them.
func TestUpgradeWhileANodeIsLost(t *testing.T) {
	u := newUpgrading(t, false, 1, 2, "worker-1")
	u.In.Request.Lost, u.In.Request.Kept = []string{"worker-2"}, []string{"worker-2"}
	u.Nodes["worker-2"], u.In.HealthLimit = false, 5*time.Second
	u.Planes.Servers[2].Stop()
	if _, err := u.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &u.Log)
	}
	u.expectLevels("1.34.3", map[string]string{"worker-1": "1.35.4"})
}
