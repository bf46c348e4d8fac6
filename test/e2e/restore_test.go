//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/test/site"
)

// TestRestore backs up a cluster, destroys its control plane, and restores it on another machine, while a
// workload on its worker answers requests. Then it restores the same backup again, on the control plane
// that works.
func TestRestore(t *testing.T) {
	r := newRestoreStory(t, "e2e-restore", "edge-40", 1, 3)
	checkBackups(t, r.s, r.p)
	old := kubeconfigOf(t, r.s, r.p)
	load := startWorkload(t, r.s, r.p)
	r.write(old, "kept")
	pods := r.pods(old)
	r.backup()
	r.write(old, "later")
	checkRotation(t, r.s, r.p) // the backup has the rights of the user that is revoked here
	if out, err := r.as(r.s.Admin()).try("restore", r.p.Name, "--from=before", "--yes"); err == nil || !strings.Contains(out, "--force") {
		t.Errorf("a restore of a cluster that works is accepted: %v\n%s", err, out)
	}

	r.lose("master-1")
	r.awaitLost()
	r.restore("on another machine", old)
	if now := r.pods(r.kubeconfig()); now != pods {
		t.Errorf("pods of the workload and their restarts before the restore:\n%s\nafter it:\n%s", pods, now)
	}
	load.stop()

	host := hostOf(r.p, "master-1")
	r.write(r.kubeconfig(), "later")
	r.restore("on the control plane that works", old, "--force")
	if now := hostOf(r.p, "master-1"); now != host {
		t.Errorf("the control plane was on %s and is on %s", host, now)
	}
}

// TestRestoreOfThree restores a cluster that has lost two of its three control planes. The third one, whose
// etcd has no majority, is reset and installed again on its machine.
func TestRestoreOfThree(t *testing.T) {
	r := newRestoreStory(t, "e2e-restore-3", "edge-41", 3, 6)
	old := kubeconfigOf(t, r.s, r.p)
	r.write(old, "kept")
	r.backup()
	r.write(old, "later")
	checkRotation(t, r.s, r.p)
	host := hostOf(r.p, "master-3")
	r.lose("master-1")
	r.lose("master-2")
	r.awaitLost()
	r.restore("on two other machines and one that is left", old)
	if now := hostOf(r.p, "master-3"); now != host {
		t.Errorf("master-3 was on %s and is on %s", host, now)
	}
}

// restoreStory is a cluster that is restored. nodes are the names of its nodes.
type restoreStory struct {
	*life
	nodes []string
}

// newRestoreStory installs a cluster with some control planes and a worker.
func newRestoreStory(t *testing.T, namespace, name string, planes, hosts int) *restoreStory {
	s := site.NewTenant(t, namespace, hosts, 0)
	s.Apply(s.Provisioning(name, masters(planes), pool(1)))
	r := &restoreStory{life: &life{t: t, s: s, limit: 25 * time.Minute}}
	for i := range planes {
		r.nodes = append(r.nodes, fmt.Sprintf("master-%d", i+1))
	}
	r.nodes = append(r.nodes, "pool-1")
	r.await("installed", r.nodes...)
	return r
}

// backup makes the Backup "before".
func (r *restoreStory) backup() {
	r.t.Helper()
	r.bpa("backup", r.p.Name, "--name=before", "--wait", "--timeout="+backupLimit.String())
}

// awaitLost waits until the condition says that etcd has lost its majority, and names the restore.
func (r *restoreStory) awaitLost() {
	r.t.Helper()
	want := "kubectl bpa restore -n " + r.s.Namespace + " " + r.p.Name + " --from before"
	site.Await(r.s, &v1alpha1.ProvisioningList{}, "the condition to say "+want, 2*time.Minute, func(p *v1alpha1.Provisioning) bool {
		return site.NotReady("HostsLost")(p) && strings.Contains(p.Status.GetCondition("Ready").GetMessage(), want)
	})
}

// restore restores the Backup "before", and checks that the cluster has its content, the object "kept" and not the object "later", that
// it refuses a revoked kubeconfig, and that it has another one.
func (r *restoreStory) restore(what, revoked string, options ...string) {
	r.t.Helper()
	begin := time.Now()
	r.bpa(append([]string{"restore", r.p.Name, "--from=before", "--yes", "--wait", "--timeout=" + r.limit.String()}, options...)...)
	r.t.Logf("restored %s in %s", what, time.Since(begin).Round(time.Second))
	r.await("restored "+what, r.nodes...)
	if st := r.p.Status.Restore; st == nil || st.State != v1alpha1.RestoreComplete || st.Backup != "before" {
		r.t.Errorf("status.restore is %+v", st)
	}
	config := r.kubeconfig()
	if out, err := site.Kubectl(config, "", "get", "configmap", "kept", "--output", "jsonpath={.data.text}"); err != nil || out != "kept" {
		r.t.Errorf("the object of the backup: %v\n%s", err, out)
	}
	if out, err := site.Kubectl(config, "", "get", "configmap", "later"); err == nil || !strings.Contains(out, "NotFound") {
		r.t.Errorf("the object that was created after the backup: %v\n%s", err, out)
	}
	if out, err := site.Kubectl(revoked, "", "get", "secrets", "-A", "--server", r.p.Status.APIEndpoint); err == nil || !strings.Contains(out, "Forbidden") {
		r.t.Errorf("the cluster does not refuse the revoked kubeconfig: %v\n%s", err, out)
	}
	// a write that the controller manager and the scheduler must complete
	if out, err := site.Kubectl(config, "", "rollout", "restart", "deployment/coredns", "--namespace", "kube-system"); err != nil {
		r.t.Errorf("%v\n%s", err, out)
	}
	if out, err := site.Kubectl(config, "", "rollout", "status", "deployment/coredns", "--namespace", "kube-system", "--timeout=120s"); err != nil {
		r.t.Errorf("pods are not replaced: %v\n%s", err, out)
	}
}

// kubeconfig returns a file with the kubeconfig of the Secret as it is now.
func (r *restoreStory) kubeconfig() string {
	r.t.Helper()
	now := &v1alpha1.Provisioning{}
	if err := r.s.Get(context.Background(), client.ObjectKeyFromObject(r.p), now); err != nil {
		r.t.Fatal(err)
	}
	return kubeconfigOf(r.t, r.s, now)
}

// write creates an object in the cluster.
func (r *restoreStory) write(kubeconfig, name string) {
	r.t.Helper()
	if out, err := site.Kubectl(kubeconfig, "", "create", "configmap", name, "--from-literal=text="+name); err != nil {
		r.t.Fatalf("create configmap %s: %v\n%s", name, err, out)
	}
}

// pods returns the pods of the workload, when they were started and how often they were restarted.
// Pods that are being deleted, such as those before the rollout of startWorkload, do not count.
func (r *restoreStory) pods(kubeconfig string) string {
	r.t.Helper()
	out, err := site.Kubectl(kubeconfig, "", "get", "pods", "--selector=app=web", "--sort-by=.metadata.name", "--output",
		`go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{.spec.nodeName}}{{range .status.containerStatuses}} {{.restartCount}} {{.state}}{{end}}{{"\n"}}{{end}}{{end}}`)
	if err != nil {
		r.t.Fatalf("list the pods: %v\n%s", err, out)
	}
	return out
}

// as returns the story as another user of the site plays it.
func (r *restoreStory) as(s *site.Site) *restoreStory {
	other := *r.life
	other.s = s
	return &restoreStory{life: &other, nodes: r.nodes}
}

// bpa runs a command of kubectl bpa.
func (r *restoreStory) bpa(args ...string) {
	r.t.Helper()
	if out, err := r.try(args...); err != nil {
		r.t.Fatalf("kubectl bpa %s: %v\n%s", args[0], err, out)
	}
}

func (r *restoreStory) try(args ...string) (string, error) {
	r.t.Helper()
	out, err := bpaWithin(r.t, r.s, r.limit+time.Minute, args...)
	r.t.Logf("kubectl bpa %s:\n%s", strings.Join(args, " "), out)
	return out, err
}
