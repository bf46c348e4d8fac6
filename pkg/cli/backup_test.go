package cli

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

func hasCluster(p *v1alpha1.Provisioning) *v1alpha1.Provisioning {
	p.Status.InstalledDigest = "v3:sha256:1"
	return p
}

func backupOf(name, provisioning string, hours int, change func(*v1alpha1.BackupStatus)) *v1alpha1.Backup {
	b := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "site-a", Name: name, CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(hours) * time.Hour))}}
	b.Spec.Provisioning = provisioning
	if change != nil {
		change(&b.Status)
	}
	return b
}

func isStored(s *v1alpha1.BackupStatus) {
	s.Run, s.CompletionTime = "x-backup", &metav1.Time{Time: noon}
	s.Depot, s.Artifact, s.Size, s.Revision, s.KubernetesVersion = "https://10.60.0.1:5443", "binary_images/site/edge-1/backup-x.tar.age", 5<<20, 4711, "1.35.4"
	s.MarkSucceeded(corev1.ConditionTrue, "Stored", "")
}

func hasFailedBackup(s *v1alpha1.BackupStatus) {
	s.Run, s.CompletionTime = "x-backup", &metav1.Time{Time: noon}
	s.MarkSucceeded(corev1.ConditionFalse, "ClusterUnhealthy", "m-1: etcd has no healthy majority. After the cause is removed, make another backup with `kubectl bpa backup -n site edge-1`")
}

func TestBackups(t *testing.T) {
	w := newStopped(t, backupOf("b-2", "edge-1", 2, hasFailedBackup), backupOf("b-1", "edge-1", 1, isStored), backupOf("b-4", "edge-2", 4, nil),
		backupOf("b-3", "edge-1", 3, func(s *v1alpha1.BackupStatus) {
			s.MarkSucceeded(corev1.ConditionUnknown, "Waiting", "waiting until Backup b-2 has ended")
		}))
	code := w.run(t.Context(), "backups", "edge-1")
	_, _ = w.Write([]byte("---\n"))
	code += w.run(t.Context(), "backups")
	_, _ = w.Write([]byte("---\n"))
	w.golden("backup/list", code+w.run(t.Context(), "backups", "edge-9"))
}

// A Backup is created for an installed cluster only, and its name has the time.
func TestBackup(t *testing.T) {
	w := newStopped(t, hasCluster(provisioning("edge-1")), provisioning("edge-2"))
	code := w.run(t.Context(), "backup", "edge-1")
	_, _ = w.Write([]byte("---\n"))
	code += 10 * w.run(t.Context(), "backup", "edge-1") // the same name again
	code += 100 * w.run(t.Context(), "backup", "edge-2")
	w.golden("backup/create", code)
	var all v1alpha1.BackupList
	if err := w.cluster.List(t.Context(), &all); err != nil || len(all.Items) != 1 || all.Items[0].Spec.Provisioning != "edge-1" {
		t.Errorf("Backups %+v, %v", all.Items, err)
	}
	w.expect(w.run(t.Context(), "backup", "edge-1", "--timeout=1m"), codeUsage, "--wait")
}

// With --wait, the command ends with the result of the Backup.
func TestBackupWait(t *testing.T) {
	for name, tc := range map[string]struct {
		end  func(*v1alpha1.BackupStatus)
		code int
		says string
	}{
		"stored": {isStored, codeDone, "get secret edge-1-backup-key"},
		"failed": {hasFailedBackup, codeFailed, "kubectl bpa backup -n site edge-1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newStopped(t, hasCluster(provisioning("edge-1")))
			code := w.start("backup", "edge-1", "--name=b", "--wait")
			w.await("waiting for the controller")
			b := &v1alpha1.Backup{}
			if err := w.cluster.Get(t.Context(), client.ObjectKey{Namespace: "site-a", Name: "b"}, b); err != nil {
				t.Fatal(err)
			}
			b.Status.Run = "b-backup"
			b.Status.MarkSucceeded(corev1.ConditionUnknown, "Running", "")
			if err := w.cluster.Update(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			w.await("copying etcd and the keys: PipelineRun b-backup")
			tc.end(&b.Status)
			if err := w.cluster.Update(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			w.expect(<-code, tc.code)
			if out := w.text() + w.errOut.String(); !strings.Contains(out, tc.says) {
				t.Errorf("output %q, want %q", out, tc.says)
			}
		})
	}
}

func TestBackupTimesOut(t *testing.T) {
	w := newStopped(t, hasCluster(provisioning("edge-1")))
	w.expect(w.run(t.Context(), "backup", "edge-1", "--wait", "--timeout=10ms"), codeTimeout, "the controller continues", "kubectl bpa backups edge-1")
}
