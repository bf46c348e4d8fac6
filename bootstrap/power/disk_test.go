//go:build integration

package power

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// From linux/fs/ext4/ext4.h.
const (
	ext4Shutdown   = 0x8004587d // EXT4_IOC_SHUTDOWN
	withoutFlushes = 2          // EXT4_GOING_FLAGS_NOLOGFLUSH
)

// disk is a disk whose power can be cut. The kernel writes nothing by itself for 10 minutes (commit=600; without it, the
// journal is written every 5 s), so only what a program syncs survives a cut.
type disk struct {
	t     *testing.T
	image string
	at    string // mount point
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	dir := t.TempDir()
	d := &disk{t: t, image: filepath.Join(dir, "image"), at: filepath.Join(dir, "disk")}
	if err := os.Mkdir(d.at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, 2<<30); err != nil {
		t.Fatal(err)
	}
	run(t, "mkfs.ext4", "-q", d.image)
	t.Cleanup(func() { _ = unix.Unmount(d.at, unix.MNT_DETACH) })
	d.on()
	return d
}

func (d *disk) on() {
	d.t.Helper()
	run(d.t, "mount", "-o", "loop,commit=600", d.image, d.at)
}

// cut stops the disk at once. Every later write and sync fails.
func (d *disk) cut() {
	d.t.Helper()
	folder, err := os.Open(d.at)
	if err != nil {
		d.t.Fatal(err)
	}
	defer folder.Close()
	if err := unix.IoctlSetPointerInt(int(folder.Fd()), ext4Shutdown, withoutFlushes); err != nil {
		d.t.Fatalf("cut the power of %s: %v", d.at, err)
	}
}

// sync stores all that was written so far.
func (d *disk) sync() {
	d.t.Helper()
	folder, err := os.Open(d.at)
	if err != nil {
		d.t.Fatal(err)
	}
	defer folder.Close()
	if err := unix.Syncfs(int(folder.Fd())); err != nil {
		d.t.Fatal(err)
	}
}

// unsynced is the path of a file that nobody syncs. Each cut has its own, because ext4 stores a file at once that is
// written again after a truncation.
func (d *disk) unsynced(cut int) string { return filepath.Join(d.at, fmt.Sprintf("unsynced-%d", cut)) }

// off detaches the disk after a cut, when no program uses it any more.
func (d *disk) off() {
	d.t.Helper()
	run(d.t, "umount", d.at)
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v: %s (this test needs root, loop devices and mkfs.ext4)", name, args, err, out)
	}
}
