package check

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// rooms calls judge for each place where the node writes.
func (w *world) rooms(judge func(r room, d Disk, fail, unknown func(string))) {
	w.each(func(n Node, f *Facts, fail, unknown func(string)) {
		for _, r := range w.in.rooms() {
			if r.role == "" || n.may(r.role) {
				judge(r, f.Disks[r.path], fail, unknown)
			}
		}
	})
}

// diskSpace adds up what an installation writes to each file system.
func diskSpace(w *world) {
	w.space(true, func(r room) int64 {
		if r.least > 0 {
			return r.least
		}
		return r.need
	})
}

// diskReserve adds up what a cluster in use needs.
func diskReserve(w *world) { w.space(false, func(r room) int64 { return r.need }) }

// space adds up what is needed on each file system. A member has written most of it.
func (w *world) space(says bool, needs func(r room) int64) {
	w.each(func(n Node, f *Facts, fail, unknown func(string)) {
		need, of := map[string]int64{}, map[string][]string{}
		for _, r := range w.in.rooms() {
			d, known := f.Disks[r.path]
			switch {
			case r.role != "" && !n.may(r.role) || n.Member:
			case !known || d.SizeUnknown || d.Device == "":
				if says {
					unknown("the free space of " + r.path + " is not known")
				}
			default:
				need[d.Device] += needs(r)
				of[d.Device] = append(of[d.Device], r.path)
			}
		}
		for _, device := range slices.Sorted(maps.Keys(need)) {
			if d := f.Disks[of[device][0]]; d.Free < need[device] {
				fail(fmt.Sprintf("%s has %s free, and %s need %s", orElse(d.Point, of[device][0]), size(d.Free), strings.Join(of[device], ", "), size(need[device])))
			}
		}
	})
}

func diskPressure(w *world) {
	w.rooms(func(r room, d Disk, fail, _ func(string)) {
		signal := map[string]string{"/var/lib/kubelet": "nodefs.available", "/var/lib/containerd": "imagefs.available"}[r.path]
		if signal == "" || d.Size == 0 {
			return
		}
		least := w.in.evictsBelow(signal)
		if percent := float64(d.Free) / float64(d.Size) * 100; percent < least {
			fail(fmt.Sprintf("%s has %.1f %% free, and %s wants more than %g %%", orElse(d.Point, r.path), percent, r.of, least))
		}
		if r.path == "/var/lib/kubelet" && d.Inodes > 0 && float64(d.InodesFree)/float64(d.Inodes)*100 < w.in.evictsBelow("nodefs.inodesFree") {
			fail(fmt.Sprintf("%s has %d of %d inodes free", orElse(d.Point, r.path), d.InodesFree, d.Inodes))
		}
	})
}

// evictsBelow returns the limit of the kubelet in percent. Of limits that the user sets, only percentages count, and a signal
// that is not among them has none.
func (in Input) evictsBelow(signal string) float64 {
	limits := in.Eviction
	if limits == nil {
		limits = map[string]string{"nodefs.available": "10%", "imagefs.available": "15%", "nodefs.inodesFree": "5%"}
	}
	number, percent := strings.CutSuffix(limits[signal], "%")
	least, err := strconv.ParseFloat(number, 64)
	if !percent || err != nil {
		return 0
	}
	return least
}

func mounts(w *world) {
	w.rooms(func(r room, d Disk, fail, _ func(string)) {
		if slices.Contains(d.Options, "ro") {
			fail(fmt.Sprintf("%s, on which %s (%s) will be, is mounted read-only", orElse(d.Point, "its disk"), r.path, r.of))
		}
		if r.exec && slices.Contains(d.Options, "noexec") {
			fail(fmt.Sprintf("%s, on which %s (%s) will be, is mounted with noexec", orElse(d.Point, "its disk"), r.path, r.of))
		}
	})
}

// slowest is the limit of etcd's documentation for a write with a sync, at the 99th percentile.
const slowest = 10 * time.Millisecond

func fsync(w *world) {
	const enough = 20 // fewer in a second or more are slow, whatever the percentile
	w.each(func(n Node, f *Facts, fail, unknown func(string)) {
		if !n.may(contract.RoleControlPlane) {
			return
		}
		if len(f.Fsync) < enough {
			var all time.Duration
			for _, took := range f.Fsync {
				all += took
			}
			if all >= time.Second {
				fail(fmt.Sprintf("%d writes took %s", len(f.Fsync), short(all)))
			} else if f.UID == "0" {
				unknown(fmt.Sprintf("only %d writes were measured", len(f.Fsync)))
			}
			return
		}
		if p99 := percentile(f.Fsync, 99); p99 > slowest {
			fail(fmt.Sprintf("99 %% of %d writes took at most %s, half of them %s", len(f.Fsync), short(p99), short(percentile(f.Fsync, 50))))
		}
	})
}

// percentile returns the smallest time that is at least as long as this part of the times.
func percentile(times []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

func short(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

func size(bytes int64) string {
	if bytes == math.MaxInt64 {
		return "unlimited space"
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/gib)
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
