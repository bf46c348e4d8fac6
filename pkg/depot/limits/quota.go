package limits

import (
	"fmt"
	"net/http"
	"sync"
)

// Meter measures the storage, in bytes.
type Meter interface {
	// Held returns the bytes that the depot holds, and how many of them belong to each of the given
	// upload folders; -1 for an upload that has ended. All numbers are from the same moment.
	Held(uploads []string) (held int64, there []int64)
	// Free returns the free disk space. It returns false if the storage has no such limit.
	Free() (int64, bool, error)
}

// Quota applies Limits and keeps reservations, each under a key of the caller. It is safe for
// concurrent use. Its methods return a *Refusal if a limit would be exceeded.
type Quota struct {
	limits Limits
	meter  Meter

	mu       sync.Mutex
	reserved map[string]reservation
	// open is the number of reservations that count as open uploads.
	open int
	// owned has the bytes of the complete artifacts of each owner whose artifacts were counted.
	owned map[string]int64
}

// reservation is disk space for content that is being written.
type reservation struct {
	// size is the final size of the content in bytes.
	size int64
	// written is how many of these bytes are on the disk, for content whose folder is not known.
	written int64
	// upload is the folder in which the content grows. Its bytes there count as held. Empty: the
	// folder is not known, and all of size counts as reserved.
	upload string
	// open is set if the reservation counts as an open upload.
	open bool
	// owner has the share to which the upload counts, and share is how many bytes.
	owner string
	share int64
}

// NewQuota returns a Quota that applies l to the storage that m measures.
func NewQuota(l Limits, m Meter) *Quota {
	return &Quota{limits: l, meter: m, reserved: map[string]reservation{}, owned: map[string]int64{}}
}

// Limits returns the limits that the quota applies.
func (q *Quota) Limits() Limits { return q.limits }

// Size refuses an upload that is larger than MaxUpload.
func (q *Quota) Size(size int64) error {
	if q.limits.MaxUpload > 0 && size > q.limits.MaxUpload {
		return &Refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("%d bytes are more than the depot accepts in one upload (%d): raise its --max-upload", size, q.limits.MaxUpload)}
	}
	return nil
}

// Reserve opens an upload and reserves size bytes for it until Release.
func (q *Quota) Reserve(key string, size int64) error {
	return q.ReserveFor(key, size, Account{})
}

// ReserveFor is Reserve for an artifact of an account. If the quota has shares, the owner must be
// known, see Know.
func (q *Quota) ReserveFor(key string, size int64, a Account) error {
	if err := q.Size(size); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.checkOpen(); err != nil {
		return err
	}
	if err := q.checkFor(a, size); err != nil {
		return err
	}
	q.set(key, reservation{size: size, open: true, owner: a.Owner, share: size})
	return nil
}

// checkOpen refuses a new upload if too many are open. The caller holds q.mu.
func (q *Quota) checkOpen() error {
	open := q.open
	if pushes, ok := q.meter.(interface{ Pushes() int }); ok {
		open += pushes.Pushes()
	}
	if q.limits.MaxOpen > 0 && open >= q.limits.MaxOpen {
		return &Refusal{http.StatusServiceUnavailable, fmt.Sprintf("%d uploads and pushes are under way, and more are not allowed (--max-open-uploads): finish or delete one, or try again later", open)}
	}
	return nil
}

// Slot opens an upload without reserving space. It counts as open until Release.
func (q *Quota) Slot(key string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.checkOpen(); err != nil {
		return err
	}
	q.set(key, reservation{open: true})
	return nil
}

// Hold reserves size bytes without opening an upload.
func (q *Quota) Hold(key string, size int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.checkFree(size); err != nil {
		return err
	}
	q.set(key, reservation{size: size})
	return nil
}

// Grow adds a number of bytes, more, to the reservation of key, for the upload whose folder is
// upload. If key has no reservation yet, the new one also includes the bytes that the folder has
// already. Grow returns the size of the whole reservation. If the meter does not know the upload,
// the whole size counts as reserved until Release.
func (q *Quota) Grow(key, upload string, more int64) (int64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, ok := q.reserved[key]
	if !ok {
		if _, there := q.meter.Held([]string{upload}); len(there) > 0 && there[0] >= 0 {
			r = reservation{size: there[0], upload: upload}
		}
	}
	if err := q.Size(max(more, r.size+more)); err != nil { // the sum may overflow
		return r.size, err
	}
	if err := q.checkFree(more); err != nil {
		return r.size, err
	}
	r.size += more
	q.set(key, r)
	return r.size, nil
}

// Bind sets the folder in which the content of a reservation grows. From then on, the bytes in that
// folder count as held and no longer as reserved.
func (q *Quota) Bind(key, upload string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r, ok := q.reserved[key]; ok {
		r.upload = upload
		q.set(key, r)
	}
}

// Inherit opens an upload of an earlier process and reserves size bytes for it, without checking
// the limits.
func (q *Quota) Inherit(key string, size int64, upload string, a Account) {
	if usage, ok := q.meter.(interface{ Expect(string) }); ok {
		usage.Expect(upload)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.set(key, reservation{size: size, upload: upload, open: true, owner: a.Owner, share: size})
}

// Less reduces a reservation by a number of bytes.
func (q *Quota) Less(key string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r, ok := q.reserved[key]; ok {
		r.size = max(0, r.size-bytes)
		q.set(key, r)
	}
}

// Written records that more bytes of a reservation are on the disk. It is for content that the
// meter does not count while it is written, such as plain files.
func (q *Quota) Written(key string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r, ok := q.reserved[key]; ok {
		r.written = min(r.size, r.written+bytes)
		q.set(key, r)
	}
}

// Place calls move, which gives a plain file its name. If move succeeds, the file's bytes count as
// held and no longer as reserved.
func (q *Quota) Place(key, name string, move func() error) error {
	usage, ok := q.meter.(interface {
		Place(name string, move func() error) error
	})
	if !ok {
		return move()
	}
	q.mu.Lock() // other requests must never see the file as reserved and as held
	defer q.mu.Unlock()
	err := usage.Place(name, move)
	if r, ok := q.reserved[key]; ok && err == nil {
		r.size, r.written = 0, 0
		q.set(key, r)
	}
	return err
}

// Release ends a reservation. It does nothing for an unknown key.
func (q *Quota) Release(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.reserved[key].open {
		q.open--
	}
	delete(q.reserved, key)
}

func (q *Quota) set(key string, r reservation) {
	if r.open && !q.reserved[key].open {
		q.open++
	}
	q.reserved[key] = r
}
