package admission

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

func backupOf(name, provisioning string) *v1alpha1.Backup {
	return &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.BackupSpec{Provisioning: provisioning}}
}

func TestBackupValidation(t *testing.T) {
	for _, tc := range []struct {
		name     string
		backup   *v1alpha1.Backup
		old      *v1alpha1.Backup
		mentions string // empty: valid
	}{
		{"short", backupOf("before-upgrade", "edge-1"), nil, ""},
		{"scheduled", backupOf(strings.Repeat("p", v1alpha1.MaxNameLength)+"-20261122023000", strings.Repeat("p", v1alpha1.MaxNameLength)), nil, ""},
		{"too long", backupOf(strings.Repeat("b", v1alpha1.MaxBackupNameLength+1), "edge-1"), nil, "at most 55"},
		{"with a dot", backupOf("a.b", "edge-1"), nil, "metadata.name"},
		{"no cluster", backupOf("b", ""), nil, "spec.provisioning"},
		{"a cluster in another namespace", backupOf("b", "other/edge-1"), nil, "spec.provisioning"},
		{"unchanged", backupOf("b", "edge-1"), backupOf("b", "edge-1"), ""},
		{"changed", backupOf("b", "edge-2"), backupOf("b", "edge-1"), "create another Backup"},
	} {
		ctx := context.Background()
		if tc.old != nil {
			ctx = apis.WithinUpdate(ctx, tc.old)
		}
		err := CheckBackup(ctx, tc.backup)
		if (err == nil) != (tc.mentions == "") || err != nil && !strings.Contains(err.Error(), tc.mentions) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.mentions)
		}
	}
}

func TestBackupPolicyValidation(t *testing.T) {
	for schedule, mentions := range map[string]string{
		"30 2 * * *":                   "",
		"@daily":                       "",
		"@every 6h":                    "",
		"* * * * *":                    "",
		"":                             "not a schedule",
		"30 2 * *":                     "five fields",
		"61 2 * * *":                   "not a schedule",
		"0 0 30 2 *":                   "no date that exists",
		"@every 10s":                   "a minute",
		"CRON_TZ=Asia/Tokyo 0 2 * * *": "time zone",
		"TZ=":                          "time zone",
	} {
		p := &v1alpha1.Provisioning{Spec: v1alpha1.ProvisioningSpec{Backup: &v1alpha1.BackupPolicy{Schedule: schedule}}}
		err := validateBackups(p.Spec.Backup)
		if (err == nil) != (mentions == "") || err != nil && !strings.Contains(err.Error(), mentions) {
			t.Errorf("%q: %v, want %q", schedule, err, mentions)
		}
		if p.SetDefaults(context.Background()); p.Spec.Backup.Keep != v1alpha1.DefaultBackupsKept || p.Spec.Backup.Kept() != v1alpha1.DefaultBackupsKept {
			t.Errorf("%q: keep is %d", schedule, p.Spec.Backup.Keep)
		}
	}
	if err := validateBackups((&v1alpha1.BackupPolicy{Schedule: "@daily", Keep: -1})); err == nil {
		t.Error("a negative number was accepted")
	}
}
