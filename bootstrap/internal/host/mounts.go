package host

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// MountsBelow lists the mount points below dir, deepest and newest first. It excludes dir itself,
// which may be a separate disk.
func MountsBelow(dir string) ([]string, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	return mountsBelow(string(raw), dir), nil
}

func mountsBelow(mountinfo, dir string) []string {
	var points []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		if point := unescape.Replace(fields[4]); strings.HasPrefix(point, dir+"/") {
			points = append(points, point)
		}
	}
	slices.Reverse(points)
	return points
}

// unescape replaces the octal codes that the kernel uses for special characters in paths.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// UnmountBelow detaches all mounts below dir.
func UnmountBelow(dir string) error {
	points, err := MountsBelow(dir)
	if err != nil {
		return err
	}
	for _, p := range points {
		if err := unix.Unmount(p, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && err != unix.EINVAL && err != unix.ENOENT {
			return fmt.Errorf("unmount %s: %w", p, err)
		}
	}
	return nil
}
