package plan

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// restores makes happen what stories about restores tell.
func (w *scene) restores(t *testing.T, what string, words []string) {
	switch what {
	case "backup": // NAME, and what is wrong with it
		w.backup(t, words[0], strings.Join(words[1:], " "))
	case "restore": // the value of the annotation; none: it was removed
		w.seen.Restore = strings.Join(words, " ")
	case "proves": // the run proves copy and missing majority, and ends because lost hosts may run
		w.happen(t, []string{"starts"})
		w.seen.Proved = w.seen.Started.Restore.Asked
		w.happen(t, []string{"fails", "HostsNotFenced|master-1|check that old control planes are off|old control planes do not answer"})
	case "begins": // the run is about to change the control planes
		memory := *w.seen.Memory
		memory.Restoring = w.seen.Started.Restore.Asked
		w.seen.Memory = &memory
	case "key":
		w.badKey = strings.Join(words, " ")
	}
}

// backup adds a successful Backup that was made at the present time, or changes it.
func (w *scene) backup(t *testing.T, name, what string) {
	at := metav1.NewTime(w.now)
	b := &v1alpha1.Backup{}
	b.Name, b.Spec.Provisioning = name, "edge-1"
	b.Status = v1alpha1.BackupStatus{Artifact: "binary_images/site/edge-1/backup-" + name + ".tar.age", SHA256: "abc", Recipient: "age1x", StartTime: &at, ClusterUID: w.p.ClusterUID()}
	b.Status.MarkSucceeded(corev1.ConditionTrue, "Stored", "")
	w.seen.Request.DepotURL = "https://depot"
	var others []*v1alpha1.Backup
	for _, o := range w.backups {
		if o.Name != name {
			others = append(others, o)
		} else {
			b = o.DeepCopy()
		}
	}
	word, rest, _ := strings.Cut(what, " ")
	switch word {
	case "":
	case "gone":
		w.backups = others
		return
	case "failed":
		b.Status.MarkSucceeded(corev1.ConditionFalse, "Failed", "")
	case "deleting":
		b.DeletionTimestamp = &at
	case "kept": // by the site, although it is being deleted
		b.DeletionTimestamp, b.Status.KeptUntil = &at, &at
	case "of":
		b.Spec.Provisioning = rest
	case "earlier": // of an earlier cluster
		b.Status.ClusterUID = "uid-earlier"
	case "unlisted":
		b.Status.SHA256 = ""
	case "version":
		b.Status.KubernetesVersion = rest
	default:
		t.Fatalf("a Backup cannot be %q", what)
	}
	w.backups = append(others, b)
}

// lookForBackups simulates how the controller observes Backups.
func (w *scene) lookForBackups() {
	w.seen.Source, w.seen.Backup = Source{}, nil
	if !w.seen.NeedsBackups() {
		return
	}
	w.seen.Backup = NewestBackup(w.p, w.backups)
	name, _ := RestoreFrom(w.seen.RestoreAsked())
	for _, b := range w.backups {
		if b.Name == name {
			w.seen.Source.Backup = b
		}
	}
	if w.badKey != "" {
		w.seen.Source.Key = w.badKey
	}
}

// restored completes the record after the newest run. A restore makes the stored kubeconfig useless.
func (w *scene) restored(record *contract.Installed) {
	if m := w.seen.Memory; m != nil {
		record.Restoring, record.Restored, record.RestoredBefore = m.Restoring, m.Restored, m.RestoredBefore
	}
	if r := w.seen.Started.Restore; r != nil {
		record.SetRestored(r.Asked)
		if k := w.seen.Kubeconfig; k != nil {
			w.seen.Kubeconfig = &Kubeconfig{Endpoint: k.Endpoint, Expires: k.Expires, Outdated: true, Broken: "it is of before the restore of the cluster"}
		}
	}
}

func askedBy(r contract.Request) string {
	if r.Restore == nil {
		return ""
	}
	return r.Restore.Asked
}

func describeRestore(r v1alpha1.RestoreStatus) string {
	text := fmt.Sprintf("%s %q", r.State, r.Requested)
	if r.BackupTime != nil {
		text += " of " + r.BackupTime.UTC().Format("15:04:05")
	}
	return strings.TrimSuffix(text+": "+r.Message, ": ")
}
