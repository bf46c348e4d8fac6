package restore

import (
	"testing"
	"time"
)

// TestEachRestoreRaisesTheRevision: the revision after a restore is later than all before it, whatever was restored before:
// the same backup again, one that was made after a restore, and one that is older than both.
func TestEachRestoreRaisesTheRevision(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	const first = 2_000 // of the first backup
	latest := int64(3_000_000)
	restore := func(backup int64) int64 {
		t.Helper()
		now = now.Add(10 * time.Minute)
		is := backup + revisionBump(now, backup)
		if is <= latest {
			t.Errorf("a restore from revision %d gives %d, and the cluster had %d", backup, is, latest)
		}
		latest = is + 1_000_000 // changes until the next restore
		return is
	}
	again := restore(first)
	restore(first)
	restore(again + 5_000)
	restore(first)
	if bump := revisionBump(time.Unix(0, 0), first); bump != leastBump { // a clock that was reset
		t.Errorf("bump %d", bump)
	}
}
