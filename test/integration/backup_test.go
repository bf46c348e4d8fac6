//go:build integration

package integration

import (
	"strings"
	"testing"
)

// backupOf returns the manifest of a Backup.
func backupOf(name, provisioning string) string {
	return "apiVersion: bpa.akraino.org/v1alpha1\nkind: Backup\nmetadata: {name: " + name + "}\nspec: {provisioning: '" + provisioning + "'}\n"
}

// TestBackupsAreChecked checks what the webhook and the schema refuse.
func TestBackupsAreChecked(t *testing.T) {
	must(t, backupOf("checked", "edge-1"), "apply", "-f", "-")
	for want, input := range map[string]string{
		"the spec of a Backup cannot be changed":          backupOf("checked", "edge-2"),
		`"a/b" is not the name of a Provisioning`:         backupOf("other", "a/b"),
		"use a name of at most 55 characters":             backupOf(strings.Repeat("b", 56), "edge-1"),
		`"30 2 * *" is not a schedule`:                    manifest("policy", one+"backup: {schedule: '30 2 * *'}"),
		"spec.backup.keep: Invalid value: -1":             manifest("policy", one+"backup: {schedule: '@daily', keep: -1}"),
		"it must not name a time zone: all times are UTC": manifest("policy", one+"backup: {schedule: 'TZ=Asia/Tokyo 0 2 * * *'}"),
		`unknown field "spec.backup.retention"`:           manifest("policy", one+"backup: {schedule: '@daily', retention: 1}"),
	} {
		if out, err := kubectl(t, input, "apply", "-f", "-"); err == nil || !strings.Contains(out, want) {
			t.Errorf("%s was accepted, or the answer lacks %q: %s", input, want, out)
		}
	}
	heading, _, _ := strings.Cut(must(t, "", "get", "backups", "-o", "wide"), "\n")
	if got := strings.Join(strings.Fields(heading), " "); got != "NAME PROVISIONING SUCCEEDED REASON COMPLETED SIZE REVISION RUN MESSAGE AGE" {
		t.Errorf("heading %q", got)
	}
}
