package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupRoots returns the mount points of all control group hierarchies: one for v2, one per
// controller for v1.
func cgroupRoots() ([]string, error) {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("read mounts: %w", err)
	}
	return cgroupMounts(string(raw)), nil
}

// cgroupMounts returns the mount points of hierarchies at or below /sys/fs/cgroup. It ignores
// mounts elsewhere, because they belong to containers.
func cgroupMounts(mountinfo string) []string {
	var roots []string
	for line := range strings.Lines(mountinfo) {
		mount, source, found := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		if !found || len(fields) < 5 || !strings.HasPrefix(source, "cgroup") {
			continue
		}
		if point := fields[4]; point == "/sys/fs/cgroup" || strings.HasPrefix(point, "/sys/fs/cgroup/") {
			roots = append(roots, point)
		}
	}
	return roots
}

// unmountedHierarchies returns the v1 controllers whose hierarchy is not mounted at any of roots.
// It reads the controllers from selfCgroup, which is the text of /proc/self/cgroup. Lab nodes
// create groups even in hierarchies that are not mounted.
func unmountedHierarchies(selfCgroup string, roots []string) []string {
	var left []string
	for line := range strings.Lines(selfCgroup) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 || parts[1] == "" {
			continue
		}
		mounted := slices.ContainsFunc(roots, func(root string) bool {
			return filepath.Base(root) == strings.TrimPrefix(parts[1], "name=") || filepath.Base(root) == parts[1]
		})
		if !mounted {
			left = append(left, parts[1])
		}
	}
	return left
}

// ourGroups returns the paths of the control groups of pods and lab nodes. These groups are
// directly below the mount points in roots.
func ourGroups(roots []string) []string {
	var groups []string
	for _, root := range roots {
		for _, pattern := range []string{"kubepods", "nodes-????????-????-????-????-????????????"} {
			found, _ := filepath.Glob(filepath.Join(root, pattern))
			groups = append(groups, found...)
		}
	}
	return groups
}

// members returns the process ids in the groups and in their subgroups.
func members(groups []string) []int {
	seen := map[int]bool{}
	for _, group := range groups {
		_ = filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return nil // the group can disappear during the walk
			}
			raw, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
			for field := range strings.FieldsSeq(string(raw)) {
				if pid, err := strconv.Atoi(field); err == nil && pid > 0 { // 0 means a process in another PID namespace
					seen[pid] = true
				}
			}
			return nil
		})
	}
	pids := make([]int, 0, len(seen))
	for pid := range seen {
		pids = append(pids, pid)
	}
	return pids
}

// removeGroups removes empty groups, innermost first.
func removeGroups(groups []string) error {
	var failed error
	for _, group := range groups {
		var dirs []string
		_ = filepath.WalkDir(group, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) {
			if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
				failed = fmt.Errorf("remove control group %s: %w", dir, err)
			}
		}
	}
	return failed
}

// RemoveControlGroups removes the control groups of pods and lab nodes. If a hierarchy is not
// mounted, it mounts that hierarchy at the folder scratch during the removal. The processes in the
// groups must have been killed before. The kernel can need some time to end them, so
// RemoveControlGroups retries for up to 15 s while a group is busy.
func RemoveControlGroups(ctx context.Context, scratch string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := removeControlGroups(scratch)
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

func removeControlGroups(scratch string) error {
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	failed := removeGroups(ourGroups(roots))
	self, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return err
	}
	for _, controller := range unmountedHierarchies(string(self), roots) {
		failed = errors.Join(failed, inHierarchy(controller, scratch, func() error { return removeGroups(ourGroups([]string{scratch})) }))
	}
	return failed
}

func inHierarchy(controller, at string, do func() error) error {
	if err := os.MkdirAll(at, 0o700); err != nil {
		return err
	}
	options := controller
	if strings.HasPrefix(controller, "name=") {
		options = "none," + controller
	}
	if err := unix.Mount("cgroup", at, "cgroup", 0, options); err != nil {
		return fmt.Errorf("mount control groups of %s: %w", controller, err)
	}
	return errors.Join(do(), unix.Unmount(at, unix.MNT_DETACH), os.Remove(at))
}
