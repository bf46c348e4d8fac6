package v1alpha1

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

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
