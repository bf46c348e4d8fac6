package v1alpha1

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"
)

func backupOf(name, provisioning string) *Backup {
	return &Backup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: BackupSpec{Provisioning: provisioning}}
}

func TestBackupValidation(t *testing.T) {
	for _, tc := range []struct {
		name     string
		backup   *Backup
		old      *Backup
		mentions string // empty: valid
	}{
		{"short", backupOf("before-upgrade", "edge-1"), nil, ""},
		{"scheduled", backupOf(strings.Repeat("p", MaxNameLength)+"-20261122023000", strings.Repeat("p", MaxNameLength)), nil, ""},
		{"too long", backupOf(strings.Repeat("b", MaxBackupNameLength+1), "edge-1"), nil, "at most 55"},
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
		err := tc.backup.Validate(ctx)
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
		p := &ProvisioningSpec{Backup: &BackupPolicy{Schedule: schedule}}
		err := p.Backup.validate()
		if (err == nil) != (mentions == "") || err != nil && !strings.Contains(err.Error(), mentions) {
			t.Errorf("%q: %v, want %q", schedule, err, mentions)
		}
		if p.setDefaults(); p.Backup.Keep != DefaultBackupsKept || p.Backup.Kept() != DefaultBackupsKept {
			t.Errorf("%q: keep is %d", schedule, p.Backup.Keep)
		}
	}
	if err := (&BackupPolicy{Schedule: "@daily", Keep: -1}).validate(); err == nil {
		t.Error("a negative number was accepted")
	}
}

// A missed time is made up for once, however many were missed, and the result does not depend on when
// the controller looks.
func TestScheduleLast(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for _, tc := range []struct{ schedule, from, now, want string }{
		{"30 2 * * *", "2026-11-22T02:30:00Z", "2026-11-23T02:29:59Z", ""},
		{"30 2 * * *", "2026-11-22T02:30:00Z", "2026-11-23T02:30:00Z", "2026-11-23T02:30:00Z"},
		{"30 2 * * *", "2026-11-22T02:30:00Z", "2026-12-24T12:00:00Z", "2026-12-24T02:30:00Z"},
		{"0 0 29 2 *", "2024-02-29T00:00:00Z", "2032-12-24T12:00:00Z", "2032-02-29T00:00:00Z"},
		{"* * * * *", "2020-01-01T00:00:00Z", "2026-11-22T12:00:30Z", "2026-11-22T12:00:00Z"},
		{"* * * * *", "2026-11-22T12:00:30Z", "2026-11-22T12:00:40Z", ""},
		{"@every 6h", "2026-11-22T12:00:00Z", "2026-11-22T17:59:59Z", ""},
		{"@every 6h", "2026-11-22T12:00:00Z", "2026-11-23T07:00:00Z", "2026-11-23T06:00:00Z"},
		{"@every 6h", "2026-11-22T12:00:00Z", "2026-11-23T11:59:59Z", "2026-11-23T06:00:00Z"},
		{"@daily", "2026-11-22T12:00:00+09:00", "2026-11-23T01:00:00+09:00", ""},
		{"30 2 * * *", "2026-11-23T02:30:00Z", "2026-11-22T02:30:00Z", ""}, // the clock was set back
	} {
		s, err := ParseSchedule(tc.schedule)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := s.Last(at(tc.from), at(tc.now))
		if ok != (tc.want != "") || ok && got.Format(time.RFC3339) != tc.want {
			t.Errorf("%s between %s and %s: %s, %t; want %q", tc.schedule, tc.from, tc.now, got, ok, tc.want)
		}
	}
}

func TestBackupConditions(t *testing.T) {
	b := &Backup{}
	if b.Status.InitializeConditions(); b.Status.IsDone() || !b.Status.GetCondition(ConditionSucceeded).IsUnknown() {
		t.Errorf("at first: %+v", b.Status.Conditions)
	}
	b.Status.MarkSucceeded(corev1.ConditionFalse, "HostUnreachable", "100% of the nodes do not answer")
	if b.Status.InitializeConditions(); !b.Status.IsFailed() || b.Status.GetCondition(ConditionSucceeded).Message != "100% of the nodes do not answer" {
		t.Errorf("after a failure: %+v", b.Status.Conditions)
	}
	if b.Status.MarkSucceeded(corev1.ConditionTrue, "", ""); !b.Status.IsSucceeded() || !b.Status.IsDone() {
		t.Errorf("after success: %+v", b.Status.Conditions)
	}
}
