package backup

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs"
)

// TestABackupTakesNoRights: a run that starts before a Backup needs its account of the task enroll with the rights that it has.
func TestABackupTakesNoRights(t *testing.T) {
	task := contract.TaskOf(contract.TaskEnroll)
	ofBackup, ofRun := runs.Rules("edge-1", "", task), runs.Rules("edge-1", "edge-1-run-7-out", task)
	for _, c := range []struct {
		name       string
		have, want []rbacv1.PolicyRule
		grants     bool
	}{
		{"a Role of a run", ofRun, ofBackup, true},
		{"a Role of a Backup", ofBackup, ofBackup, true},
		{"no rules", nil, ofBackup, false},
		{"rules of another build", []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"edge-1-known-hosts"}, Verbs: []string{"get"}}}, ofBackup, false},
	} {
		if got := grants(c.have, c.want); got != c.grants {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
