//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

// TestAdopt loses all objects of a cluster but a Backup and the hosts, and adopts the cluster. Without its manifest it is
// refused, because the hosts are in another namespace. BPA then collects a kubeconfig, adds a worker, and
// restores the Backup of before.
func TestAdopt(t *testing.T) {
	r := newRestoreStory(t, "e2e-adopt", "edge-42", 1, 3)
	file := writeManifest(t, r.p)
	first, old := r.p.UID, kubeconfigOf(t, r.s, r.p)
	nodes := hostsByNode(r.p)
	r.write(old, "kept")
	r.backup()
	pods := systemPods(t, old)

	r.loseObjects()
	out, err := r.as(r.s.Admin()).try("adopt", r.p.Name, "--yes")
	if err == nil || !strings.Contains(out, "give a file with spec.hostNamespace with -f") {
		t.Fatalf("without the manifest: %v\n%s", err, out)
	}
	out, err = r.as(r.s.Admin()).try("adopt", r.p.Name, "-f", file, "--dry-run=server")
	if err != nil || !strings.Contains(out, "nothing was changed") || strings.Count(out, " agrees ") != 2 || strings.Count(out, " free ") != 1 {
		t.Fatalf("a dry run: %v\n%s", err, out)
	}
	if held := r.s.Holders(); len(held) > 0 {
		t.Fatalf("a dry run has claimed %v", held)
	}
	r.as(r.s.Admin()).bpa("adopt", r.p.Name, "-f", file, "--yes", "--wait", "--timeout="+r.limit.String())
	r.adopted(string(first), nodes)
	if now := systemPods(t, r.kubeconfig()); now != pods {
		t.Errorf("pods of the system before the loss:\n%s\nafter the adoption:\n%s", pods, now)
	}

	r.edit(pool(2))
	r.nodes = append(r.nodes, "pool-2")
	r.await("one worker more", r.nodes...)
	r.write(r.kubeconfig(), "later")
	checkRotation(t, r.s, r.p) // the Backup has the rights of the first user, which restore expects to be revoked
	r.restore("from the Backup of before the adoption", old, "--force")
}

// adopted checks that the cluster is Ready with its identity and its nodes on their hosts, and that no run but that for the kubeconfig has started.
func (r *restoreStory) adopted(identity string, nodes map[string]string) {
	r.t.Helper()
	r.await("adopted", r.nodes...)
	if r.p.Status.ClusterUID != identity || string(r.p.UID) == identity {
		r.t.Errorf("the Provisioning %s has the identity %q, want %s", r.p.UID, r.p.Status.ClusterUID, identity)
	}
	for node, host := range nodes {
		if now := hostOf(r.p, node); now != host {
			r.t.Errorf("%s was on %s and is on %s", node, host, now)
		}
	}
	for _, run := range r.s.Runs() {
		if operation := run.Labels[contract.LabelOperation]; run.Labels[contract.LabelBackup] == "" && operation != contract.OperationCollect {
			r.t.Errorf("run %s: operation %s", run.Name, operation)
		}
	}
}

// loseObjects loses all objects of the cluster, as with the etcd of the bootstrap machine, but the Backup with its key, and
// the hosts, which have no claim and no mark then.
func (r *restoreStory) loseObjects() {
	r.t.Helper()
	ctx, admin := context.Background(), r.s.Admin()
	r.s.Change(r.p, func(p *v1alpha1.Provisioning) { p.Spec.DeletionPolicy = v1alpha1.DeletionRetain }) // the controller leaves the machines as they are
	if err := r.s.Delete(ctx, r.p); err != nil {
		r.t.Fatal(err)
	}
	site.AwaitGone(r.s, &v1alpha1.ProvisioningList{}, r.p, resetLimit)
	for _, name := range []string{contract.InstalledName(r.p.Name), contract.KnownHostsName(r.p.Name)} {
		gone := &corev1.ConfigMap{}
		gone.Namespace, gone.Name = r.s.Namespace, name
		if err := client.IgnoreNotFound(admin.Delete(ctx, gone)); err != nil {
			r.t.Fatal(err)
		}
	}
	for _, name := range []string{contract.NodesKeyName(r.p.Name), contract.KubeconfigName(r.p.Name), contract.HealthKubeconfigName(r.p.Name)} {
		gone := &corev1.Secret{}
		gone.Namespace, gone.Name = r.s.Namespace, name
		if err := client.IgnoreNotFound(admin.Delete(ctx, gone)); err != nil {
			r.t.Fatal(err)
		}
	}
	var all metal3.BareMetalHostList
	if err := admin.List(ctx, &all, client.InNamespace(r.s.Pool)); err != nil {
		r.t.Fatal(err)
	}
	for i := range all.Items {
		host := &all.Items[i]
		before := host.DeepCopy()
		delete(host.Annotations, contract.AnnotationUsedBy)
		if err := admin.Patch(ctx, host, client.MergeFrom(before)); err != nil {
			r.t.Fatal(err)
		}
	}
	if held := r.s.Holders(); len(held) > 0 {
		r.t.Fatalf("hosts are held after the loss: %v", held)
	}
	for _, run := range r.s.Runs() { // Kubernetes deletes those of the Provisioning at some time
		if run.Labels[contract.LabelBackup] == "" {
			site.AwaitGone(r.s, &tekton.PipelineRunList{}, &run, 2*time.Minute)
		}
	}
}

// writeManifest writes the Provisioning as its user has it.
func writeManifest(t *testing.T, p *v1alpha1.Provisioning) string {
	t.Helper()
	own := &v1alpha1.Provisioning{TypeMeta: p.TypeMeta, Spec: p.Spec}
	own.APIVersion, own.Kind = v1alpha1.SchemeGroupVersion.String(), "Provisioning"
	own.Name = p.Name
	text, err := yaml.Marshal(own)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), p.Name+".yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// hostsByNode returns the host of each node.
func hostsByNode(p *v1alpha1.Provisioning) map[string]string {
	hosts := map[string]string{}
	for _, n := range p.Status.Nodes {
		hosts[n.Name] = n.Host
	}
	return hosts
}

// systemPods returns the pods of kube-system with their restarts: an adoption restarts and drains nothing.
func systemPods(t *testing.T, kubeconfig string) string {
	t.Helper()
	out, err := site.Kubectl(kubeconfig, "", "get", "pods", "--namespace", "kube-system", "--sort-by=.metadata.name", "--output",
		`go-template={{range .items}}{{if not .metadata.deletionTimestamp}}{{.metadata.name}} {{.spec.nodeName}}{{range .status.containerStatuses}} {{.restartCount}}{{end}}{{"\n"}}{{end}}{{end}}`)
	if err != nil {
		t.Fatalf("list the pods: %v\n%s", err, out)
	}
	return out
}
