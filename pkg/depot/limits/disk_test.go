package limits_test

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
)

// Space that is reserved on a disk is not free for others, even before anything is written to it.
func TestReservationsOnADisk(t *testing.T) {
	disk := limits.Disk(t.TempDir())
	free, ok, err := disk.Free()
	if err != nil || !ok || free <= 0 {
		t.Fatalf("Free = %d, %t, %v", free, ok, err)
	}
	quota := limits.NewQuota(limits.Limits{MinFree: free / 4}, disk)
	if err := quota.Hold("a", free/2); err != nil {
		t.Fatal(err)
	}
	if err := quota.Hold("b", free/2); err == nil {
		t.Error("more bytes were reserved than are free")
	}
	quota.Release("a")
	if err := quota.Hold("b", free/2); err != nil {
		t.Errorf("after the release: %v", err)
	}
}
