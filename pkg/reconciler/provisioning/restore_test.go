package provisioning

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/pkg/controller"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
)

// backupKey returns the Secret with a key pair for backups, and its public key.
func backupKey(t *testing.T) (*corev1.Secret, string) {
	t.Helper()
	identity, recipient, err := backup.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: contract.BackupKeyName(name)},
		Data: map[string][]byte{backup.KeyIdentity: []byte(identity + "\n"), backup.KeyRecipient: []byte(recipient + "\n")}}, recipient
}

func stored(name, recipient string) *v1alpha1.Backup {
	b := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: name}, Spec: v1alpha1.BackupSpec{Provisioning: "edge-1"}}
	b.Status = v1alpha1.BackupStatus{Artifact: "binary_images/site/edge-1/backup-" + name + "-1234.tar.age", SHA256: "abc", Recipient: recipient,
		KubernetesVersion: "1.34.3", StartTime: &metav1.Time{Time: now}, ClusterUID: "uid-1"}
	b.Status.MarkSucceeded(corev1.ConditionTrue, "Stored", "")
	return b
}

// ruined returns a cluster whose only control plane is lost. host-4 and host-5 are free. asked is the
// annotation; empty: there is none.
func ruined(t *testing.T, asked string, others ...runtime.Object) *fixture {
	t.Helper()
	hosts, nodes := fleet()
	hosts.all = hosts.all[1:]
	hosts.all[2].Holder, hosts.all[2].Node, hosts.all[2].Set, hosts.all[2].Standby = nil, "", "", false
	p := edge(func(p *v1alpha1.Provisioning) {
		p.Spec.Kubernetes.Version = "1.34.3"
		p.Spec.Workers = []map[string]v1alpha1.Worker{{"worker-1": {}}, {"worker-2": {}}}
		if asked != "" {
			p.Annotations = map[string]string{contract.AnnotationRestore: asked}
		}
	})
	for i, node := range []string{"master-1", "worker-1", "worker-2"} {
		if nodes[i].Name, nodes[i].Set = node, ""; i > 0 {
			hosts.all[i-1].Node, hosts.all[i-1].Set = node, ""
		}
	}
	w := newFixture(t, hosts, append(others, sshKey()), nil)
	w.settings.Depot.URL = "https://depot.test"
	request, err := from.Provisioning(p, w.settings.Depot)
	if err != nil {
		t.Fatal(err)
	}
	record, err := json.Marshal(contract.Installed{Request: request.Spec, Nodes: nodes[:3], EtcdNext: 2})
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(nodes[:3])
	if err != nil {
		t.Fatal(err)
	}
	pr := run(p, 1, ended(corev1.ConditionTrue, "Succeeded"))
	for _, o := range []runtime.Object{p, pr, requestOf(t, pr, p, w.settings.Depot),
		written(contract.InstalledName(p.Name), contract.KeyClaimed, string(list), contract.KeyInstalled, string(record))} {
		w.add(t, o, true)
	}
	return w
}

// visitOnce reconciles, and updates the caches.
func (w *fixture) visitOnce(t *testing.T) {
	t.Helper()
	if err := w.visit(t, at); err != nil {
		if again, _ := controller.IsRequeueKey(err); !again {
			t.Fatal(err)
		}
	}
	w.sync(t)
}

// TestRestore: the run gets the Backup, a host for the lost control plane, and the private key. No other
// run has the key.
func TestRestore(t *testing.T) {
	key, recipient := backupKey(t)
	w := ruined(t, "b-1 today", key, stored("b-1", recipient))
	w.settle(t)
	pr := w.runNamed(t, "edge-1-restore-2")
	if pr == nil {
		t.Fatalf("no run; Ready: %+v", w.stored(t).Status.GetCondition(v1alpha1.ConditionReady))
	}
	got := w.request(t)
	want := &contract.Restore{Asked: "b-1 today", Backup: "b-1", Artifact: "backup-b-1-1234.tar.age", SHA256: "abc", Fenced: true} // there is nothing to power off
	if diff := cmp.Diff(want, got.Restore); diff != "" || got.Operation != contract.OperationRestore || !slices.Equal(got.Gone(), []string{"master-1"}) {
		t.Errorf("request %+v; restore (-want +got):\n%s", got, diff)
	}
	bound := slices.ContainsFunc(pr.Spec.Workspaces, func(b tekton.WorkspaceBinding) bool {
		return b.Name == contract.WorkspaceBackupKey && b.Secret.SecretName == key.Name
	})
	if !bound || pr.Annotations[contract.AnnotationRestore] != "b-1 today" {
		t.Errorf("workspaces %+v, annotations %v", pr.Spec.Workspaces, pr.Annotations)
	}
	if r := w.stored(t).Status.Restore; r == nil || r.State != v1alpha1.RestoreRunning || r.Backup != "b-1" || !r.BackupTime.Time.Equal(now) {
		t.Errorf("status.restore is %+v", r)
	}
	for _, call := range w.calls() {
		if strings.HasPrefix(call, "update secrets "+key.Name) || strings.HasPrefix(call, "patch secrets "+key.Name) {
			t.Errorf("the key was changed: %s", call)
		}
	}
}

// TestRestoreRefused: without its key a Backup is not restored. The condition names the Secret, and what to
// do. Nothing of the key is in it. When the Secret is corrected, the restore starts.
func TestRestoreRefused(t *testing.T) {
	key, recipient := backupKey(t)
	other, _ := backupKey(t)
	public := key.DeepCopy()
	delete(public.Data, backup.KeyIdentity)
	broken := key.DeepCopy()
	broken.Data[backup.KeyIdentity] = []byte("AGE-SECRET-KEY-nonsense")
	for name, tc := range map[string]struct {
		secret *corev1.Secret
		says   string
	}{
		"no Secret":      {nil, "it does not exist"},
		"no private key": {public, "it has no key identity"},
		"another key":    {other, "its private key is not the one for " + recipient},
		"broken":         {broken, "is not a private key of age"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{stored("b-1", recipient)}
			if tc.secret != nil {
				objects = append(objects, tc.secret.DeepCopy())
			}
			w := ruined(t, "b-1", objects...)
			w.visitOnce(t)
			p := w.stored(t)
			c := p.Status.GetCondition(v1alpha1.ConditionClusterInstalled)
			if !c.IsFalse() || c.Reason != plan.ReasonRestoreRefused || !strings.Contains(c.Message, tc.says) || !strings.Contains(c.Message, "kubectl create secret generic") || strings.Contains(c.Message, "nonsense") {
				t.Errorf("ClusterInstalled: %+v", c)
			}
			if w.runNamed(t, "edge-1-restore-2") != nil || p.Status.Restore == nil || p.Status.Restore.State != v1alpha1.RestoreRefused {
				t.Errorf("status.restore is %+v", p.Status.Restore)
			}
			secrets := w.kube.CoreV1().Secrets(site)
			if tc.secret != nil {
				if err := secrets.Delete(t.Context(), key.Name, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := secrets.Create(t.Context(), key, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			w.visitOnce(t)
			if w.runNamed(t, "edge-1-restore-2") == nil {
				t.Errorf("with the key, the restore does not start: %+v", w.stored(t).Status.GetCondition(v1alpha1.ConditionReady))
			}
		})
	}
}

// TestAdviceToRestore: without a majority of etcd, the status names the newest Backup. Nothing is asked of
// the API server for that.
func TestAdviceToRestore(t *testing.T) {
	older := stored("b-1", "age1")
	older.Status.StartTime = &metav1.Time{Time: now.Add(-1e12)}
	w := ruined(t, "", older, stored("b-2", "age1"))
	w.settle(t) // it fails if a steady state causes calls
	c := w.stored(t).Status.GetCondition(v1alpha1.ConditionHostsClaimed)
	if !c.IsFalse() || c.Reason != plan.ReasonHostsLost || !strings.Contains(c.Message, "kubectl bpa restore -n site edge-1 --from b-2`") {
		t.Errorf("HostsClaimed: %+v", c)
	}
}

// restoreRequest returns what the request of the newest run says of the restore.
func (w *fixture) restoreRequest(t *testing.T) contract.Restore {
	t.Helper()
	got := w.request(t)
	if got.Restore == nil {
		t.Fatalf("request %+v", got)
	}
	return *got.Restore
}

// TestRestoreFencesAfterTheProof: a lost control plane, which may run, is powered off when the first run has
// proved that the restore can begin. The request of the next run says so.
func TestRestoreFencesAfterTheProof(t *testing.T) {
	key, recipient := backupKey(t)
	for proved, fences := range map[string]bool{"": false, "b-1 yesterday": false, "b-1 today": true} {
		w := ruined(t, "b-1 today", key, stored("b-1", recipient))
		all, _ := fleet()
		lost := all.all[0]
		lost.Lost, lost.Unusable, lost.Trouble, lost.PowerManaged = true, "in quarantine", "in quarantine", true
		w.hosts.all = append([]hosts.Host{lost}, w.hosts.all...)
		w.settle(t)
		pr := w.runNamed(t, "edge-1-restore-2")
		if pr == nil || w.restoreRequest(t).Fenced || len(w.hosts.fenced) > 0 {
			t.Fatalf("run %+v, fenced %v", pr, w.hosts.fenced)
		}
		ended(corev1.ConditionFalse, "Failed")(pr)
		pr.Status.CompletionTime = &metav1.Time{Time: now.Add(-time.Minute)}
		w.add(t, child(pr, contract.TaskKubespray, corev1.ConditionFalse, map[string]string{contract.ResultFailure: `{"reason":"HostsNotFenced"}`}), true)
		if _, err := w.tekton.TektonV1().PipelineRuns(site).Update(t.Context(), pr, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		cm, err := w.kube.CoreV1().ConfigMaps(site).Get(t.Context(), contract.InstalledName(name), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		cm.Data[contract.KeyProved] = proved
		if _, err := w.kube.CoreV1().ConfigMaps(site).Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.sync(t)
		w.visitOnce(t)
		if got := slices.Equal(w.hosts.fenced, []string{"host-1"}); got != fences || (w.runNamed(t, "edge-1-restore-3") == nil) != fences {
			t.Fatalf("proved %q: fenced %v", proved, w.hosts.fenced)
		}
		if !fences {
			continue
		}
		w.hosts.all[0].SwitchedOff = true
		w.visitOnce(t)
		if w.runNamed(t, "edge-1-restore-3") == nil || !w.restoreRequest(t).Fenced {
			t.Errorf("the run does not know that the host is off: %+v", w.restoreRequest(t))
		}
	}
}
