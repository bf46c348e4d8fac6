package limits_test

import (
	"testing"

	"github.com/akraino-icn/bpa/pkg/depot/limits"
)

// What is promised on a disk and not written yet is not free for others.
func TestReservationsOnADisk(t *testing.T) {
	disk := limits.Disk(t.TempDir())
	free, ok, err := disk.Free()
	if err != nil || !ok || free <= 0 {
		t.Fatalf("Free = %d, %t, %v", free, ok, err)
	}
	gate := limits.NewQuota(limits.Limits{MinFree: free / 4}, disk)
	if err := gate.Hold("a", free/2); err != nil {
		t.Fatal(err)
	}
	if err := gate.Hold("b", free/2); err == nil {
		t.Error("more was promised than there is")
	}
	gate.Release("a")
	if err := gate.Hold("b", free/2); err != nil {
		t.Errorf("after the release: %v", err)
	}
}
