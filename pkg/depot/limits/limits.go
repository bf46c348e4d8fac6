package limits

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Limits of a depot. A zero means no limit.
type Limits struct {
	// MaxUpload is the largest upload, and the most that an archive may hold, in bytes.
	MaxUpload int64
	// MaxOpen is how many uploads may be under way.
	MaxOpen int
	// Expiry is how long an upload may rest before it is removed.
	Expiry time.Duration
	// Quota is how many bytes the depot may hold.
	Quota int64
	// MinFree is how many bytes of the disk stay free.
	MinFree int64
}

// Refusal says why an upload is not taken. Its status is an HTTP one.
type Refusal struct {
	Status int
	Text   string
}

func (r *Refusal) Error() string { return r.Text }

// Meter measures the storage, in bytes.
type Meter interface {
	// Used is what the depot holds. It may be some seconds old.
	Used() (int64, error)
	// Free is the room left on the disk; false where that has no meaning.
	Free() (int64, bool, error)
}

// Gate applies limits. It is safe for concurrent use.
type Gate struct {
	limits Limits
	meter  Meter

	mu       sync.Mutex
	promised map[string]promise
	// total is the sum of all promises.
	total promise
}

// promise is what an open upload may take: the whole of it of the quota, for
// nothing of it counts as held yet, and of the disk what has not come.
type promise struct{ quota, disk int64 }

// NewGate makes a gate in front of what meter measures.
func NewGate(l Limits, m Meter) *Gate {
	return &Gate{limits: l, meter: m, promised: map[string]promise{}}
}

// Limits are the gate's.
func (g *Gate) Limits() Limits { return g.limits }

// Reserve promises room for an upload of size bytes, or refuses it.
func (g *Gate) Reserve(key string, size int64) error {
	if err := g.Size(size); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.limits.MaxOpen > 0 && len(g.promised) >= g.limits.MaxOpen {
		return &Refusal{http.StatusServiceUnavailable, fmt.Sprintf("%d uploads are under way, and no more are allowed: finish or delete one, or try again later", len(g.promised))}
	}
	if err := g.room(size); err != nil {
		return err
	}
	g.set(key, promise{size, size})
	return nil
}

// Size refuses what is too large for any upload.
func (g *Gate) Size(size int64) error {
	if g.limits.MaxUpload > 0 && size > g.limits.MaxUpload {
		return &Refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("%d bytes are more than the depot takes in one upload (%d): raise its --max-upload", size, g.limits.MaxUpload)}
	}
	return nil
}

// Room refuses size more bytes if they do not fit beside what is promised.
func (g *Gate) Room(size int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.room(size)
}

func (g *Gate) room(size int64) error {
	if g.limits.Quota > 0 {
		used, err := g.meter.Used()
		if err != nil {
			return fmt.Errorf("measure what the depot holds: %w", err)
		}
		if left := g.limits.Quota - used - g.total.quota; size > left {
			return &Refusal{http.StatusInsufficientStorage, fmt.Sprintf("%d bytes do not fit in the depot's quota: it holds %d of %d bytes, and %d are promised to open uploads: delete something and collect garbage, or raise --quota", size, used, g.limits.Quota, g.total.quota)}
		}
	}
	free, ok, err := g.meter.Free()
	if err != nil {
		return fmt.Errorf("measure the depot's disk: %w", err)
	}
	if left := free - g.limits.MinFree - g.total.disk; ok && size > left {
		return &Refusal{http.StatusInsufficientStorage, fmt.Sprintf("%d bytes do not fit on the depot's disk: %d are free, of which %d are promised to open uploads and %d are to stay free: make room, or lower --min-free", size, free, g.total.disk, g.limits.MinFree)}
	}
	return nil
}

// Keep notes what an upload of size bytes that was accepted still needs,
// without asking.
func (g *Gate) Keep(key string, size, remaining int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set(key, promise{size, remaining})
}

// Release ends the promise to an upload.
func (g *Gate) Release(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set(key, promise{})
	delete(g.promised, key)
}

func (g *Gate) set(key string, p promise) {
	old := g.promised[key]
	g.total.quota += p.quota - old.quota
	g.total.disk += p.disk - old.disk
	g.promised[key] = p
}
