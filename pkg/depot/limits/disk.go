package limits

import "syscall"

// Disk is the Meter for the free space on the disk of one directory. The value of a Disk is the
// path of the directory. Held returns 0, so a Quota with this Meter limits only the free space:
// another Quota limits the bytes that the depot holds.
type Disk string

// Held returns 0 and nil.
func (Disk) Held([]string) (held int64, there []int64) { return 0, nil }

// Free returns the bytes that users without privileges may still write to the file system.
func (d Disk) Free() (int64, bool, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(string(d), &s); err != nil {
		return 0, false, err
	}
	return int64(s.Bavail) * s.Bsize, true, nil //nolint:gosec // a disk has fewer bytes than that
}
