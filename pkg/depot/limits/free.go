package limits

import (
	"errors"
	"fmt"
	"net/http"
)

// checkFree returns a *Refusal if there is no room for another size bytes, in the quota or on the
// disk, in addition to the held and the reserved bytes and to those that only Backups may use. The
// caller holds q.mu.
func (q *Quota) checkFree(size int64) error {
	if err := q.fits(size, 0); err != nil || q.limits.BackupReserve == 0 {
		return err
	}
	err := q.fits(size, q.limits.BackupReserve)
	var full *Refusal
	if errors.As(err, &full) {
		return &Refusal{full.Status, fmt.Sprintf("%d bytes do not fit: the last %d bytes of the depot's space are for Backups only: delete artifacts and collect garbage (kubectl bpa depot gc), or lower --backup-reserve", size, q.limits.BackupReserve)}
	}
	return err
}

// checkFor is checkFree for an upload of an account.
func (q *Quota) checkFor(a Account, size int64) error {
	if err := q.checkShare(a.Owner, size); err != nil {
		return err
	}
	if a.Backup {
		return q.fits(size, 0)
	}
	return q.checkFree(size)
}

// fits returns a *Refusal if there is no room for size bytes beside the reserve. The caller holds
// q.mu.
func (q *Quota) fits(size, reserve int64) error {
	held, reserved, written := q.totals()
	if left := q.limits.Quota - held - reserved - reserve; q.limits.Quota > 0 && size > left {
		return &Refusal{http.StatusInsufficientStorage, fmt.Sprintf("%d bytes do not fit in the depot's quota: it holds %d of %d bytes, and %d are reserved for open uploads: delete artifacts and collect garbage, or raise --quota", size, held, q.limits.Quota, reserved)}
	}
	free, ok, err := q.meter.Free()
	if err != nil {
		return fmt.Errorf("measure the depot's disk: %w", err)
	}
	reserved -= written
	if left := free - q.limits.MinFree - reserved - reserve; ok && size > left {
		return &Refusal{http.StatusInsufficientStorage, fmt.Sprintf("%d bytes do not fit on the depot's disk: %d are free, of which %d are reserved for open uploads and %d must stay free: free some disk space, or lower --min-free", size, free, reserved, q.limits.MinFree)}
	}
	return nil
}

// totals returns the held bytes, the reserved bytes that do not count as held, and how many of
// these reserved bytes are on the disk already.
func (q *Quota) totals() (held, reserved, written int64) {
	var uploads []string
	var sizes []int64
	for _, r := range q.reserved {
		if r.upload == "" {
			reserved, written = reserved+r.size, written+r.written
			continue
		}
		uploads, sizes = append(uploads, r.upload), append(sizes, r.size)
	}
	held, there := q.meter.Held(uploads)
	for i, size := range sizes {
		var bytes int64
		if i < len(there) {
			bytes = there[i]
		}
		if bytes >= 0 { // else the upload has become a blob, or was removed
			reserved += max(0, size-bytes)
		}
	}
	return held, reserved, written
}
