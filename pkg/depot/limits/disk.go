package limits

import "syscall"

// Disk measures the room on the disk of a directory, and holds nothing that
// counts: it is the Meter of bytes that a quota is applied to elsewhere.
type Disk string

// Held is nothing.
func (Disk) Held([]string) (held int64, there []int64) { return 0, nil }

// Free asks the file system, for a user without privileges.
func (d Disk) Free() (int64, bool, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(string(d), &s); err != nil {
		return 0, false, err
	}
	return int64(s.Bavail) * s.Bsize, true, nil //nolint:gosec // a disk has fewer bytes than that
}
