package limits

import (
	"fmt"
	"net/http"
)

// checkFree refuses size more bytes if they do not fit beside what is promised. The caller holds g.mu.
func (g *Quota) checkFree(size int64) error {
	held, reserved, written := g.books()
	if left := g.limits.Quota - held - reserved; g.limits.Quota > 0 && size > left {
		return &Refusal{http.StatusInsufficientStorage, fmt.Sprintf("%d bytes do not fit in the depot's quota: it holds %d of %d bytes, and %d are promised to open uploads: delete something and collect garbage, or raise --quota", size, held, g.limits.Quota, reserved)}
	}
	free, ok, err := g.meter.Free()
	if err != nil {
		return fmt.Errorf("measure the depot's disk: %w", err)
	}
	reserved -= written
	if left := free - g.limits.MinFree - reserved; ok && size > left {
		return &Refusal{http.StatusInsufficientStorage, fmt.Sprintf("%d bytes do not fit on the depot's disk: %d are free, of which %d are promised to open uploads and %d are to stay free: make room, or lower --min-free", size, free, reserved, g.limits.MinFree)}
	}
	return nil
}

// books are what is held, what is promised beyond that, and how much of this
// the disk has already.
func (g *Quota) books() (held, reserved, written int64) {
	var uploads []string
	var sizes []int64
	for _, p := range g.reserved {
		if p.upload == "" {
			reserved, written = reserved+p.size, written+p.written
			continue
		}
		uploads, sizes = append(uploads, p.upload), append(sizes, p.size)
	}
	held, there := g.meter.Held(uploads)
	for i, size := range sizes {
		var bytes int64
		if i < len(there) {
			bytes = there[i]
		}
		if bytes >= 0 { // else it is a blob by now, or gone
			reserved += max(0, size-bytes)
		}
	}
	return held, reserved, written
}
