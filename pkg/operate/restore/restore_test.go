package restore_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/restore"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray/kubespraytest"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// distinct returns the changes without those that repeat the one before, for each machine.
func (r *restoreFixture) distinct() []string {
	return slices.Compact(slices.DeleteFunc(slices.Clone(r.Did), func(what string) bool { return strings.HasPrefix(what, "mark ") }))
}

// expectRestored checks what is on the machines, in the cluster and in the record.
func (r *restoreFixture) expectRestored() {
	r.T.Helper()
	var cluster []string
	for _, n := range r.In.Nodes[:r.masters] {
		cluster = append(cluster, n.Name+"=https://"+n.Address+":2380")
	}
	bumps := map[int64]bool{}
	for i, n := range r.Machines {
		if !session.HasHost(r.In.Nodes[:r.masters], n) {
			continue
		}
		at := fmt.Sprintf("machine-%d", i+1)
		if got := r.Read(at + "/var/lib/etcd/member/db"); !strings.HasPrefix(got, "content of etcd") {
			r.T.Errorf("etcd of %s has %q", n.Name, got)
		}
		options := r.Read(at + "/var/lib/etcd/member/options")
		for _, want := range []string{"--name " + n.Name + " ", "--initial-cluster " + strings.Join(cluster, ",") + " ", "--initial-cluster-token bpa-",
			"--initial-advertise-peer-urls https://" + n.Address + ":2380 ", "--mark-compacted"} {
			if !strings.Contains(options, want) {
				r.T.Errorf("etcdutl of %s was called with %s, want %s", n.Name, options, want)
			}
		}
		var bump int64
		if _, number, _ := strings.Cut(options, "--bump-revision "); number != "" {
			_, _ = fmt.Sscan(number, &bump)
		}
		if bumps[bump] = true; len(bumps) > 1 || time.Since(time.UnixMicro(bump)) > time.Hour {
			r.T.Errorf("the members of etcd have the revisions %v, want the present time in all of them", bumps)
		}
		for name, want := range map[string]bool{"/etc/kubernetes/manifests/kube-apiserver.yaml": true, "/etc/kubernetes/manifests/etcd.yaml": r.Stacked, restore.ManifestsAside: false, "/var/lib/etcd/" + restore.WorkFolder: false} {
			if _, err := os.Stat(r.Dir + "/" + at + name); (err == nil) != want {
				r.T.Errorf("%s of %s exists: %t", name, n.Name, err == nil)
			}
		}
		if info, err := os.Stat(r.Dir + "/" + at + "/etc/kubernetes/pki/ca.key"); err != nil || info.Mode().Perm() != 0o600 {
			r.T.Errorf("ca.key of %s: %v, %v", n.Name, info, err)
		}
	}
	if r.Nodes["worker-9"] || !r.filled || strings.Contains(r.Read("cluster/cluster-info"), "10.60.0.1:") {
		r.T.Errorf("nodes %v, cluster-info %s", r.Nodes, r.Read("cluster/cluster-info"))
	}
	if _, there := r.Nodes["worker-9"]; there {
		r.T.Error("a node that has left the cluster is registered")
	}
	for _, key := range []string{contract.KeyRestored, contract.KeyProved} {
		if text := r.Installed.Data[key]; text != "" {
			r.T.Errorf("%s is still %q", key, text)
		}
	}
	record := r.Now()
	if diff := cmp.Diff(session.HostUIDs(r.In.Nodes), session.HostUIDs(record.Nodes)); diff != "" || record.Restoring != "" || record.Restored != "nightly" {
		r.T.Errorf("restoring %q, restored %q; nodes in the record (-want +got):\n%s", record.Restoring, record.Restored, diff)
	}
	if record.EtcdNext != 2*r.masters+1 || record.Nodes[0].Etcd != fmt.Sprintf("etcd%d", r.masters+1) {
		r.T.Errorf("the next member has the number %d, and the first is %s", record.EtcdNext, record.Nodes[0].Etcd)
	}
}

func TestRestore(t *testing.T) {
	for name, tc := range map[string]struct {
		stacked bool
		want    []string
	}{
		"etcd in a pod": {true, []string{
			"stop kubelet worker-1", "key master-1", "cluster.yml master-1", "prepare master-1", "receive master-1", "etcdutl master-1", "stop master-1", "swap master-1", "start etcd master-1",
			"revoke /registry/clusterrolebindings/bpa-admin-", "revoke /registry/clusterrolebindings/bpa-health-", "revoke /registry/rolebindings/kube-node-lease/bpa-health-",
			"start kube-apiserver master-1", "delete worker-9", "renew the pods master-1", "cluster-info master-1", "upload master-1",
			"stop kubelet worker-1", "proxies worker-1", "start kubelet worker-1", "start the rest master-1", "tidy master-1"}},
		"etcd on the machine": {false, []string{
			"stop kubelet worker-1", "key master-1", "cluster.yml master-1", "prepare master-1", "receive master-1", "etcdutl master-1", "stop master-1", "swap master-1", "start etcd master-1",
			"revoke /registry/clusterrolebindings/bpa-admin-", "revoke /registry/clusterrolebindings/bpa-health-", "revoke /registry/rolebindings/kube-node-lease/bpa-health-",
			"start kube-apiserver master-1", "delete worker-9", "renew the pods master-1", "cluster-info master-1", "upload master-1",
			"stop kubelet worker-1", "proxies worker-1", "start kubelet worker-1", "start the rest master-1", "tidy master-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRestore(t, tc.stacked, 1)
			if _, err := r.run(); err != nil {
				t.Fatalf("%v\n%s", err, &r.Log)
			}
			if diff := cmp.Diff(tc.want, r.distinct()); diff != "" {
				t.Errorf("changes (-want +got):\n%s\n%s", diff, &r.Log)
			}
			r.expectRestored()
			if n := r.Now().Nodes[0]; n.Settings != "" || n.Version != "" {
				t.Errorf("the record has %+v, want the version and the variables of the request", n)
			}
			if strings.Contains(r.Log.String(), keyOfBackup) {
				t.Error("a key is in the log")
			}
			// a later task of the run has failed: the next attempt restores nothing again
			r.Did, r.opened = nil, 0
			if _, err := r.run(); err != nil || len(r.Did) > 0 || r.opened > 0 {
				t.Errorf("the second attempt: %v, did %v, read the copy %d times", err, r.Did, r.opened)
			}
		})
	}
}

// TestRestoreForgetsTheNetworkOfThePlaybook: the playbook has installed another cluster, in which the nodes had other
// ranges of addresses.
func TestRestoreForgetsTheNetworkOfThePlaybook(t *testing.T) {
	r := newRestore(t, true, 1)
	const folder = "machine-3/etc/cni/net.d/"
	r.Write(folder+"10-lab.conflist", `{"ipam": {"ranges": [[{ "subnet": "10.233.64.0/24" }]]}}`)
	r.Write(folder+"10-six.conflist", `{"ipam":{"subnet":"fd00:1::/64"}}`)
	r.Write(folder+"10-kuberouter.conflist", `{"ipam":{"subnet":"10.233.64.0/24"}}`)
	r.Write(folder+"10-calico.conflist", `{"ipam":{"type":"calico-ipam"},"subnet":"usePodCidr"}`)
	r.Write("machine-3/run/flannel/subnet.env", "FLANNEL_SUBNET=10.233.64.1/24\n")
	if _, err := r.run(); err != nil {
		t.Fatalf("%v\n%s", err, &r.Log)
	}
	for name, stays := range map[string]bool{
		folder + "10-lab.conflist": false, folder + "10-six.conflist": false, folder + "10-kuberouter.conflist": true, folder + "10-calico.conflist": true,
		"machine-3/run/flannel/subnet.env": false,
	} {
		if _, err := os.Stat(filepath.Join(r.Dir, name)); (err == nil) != stays {
			t.Errorf("%s: %v, want it to stay: %t", name, err, stays)
		}
	}
	did := r.Read("machine-3/network.log")
	if !strings.Contains(did, "ip link delete cni0\n") || !strings.Contains(did, "crictl rmp --force b\n") || strings.Contains(did, "rmp --force a") {
		t.Errorf("did %s", did)
	}
}

// TestRestoreRenewsPodsOfAnotherRange: the backup is older than a worker's machine, whose pods then have addresses of a range
// that the node does not have any more.
func TestRestoreRenewsPodsOfAnotherRange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bridges, ranges    string
		notInBackup, renew bool
	}{
		"the range of before":             {bridges: "4: cni0    inet 10.233.66.1/24 brd 10.233.66.255 scope global cni0\n", ranges: "10.233.65.0/24", renew: true},
		"its own range":                   {bridges: "4: cni0    inet 10.233.65.1/24 brd 10.233.65.255 scope global cni0\n", ranges: "10.233.65.0/24"},
		"a node that the backup lacks":    {bridges: "4: cni0    inet 10.233.66.1/24 brd 10.233.66.255 scope global cni0\n", ranges: "10.233.65.0/24", notInBackup: true, renew: true},
		"an address of the link":          {bridges: "4: cni0    inet6 fe80::1/64 scope link\n", ranges: "fd00:2::/64"},
		"another range of IPv6":           {bridges: "4: cni0    inet6 fd00:1::1/64 scope global\n", ranges: "fd00:2::/64", renew: true},
		"no bridge":                       {ranges: "10.233.65.0/24"},
		"a network plugin without ranges": {bridges: "4: cni0    inet 10.233.66.1/24 scope global cni0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRestore(t, true, 1)
			r.ranges = map[string]string{"worker-1": c.ranges}
			if c.notInBackup {
				r.notInBackup, r.ranges["master-1"] = "worker-1", "10.233.64.0/24"
			}
			r.Write("machine-2/bridges", c.bridges)
			if _, err := r.run(); err != nil {
				t.Fatalf("%v\n%s", err, &r.Log)
			}
			if got := slices.Contains(r.Did, "renew the pods worker-1"); got != c.renew {
				t.Errorf("its pods were renewed: %t, want %t: %v", got, c.renew, r.Did)
			}
			r.expectRestored()
		})
	}
}

// A node that an operation had cordoned when the backup was made is cordoned in it. The restore uncordons it.
func TestRestoreOfABackupWithACordonedNode(t *testing.T) {
	r := newRestore(t, true, 1)
	now := r.Installed.Data[contract.KeyInstalled]
	record := r.Now()
	record.Draining = []string{"worker-1", "worker-9"}
	r.Installed.Data[contract.KeyInstalled] = string(kubespraytest.JSON(t, record))
	r.seal(func(*backup.Manifest) {})
	r.Installed.Data[contract.KeyInstalled], r.Cordoned = now, map[string]bool{"worker-1": true}
	if _, err := r.run(); err != nil {
		t.Fatalf("%v\n%s", err, &r.Log)
	}
	if r.Cordoned["worker-1"] || !slices.Contains(r.Did, "uncordon worker-1") || len(r.Now().Draining) > 0 {
		t.Errorf("cordoned %v, draining %v after %v", r.Cordoned, r.Now().Draining, r.Did)
	}
	r.expectRestored()
}

// All members get the same cluster, and none starts before all have the new data.
func TestRestoreOfThreeControlPlanes(t *testing.T) {
	for _, stacked := range []bool{true, false} {
		r := newRestore(t, stacked, 3)
		if _, err := r.run(); err != nil {
			t.Fatalf("%v\n%s", err, &r.Log)
		}
		r.expectRestored()
		order := []string{"key", "cluster.yml", "prepare", "stop master", "swap", "start etcd", "revoke", "start kube-apiserver", "proxies", "start the rest"}
		for i, what := range order[1:] {
			first := slices.IndexFunc(r.Did, func(did string) bool { return strings.HasPrefix(did, what) })
			last := len(r.Did) - 1
			for last >= 0 && !strings.HasPrefix(r.Did[last], order[i]) {
				last--
			}
			if first < last || last < 0 {
				t.Errorf("%q begins before %q has ended: %v", what, order[i], r.Did)
			}
		}
		if r.opened != 4 {
			t.Errorf("the copy was read %d times, want once before all changes and once for each member", r.opened)
		}
	}
}

// TestRestoreOfThreeWithFlannel: the playbook runs on the control planes only, and kubespray copies the etcd client certificate of the
// worker from the first one, which has none, to the others.
func TestRestoreOfThreeWithFlannel(t *testing.T) {
	r := newRestore(t, false, 3)
	r.In.Request.NetworkPlugin = "flannel"
	var filled []string
	r.Scripts = func(i int, command string, stdout, stderr io.Writer) (int, bool) {
		if strings.Contains(command, "/etc/ssl/etcd/ssl && for f in node-worker-1.pem node-worker-1-key.pem; do") {
			filled = append(filled, fmt.Sprintf("%s after %d playbooks", r.Machines[i].Name, len(r.Ran)))
			return 0, true
		}
		return r.script(i, command, stdout, stderr)
	}
	if _, err := r.run(); err != nil {
		t.Fatalf("%v\n%s", err, &r.Log)
	}
	if want := []string{"master-1 after 0 playbooks"}; !slices.Equal(filled, want) {
		t.Errorf("filled %v, want %v", filled, want)
	}
}

// The task can be killed before each of its changes. The next attempt ends in the same state.
func TestRestoreThatIsKilled(t *testing.T) {
	t.Parallel()
	for name, stacked := range map[string]bool{"etcd on the machines": false, "etcd in pods": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at += map[bool]int{true: 1, false: 5}[stacked] {
				r := newRestore(t, stacked, 1)
				r.KillAt = at
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				r.Kill = cancel
				_, err := kubespray.Run(ctx, r.In, r.ports())
				cancel()
				if err == nil {
					if at < 25 {
						t.Errorf("only %d changes were interrupted", at-1)
					}
					return
				}
				before, done := fmt.Sprintf("before change %d, after %v", at, r.Did), r.Installed.Data[contract.KeyRestored] != "" || r.Now().Restored == "nightly"
				r.KillAt, r.Did = 0, nil
				r.In.Run = "edge-1-restore-5"
				if _, err := r.run(); err != nil {
					t.Errorf("killed %s: %v\n%s", before, err, &r.Log)
				}
				if again := slices.Contains(r.Did, "cluster.yml master-1"); again == done {
					t.Errorf("killed %s: the restore begins again: %t, want %t", before, again, !done)
				}
				if _, err := os.Stat(r.Dir + "/machine-3/var/lib/etcd/" + restore.WorkFolder); err == nil && r.Now().Restored == "nightly" && !slices.Contains(r.Did, "tidy master-1") {
					_ = os.RemoveAll(r.Dir + "/machine-3/var/lib/etcd/" + restore.WorkFolder) // the task was killed after the record was complete
				}
				r.expectRestored()
				if t.Failed() {
					t.Fatalf("killed %s: then %v\n%s", before, r.Did, &r.Log)
				}
			}
		})
	}
}

// What is wrong is found before a machine or the record is changed.
func TestRestoreThatIsRefused(t *testing.T) {
	other, _, err := backup.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(r *restoreFixture)
		reason contract.Reason
		says   string
	}{
		"the key of another cluster": {func(r *restoreFixture) { r.In.BackupKey = []byte(other) }, contract.ReasonInvalidRequest, "encrypted for another key"},
		"a changed copy":             {func(r *restoreFixture) { r.sealed[len(r.sealed)-1] ^= 1 }, contract.ReasonInvalidRequest, "the copy in the depot has been changed"},
		"another digest":             {func(r *restoreFixture) { r.In.Request.Restore.SHA256 = strings.Repeat("0", 64) }, contract.ReasonInvalidRequest, "has been changed"},
		"half a copy":                {func(r *restoreFixture) { r.sealed = r.sealed[:len(r.sealed)/2] }, contract.ReasonInvalidRequest, "has been changed"},
		"another version":            {func(r *restoreFixture) { r.seal(func(m *backup.Manifest) { m.KubernetesVersion = "1.34.3" }) }, contract.ReasonInvalidRequest, "Kubernetes 1.34.3, but control plane master-1 gets 1.35.4"},
		"another Provisioning":       {func(r *restoreFixture) { r.seal(func(m *backup.Manifest) { m.UID = "uid-of-another" }) }, contract.ReasonInvalidRequest, "it is of another cluster"},
		"another folder":             {func(r *restoreFixture) { r.seal(func(m *backup.Manifest) { m.PKIFolder = "/root" }) }, contract.ReasonInvalidRequest, "unknown folders /root"},
		"no keys of etcd":            {func(r *restoreFixture) { r.seal(func(m *backup.Manifest) { m.EtcdPKIFolder = "/etc/ssl/etcd/ssl" }) }, contract.ReasonInvalidRequest, "it lacks the key file etcd-pki/"},
		"a machine of another owner": {func(r *restoreFixture) { r.Disks[2].With("uid-of-another") }, contract.ReasonHostOccupied, "uid-of-another"},
		"a machine that is off":      {func(r *restoreFixture) { r.Servers[2].Stop() }, contract.ReasonHostUnreachable, "host-3"},
		"members that are not known": {func(r *restoreFixture) { r.In.Request.Members = nil }, contract.ReasonInvalidRequest, "which nodes the cluster has"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRestore(t, true, 1)
			tc.change(r)
			_, err := r.run()
			if f := task.FailureOf(err); err == nil || f.Reason != tc.reason || !strings.Contains(f.Message, tc.says) {
				t.Errorf("failure %+v\n%s", f, &r.Log)
			}
			if len(r.Did) > 0 || r.Now().Restoring != "" {
				t.Errorf("it did %v, and the record says that it restores %q", r.Did, r.Now().Restoring)
			}
		})
	}
}

// livingRestore is a cluster whose only control plane works on its old machine.
func livingRestore(t *testing.T) *restoreFixture {
	r := newRestore(t, true, 1)
	p := kubespraytest.NewPlanes(t, true, 1, 1, 1)
	r.Planes, r.filled = p, false
	r.In.Request.Operation, r.In.Playbook, r.In.Run = contract.OperationRestore, contract.PlaybookInstall, "edge-1-restore-4"
	r.stored = []string{"master-1", "worker-1"}
	r.prepareMachines()
	r.seal(func(*backup.Manifest) {})
	r.Render()
	return r
}

// A cluster that works is restored only if the user accepts the loss of its content.
func TestRestoreOfALivingCluster(t *testing.T) {
	r := livingRestore(t)
	r.Installed.Data[contract.KeyProved] = "nightly" // by an earlier run, when etcd did not work
	_, err := r.run()
	if f := task.FailureOf(err); err == nil || f.Reason != contract.ReasonInvalidRequest || !strings.Contains(f.Message, "kubectl bpa restore edge-1 -n site --from nightly --force") {
		t.Errorf("failure %+v\n%s", f, &r.Log)
	}
	if len(r.Did) > 0 || r.Now().Restoring != "" || r.Installed.Data[contract.KeyProved] != "" {
		t.Errorf("it did %v, proved %q", r.Did, r.Installed.Data[contract.KeyProved])
	}
	r.In.Request.Restore.Force = true
	if _, err := r.run(); err != nil {
		t.Fatalf("%v\n%s", err, &r.Log)
	}
	want := []string{"stop kubelet worker-1", "save host-1", "reset.yml master-1", "clean host-1", "key master-1", "cluster.yml master-1"}
	if got := r.distinct(); !slices.Equal(got[:len(want)], want) {
		t.Errorf("changes %v, want first %v", got, want)
	}
	if n := r.Now().Nodes[0]; n.Etcd != "etcd2" || r.Now().Restored != "nightly" {
		t.Errorf("record: %+v", r.Now())
	}
}

// An old control plane that answers is reset, although it gets no new control plane.
func TestRestoreResetsOldControlPlanes(t *testing.T) {
	r := newRestore(t, true, 3, 2)
	_, err := r.run()
	if err != nil {
		t.Fatalf("%v\n%s", err, &r.Log)
	}
	if i, k := slices.Index(r.Did, "clean host-3"), slices.Index(r.Did, "key master-1"); i < 0 || k < i {
		t.Errorf("the old control plane is not reset before the keys are written: %v", r.Did)
	}
}
