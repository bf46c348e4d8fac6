package provisioning

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
)

// backingUp returns a Backup of this Provisioning whose run is active.
func backingUp(of string) *v1alpha1.Backup {
	b := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Name: "nightly", Namespace: site}, Spec: v1alpha1.BackupSpec{Provisioning: of}}
	b.Status.Run = "nightly-backup"
	return b
}

// TestBackupEndsFirst: a run that changes the machine of a member of etcd waits for the end of a Backup of
// this cluster. The status says so, and the end of the Backup wakes the Provisioning.
func TestBackupEndsFirst(t *testing.T) {
	const next = "edge-1-upgrade-control-plane-2"
	w, _ := upgrading(t)
	b := backingUp(name)
	w.add(t, b, true)
	w.settle(t)
	ready := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady)
	if w.runNamed(t, next) != nil || !strings.Contains(ready.Message, "Backup nightly") {
		t.Fatalf("the run started beside a Backup, or the status does not say that it waits: Ready %s %s: %s", ready.Status, ready.Reason, ready.Message)
	}
	b.Status.MarkSucceeded(corev1.ConditionFalse, "Failed", "")
	if err := w.caches["backup"].Update(b); err != nil {
		t.Fatal(err)
	}
	var woken []key
	w.sync(t)
	waker{lister: listers.NewProvisioningLister(w.caches["provisioning"]), enqueue: func(k key) { woken = append(woken, k) }}.backupChanged(b)
	if len(woken) != 1 || woken[0].Name != name {
		t.Errorf("the end of the Backup wakes %v", woken)
	}
	w.settle(t)
	if w.runNamed(t, next) == nil {
		t.Errorf("no run after the Backup; Ready: %+v", w.stored(t).Status.GetCondition(v1alpha1.ConditionReady))
	}
}

// TestWhatDoesNotWaitForABackup: no run waits for the Backup of another cluster, or for one that copies nothing.
func TestWhatDoesNotWaitForABackup(t *testing.T) {
	done, waiting := backingUp(name), backingUp(name)
	done.Status.MarkSucceeded(corev1.ConditionTrue, "Stored", "")
	waiting.Status.Run = ""
	for what, b := range map[string]*v1alpha1.Backup{"of another cluster": backingUp("edge-2"), "that is done": done, "that waits itself": waiting} {
		w, _ := upgrading(t)
		w.add(t, b, true)
		w.settle(t)
		if w.runNamed(t, "edge-1-upgrade-control-plane-2") == nil {
			t.Errorf("a run waits for a Backup %s; Ready: %+v", what, w.stored(t).Status.GetCondition(v1alpha1.ConditionReady))
		}
	}
}

// TestBackupThatNoCacheShows: before a run starts, the API server itself is asked for runs of Backups.
func TestBackupThatNoCacheShows(t *testing.T) {
	w, p := upgrading(t)
	spec := runs.Run{Name: p.Name, Operation: contract.BackupOperation}.Spec()
	w.add(t, convert.Make(metav1.ObjectMeta{Name: "nightly-backup", Namespace: site, Labels: map[string]string{contract.LabelBackup: "nightly"}}, spec), false)
	_ = w.visit(t, at)
	if w.runNamed(t, "edge-1-upgrade-control-plane-2") != nil {
		t.Error("the run started beside the run of a Backup")
	}
}
