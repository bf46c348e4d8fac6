//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/lab/artifacts"
	"github.com/akraino-icn/bpa/test/site"
)

// newKubernetes is the version of Kubernetes to which the tests upgrade a cluster.
const newKubernetes = "1.35.4"

// mostLost is the share of the requests to the workload, one in 200 ms, that may be without an answer
// in the whole upgrade. Each of its two pods is evicted once or twice, and the other one serves alone
// until its replacement is ready. The client goes on to ask the node that is being upgraded.
const mostLost = 0.005

// upgradeStory is a cluster that is upgraded.
type upgradeStory struct {
	*life
	kubeconfig string
}

// TestUpgradeCluster upgrades a cluster over one minor version while a workload in it answers
// requests. One worker fails in the middle, is repaired, and the upgrade goes on.
func TestUpgradeCluster(t *testing.T) {
	const name, limit = "edge-31", 30 * time.Minute
	if vars := site.Vars(t); !strings.Contains(string(vars["kubelet_binary_checksum"]), artifacts.PreviousKubernetes) {
		t.Fatalf("the depot has no Kubernetes %s: run lab artifacts --kubernetes %[1]s, or make e2e-upgrade", artifacts.PreviousKubernetes)
	}
	s := site.NewTenant(t, "e2e-versions", 4, 0)
	s.Apply(s.Provisioning(name, masters(1), pool(3), func(p *v1alpha1.Provisioning) { p.Spec.Kubernetes.Version = artifacts.PreviousKubernetes }))
	u := &upgradeStory{life: &life{t: t, s: s, limit: limit}}
	u.await("Kubernetes "+artifacts.PreviousKubernetes, "master-1", "pool-1", "pool-2", "pool-3")
	u.kubeconfig = kubeconfigOf(t, s, u.p)
	u.expectVersions(map[string]string{"master-1": artifacts.PreviousKubernetes, "pool-1": artifacts.PreviousKubernetes, "pool-2": artifacts.PreviousKubernetes, "pool-3": artifacts.PreviousKubernetes})
	load := startWorkload(t, s, u.p)

	broken := hostOf(u.p, "pool-2")
	s.On(broken, holdKubelet)
	untouched := hostOf(u.p, "pool-3")
	before := prints(s, []string{untouched})
	s.Kubectl("patch", "provisioning", name, "--type=merge", "--patch", `{"spec":{"kubernetes":{"version":"`+newKubernetes+`"}}}`)

	begin := time.Now()
	stopped := site.Await(s, &v1alpha1.ProvisioningList{}, "the upgrade to stop at pool-2", limit, func(p *v1alpha1.Provisioning) bool {
		f := p.Status.Failure
		return p.Status.ObservedGeneration == p.Generation && p.Status.Upgrade != nil && p.Status.GetCondition("Ready").IsFalse() && f != nil && strings.Contains(f.Host+": "+f.Message, "pool-2")
	})
	t.Logf("stopped after %s: %+v\n%+v", time.Since(begin).Round(time.Second), *stopped.Status.Failure, *stopped.Status.Upgrade)
	u.expectVersions(map[string]string{"master-1": newKubernetes, "pool-1": newKubernetes, "pool-2": artifacts.PreviousKubernetes, "pool-3": artifacts.PreviousKubernetes})
	if diff := cmp.Diff(before, prints(s, []string{untouched})); diff != "" {
		t.Errorf("the next batch was changed (-before +after):\n%s", diff)
	}
	if up := stopped.Status.Upgrade; up.Done != 2 || up.Total != 4 || !strings.Contains(up.Message, "pool-2") {
		t.Errorf("status.upgrade is %+v, want 2 of 4 nodes and pool-2", up)
	}
	u.expectSnapshot()

	s.On(broken, releaseKubelet)
	u.retry(name)
	u.awaitThat("Kubernetes "+newKubernetes, func(p *v1alpha1.Provisioning) bool { return p.Status.Upgrade == nil })
	u.expectVersions(map[string]string{"master-1": newKubernetes, "pool-1": newKubernetes, "pool-2": newKubernetes, "pool-3": newKubernetes})
	load.stop()
	load.expectLost(mostLost)
}

// A file system that is mounted over a program keeps the program from being replaced, as a failing disk
// or a program that is in use does. The node works with its old version.
const (
	holdKubelet    = "mount --bind /usr/local/bin/kubelet /usr/local/bin/kubelet && mount -o remount,bind,ro /usr/local/bin/kubelet"
	releaseKubelet = "umount /usr/local/bin/kubelet"
)

// expectVersions checks the versions of the kubelets and of the API server, and that every node is
// Ready and accepts pods.
func (u *upgradeStory) expectVersions(want map[string]string) {
	u.t.Helper()
	out, err := site.Kubectl(u.kubeconfig, "", "get", "nodes", "--output",
		`jsonpath={range .items[*]}{.metadata.name} {.status.nodeInfo.kubeletVersion} {.status.conditions[?(@.type=="Ready")].status} {.spec.unschedulable}{"\n"}{end}`)
	got := map[string]string{}
	for line := range strings.Lines(out) {
		field := strings.Fields(line)
		if len(field) != 3 || field[2] != "True" {
			u.t.Errorf("a node is not Ready, or accepts no pods: %s", line)
		}
		if len(field) > 1 {
			got[field[0]] = strings.TrimPrefix(field[1], "v")
		}
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		u.t.Errorf("versions of the nodes: %v (-want +got):\n%s", err, diff)
	}
	if out, err := site.Kubectl(u.kubeconfig, "", "get", "--raw", "/version"); err != nil || !strings.Contains(out, `"v`+want["master-1"]+`"`) {
		u.t.Errorf("version of the API server: %v, want %s:\n%s", err, want["master-1"], out)
	}
}

// expectSnapshot checks that a snapshot of etcd was saved before the upgrade.
func (u *upgradeStory) expectSnapshot() {
	u.t.Helper()
	files := u.s.On(hostOf(u.p, "master-1"), "stat --format '%a %n' /var/backups/bpa /var/backups/bpa/*")
	if !strings.Contains(files, "700 /var/backups/bpa\n") || !strings.Contains(files, "600 /var/backups/bpa/etcd-"+artifacts.PreviousKubernetes+"-to-"+newKubernetes+"-") {
		u.t.Errorf("snapshots of etcd:\n%s", files)
	}
}

// retry runs kubectl bpa retry.
func (u *upgradeStory) retry(name string) {
	u.t.Helper()
	out, err := bpaWithin(u.t, u.s, time.Minute, "retry", name)
	if err != nil {
		u.t.Fatalf("kubectl bpa retry: %v\n%s", err, out)
	}
}
