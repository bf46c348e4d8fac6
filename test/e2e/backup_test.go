//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/backup"
	"github.com/akraino-icn/bpa/pkg/contract"
	depotclient "github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/test/site"
)

// backupLimit is the time limit of one backup of a cluster of the lab.
const backupLimit = 3 * time.Minute

// checkBackups backs up an installed cluster: now, and by a schedule. Each copy can only be read with
// the key, which is nowhere else, and etcd's own tool accepts its snapshot. A deleted Backup has no copy in the depot. The
// Provisioning has no run of it.
func checkBackups(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) {
	t.Helper()
	depot, secrets := siteDepot(t, s), watchSecrets(t, s)
	runs := runsOf(s, p)

	out, err := bpaWithin(t, s, backupLimit+time.Minute, "backup", p.Name, "--name=now", "--wait", "--timeout="+backupLimit.String())
	if t.Logf("kubectl bpa backup:\n%s", out); err != nil {
		t.Fatal(err)
	}
	now := &v1alpha1.Backup{}
	if err := s.Get(context.Background(), client.ObjectKey{Namespace: s.Namespace, Name: "now"}, now); err != nil {
		t.Fatal(err)
	}
	checkCopy(t, s, depot.Depot, now)

	s.Change(p, func(p *v1alpha1.Provisioning) { p.Spec.Backup = &v1alpha1.BackupPolicy{Schedule: "* * * * *", Keep: 1} })
	scheduled := site.Await(s, &v1alpha1.BackupList{}, "a scheduled backup", time.Minute+backupLimit, func(b *v1alpha1.Backup) bool {
		return b.Labels[contract.LabelBackupOf] == string(p.UID) && b.Status.IsDone()
	})
	checkCopy(t, s, depot.Depot, scheduled)
	site.AwaitGone(s, &v1alpha1.BackupList{}, scheduled, time.Minute+backupLimit) // the next one has succeeded, and one is kept
	checkNoCopy(t, depot.Depot, scheduled)
	s.Change(p, func(p *v1alpha1.Provisioning) { p.Spec.Backup = nil })

	checkNoSecretShown(t, s, p.Name)
	secrets.check(p, contract.BackupKeyName(p.Name))
	if got := runsOf(s, p); got != runs {
		t.Errorf("the Provisioning has %d runs, and had %d before its backups", got, runs)
	}
	if err := s.As(site.RoleBackupDeleter).Delete(context.Background(), now); err != nil {
		t.Fatal(err)
	}
	site.AwaitGone(s, &v1alpha1.BackupList{}, now, time.Minute)
	checkNoCopy(t, depot.Depot, now)
	after := &v1alpha1.Provisioning{}
	if err := s.Get(context.Background(), client.ObjectKeyFromObject(p), after); err != nil || !site.Ready(after) {
		t.Errorf("the Provisioning is not Ready after its backups (%v): %+v", err, after.Status.Conditions)
	}
}

// runsOf returns the number of the Provisioning's own runs.
func runsOf(s *site.Site, p *v1alpha1.Provisioning) (number int) {
	for _, r := range s.Runs() {
		if r.Labels[contract.LabelCluster] == p.Name {
			number++
		}
	}
	return number
}

func refOf(t *testing.T, b *v1alpha1.Backup) protocol.Ref {
	t.Helper()
	ref, ok := protocol.ParseFilePath(b.Status.Artifact)
	if !ok {
		t.Fatalf("Backup %s has the artifact %q: %+v", b.Name, b.Status.Artifact, b.Status)
	}
	return ref
}

func checkNoCopy(t *testing.T, depot *depotclient.Depot, b *v1alpha1.Backup) {
	t.Helper()
	if _, there, err := depot.FileState(context.Background(), refOf(t, b).FilePath(), false); err != nil || there {
		t.Errorf("the depot still has the copy of the deleted Backup %s: %t, %v", b.Name, there, err)
	}
}

// checkCopy reads the copy of a Backup from the depot.
func checkCopy(t *testing.T, s *site.Site, depot *depotclient.Depot, b *v1alpha1.Backup) {
	t.Helper()
	if !b.Status.IsSucceeded() {
		t.Fatalf("Backup %s has failed: %+v", b.Name, b.Status.Conditions)
	}
	body, size, err := depot.GetFile(context.Background(), refOf(t, b).FilePath())
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	sealed, err := io.ReadAll(body)
	if err != nil || size != b.Status.Size || int64(len(sealed)) != size {
		t.Fatalf("the copy has %d bytes (%v), announced %d, in the status %d", len(sealed), err, size, b.Status.Size)
	}
	if sum := depotSum(sealed); sum != b.Status.SHA256 {
		t.Errorf("the copy has the SHA-256 %s, in the status %s", sum, b.Status.SHA256)
	}
	for _, readable := range []string{"/registry/", "PRIVATE KEY", "kubernetes"} {
		if bytes.Contains(sealed, []byte(readable)) {
			t.Errorf("%q can be read in the copy without the key", readable)
		}
	}
	opened, err := backup.Read(bytes.NewReader(sealed), string(s.Admin().Secret(contract.BackupKeyName(b.Spec.Provisioning), backup.KeyIdentity)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pki/ca.key", "pki/sa.key", "etcd-pki/ca-key.pem", backup.FileInstalled, backup.FileHostsINI} {
		if len(opened.Files[name]) == 0 {
			t.Errorf("the copy lacks %s", name)
		}
	}
	checkSnapshot(t, opened, b)
}

// checkSnapshot gives the snapshot of a copy to etcd's own tool.
func checkSnapshot(t *testing.T, opened *backup.Open, b *v1alpha1.Backup) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "snapshot.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := opened.WriteSnapshot(file); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(site.State(), "cache/lab/etcd/etcdutl"), "snapshot", "status", file.Name(), "--write-out=json").Output()
	if err != nil {
		t.Fatalf("etcdutl refuses the snapshot: %v\n%s", err, out)
	}
	var status struct{ Revision, TotalKey int64 }
	if err := json.Unmarshal(out, &status); err != nil || status.Revision < b.Status.Revision || b.Status.Revision == 0 || status.TotalKey == 0 {
		t.Errorf("etcdutl reports %s (%v), want at least revision %d", out, err, b.Status.Revision)
	}
}

func depotSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
