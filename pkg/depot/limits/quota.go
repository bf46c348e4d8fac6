package limits

import (
	"fmt"
	"net/http"
	"sync"
)

// Meter measures the storage, in bytes.
type Meter interface {
	// Held is what the depot holds, and how much of it is of each of the uploads,
	// -1 if one has ended, all at one moment.
	Held(uploads []string) (held int64, there []int64)
	// Free is the room left on the disk; false where that has no meaning.
	Free() (int64, bool, error)
}

// Quota applies limits. It is safe for concurrent use.
type Quota struct {
	limits Limits
	meter  Meter

	mu       sync.Mutex
	reserved map[string]reservation
	// open is how many of the promises are to uploads.
	open int
}

// reservation is the size that something is going to have.
type reservation struct {
	size int64
	// written is how much of it the disk has, where the meter does not say.
	written int64
	// upload is the folder in which it grows. As long as it has none, or nobody
	// knows, nothing of it is there.
	upload string
	// open says that it counts as an upload under way.
	open bool
}

// NewQuota makes a gate in front of what meter measures.
func NewQuota(l Limits, m Meter) *Quota {
	return &Quota{limits: l, meter: m, reserved: map[string]reservation{}}
}

// Limits are the gate's.
func (g *Quota) Limits() Limits { return g.limits }

// Size refuses what is too large for any upload.
func (g *Quota) Size(size int64) error {
	if g.limits.MaxUpload > 0 && size > g.limits.MaxUpload {
		return &Refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("%d bytes are more than the depot takes in one upload (%d): raise its --max-upload", size, g.limits.MaxUpload)}
	}
	return nil
}

// Reserve promises room for an upload of size bytes, or refuses it.
func (g *Quota) Reserve(key string, size int64) error {
	if err := g.Size(size); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.oneMore(); err != nil {
		return err
	}
	if err := g.checkFree(size); err != nil {
		return err
	}
	g.set(key, reservation{size: size, open: true})
	return nil
}

// oneMore refuses an upload if there are too many.
func (g *Quota) oneMore() error {
	open := g.open
	if pushes, ok := g.meter.(interface{ Pushes() int }); ok {
		open += pushes.Pushes()
	}
	if g.limits.MaxOpen > 0 && open >= g.limits.MaxOpen {
		return &Refusal{http.StatusServiceUnavailable, fmt.Sprintf("%d uploads and pushes are under way, and no more are allowed (--max-open-uploads): finish or delete one, or try again later", open)}
	}
	return nil
}

// Slot counts as an upload until it is released, and takes no room.
func (g *Quota) Slot(key string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.oneMore(); err != nil {
		return err
	}
	g.set(key, reservation{open: true})
	return nil
}

// Hold promises room that is no upload's, or one that the meter counts.
func (g *Quota) Hold(key string, size int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.checkFree(size); err != nil {
		return err
	}
	g.set(key, reservation{size: size})
	return nil
}

// Grow promises room for more bytes of the upload in a folder, beyond what is
// there and what was promised to key before. It returns the size promised then.
// Of an upload that is not known all counts as promised until Release.
func (g *Quota) Grow(key, upload string, more int64) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p, ok := g.reserved[key]
	if !ok {
		if _, there := g.meter.Held([]string{upload}); len(there) > 0 && there[0] >= 0 {
			p = reservation{size: there[0], upload: upload}
		}
	}
	if err := g.Size(max(more, p.size+more)); err != nil { // the sum may be more than a number holds
		return p.size, err
	}
	if err := g.checkFree(more); err != nil {
		return p.size, err
	}
	p.size += more
	g.set(key, p)
	return p.size, nil
}

// Bind says in which folder what was promised grows: from then on what is there
// is no longer promised, but held.
func (g *Quota) Bind(key, upload string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p, ok := g.reserved[key]; ok {
		p.upload = upload
		g.set(key, p)
	}
}

// Inherit promises, without asking, what an upload of an earlier process needs.
func (g *Quota) Inherit(key string, size int64, upload string) {
	if counter, ok := g.meter.(interface{ Expect(string) }); ok {
		counter.Expect(upload)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.set(key, reservation{size: size, upload: upload, open: true})
}

// Less takes bytes off a promise.
func (g *Quota) Less(key string, bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p, ok := g.reserved[key]; ok {
		p.size = max(0, p.size-bytes)
		g.set(key, p)
	}
}

// Written says that the disk has more bytes of what was promised, which nobody
// else knows of.
func (g *Quota) Written(key string, bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p, ok := g.reserved[key]; ok {
		p.written = min(p.size, p.written+bytes)
		g.set(key, p)
	}
}

// Place has a plain file moved to its name, by which what was promised for it
// becomes held.
func (g *Quota) Place(key, name string, move func() error) error {
	counter, ok := g.meter.(interface {
		Place(name string, move func() error) error
	})
	if !ok {
		return move()
	}
	g.mu.Lock() // nobody is to see the file twice, as promised and as held
	defer g.mu.Unlock()
	err := counter.Place(name, move)
	if p, ok := g.reserved[key]; ok && err == nil {
		p.size, p.written = 0, 0
		g.set(key, p)
	}
	return err
}

// Release ends a promise.
func (g *Quota) Release(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reserved[key].open {
		g.open--
	}
	delete(g.reserved, key)
}

func (g *Quota) set(key string, p reservation) {
	if p.open && !g.reserved[key].open {
		g.open++
	}
	g.reserved[key] = p
}
