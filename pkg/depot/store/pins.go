package store

import (
	"context"
	"encoding/hex"
	"errors"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/distribution/distribution/v3"
	"github.com/opencontainers/go-digest"
)

// A garbage collection may run while clients use the store. An operation therefore pins the content
// that it relies on: first it pins, then it checks that the content is there, then it stores what
// refers to the content. A collection removes content only through Collection.Remove, which does
// nothing if the content is pinned, or was pinned at any time since the collection began. So
// whichever of the two comes first, the other one notices:
//
//   - If the operation pins first, the content stays.
//   - If the collection removes first, the operation finds that the content is absent.
//
// An operation that ended before the collection began needs no pin: the collection reads what the
// operation has stored.

// Key is a short form of a digest, of which a collection holds one for each blob in memory. Two
// digests may have the same key. Content whose key is in use therefore stays, even if nothing
// refers to it: the error is on the safe side.
type Key uint64

// KeyOf returns the key of a digest, which must be valid.
func KeyOf(d digest.Digest) Key {
	var k Key
	var raw [8]byte
	_, _ = hex.Decode(raw[:], []byte(d.Encoded()[:2*len(raw)])) // a valid digest is hexadecimal
	for _, b := range raw {
		k = k<<8 | Key(b)
	}
	return k
}

// pinStripes is the number of locks. A removal delays only the operations on content of the same
// lock.
const pinStripes = 64

// remembered is how long the depot remembers that a client asked for content and was told that the
// content is there. It is forgotten after at most twice this time.
const remembered = time.Hour

type pinStripe struct {
	sync.Mutex
	// held counts the operations that pin content.
	held map[Key]int
	// touched has the content that was pinned since the collection began; nil if none is running.
	touched map[Key]struct{}
	// asked and before have the content for which clients asked: since turned, and in the time
	// before that.
	asked, before map[Key]struct{}
	turned        time.Time
}

type pins struct {
	stripes [pinStripes]pinStripe
	// running is held by the collection that runs.
	running sync.Mutex
}

func (p *pins) of(k Key) *pinStripe { return &p.stripes[uint64(k)>>56%pinStripes] }

func (s *Store) pin(k Key) {
	stripe := s.pins.of(k)
	if !stripe.TryLock() {
		if s.Waiting != nil {
			s.Waiting()
		}
		stripe.Lock()
	}
	defer stripe.Unlock()
	if stripe.held == nil {
		stripe.held = map[Key]int{}
	}
	stripe.held[k]++
	if stripe.touched != nil {
		stripe.touched[k] = struct{}{}
	}
}

func (s *Store) unpin(k Key) {
	stripe := s.pins.of(k)
	stripe.Lock()
	defer stripe.Unlock()
	if stripe.held[k]--; stripe.held[k] == 0 {
		delete(stripe.held, k)
	}
}

// Pin keeps content from being removed by a collection until release is called, and until the end
// of a collection that is running. The content may be absent. Pin waits while a collection removes
// content of the same lock, which takes as long as one call of the storage.
func (s *Store) Pin(digests ...digest.Digest) (release func()) {
	h := &holder{store: s}
	for _, d := range digests {
		h.pin(d)
	}
	return h.release
}

// PinManifest pins a manifest of a repository and the content that it refers to.
func (s *Store) PinManifest(ctx context.Context, repository string, d digest.Digest, manifest distribution.Manifest) (release func()) {
	h := &holder{store: s}
	h.pin(d)
	for _, part := range manifest.References() {
		h.pin(part.Digest)
		if part.Digest.Algorithm() == digest.SHA256 {
			continue
		}
		// The store keeps the content under its sha256, to which links of the repository point.
		if kept, err := s.Linked(ctx, repository, part.Digest); err == nil {
			h.pin(kept.Digest)
		}
		if kept, err := s.Kept(ctx, repository, part.Digest); err == nil {
			h.pin(kept)
		}
	}
	return h.release
}

// Asked records that a client was told that content is there. The client may rely on that for some
// time, for example until it has pushed the rest of an image. See Collection.Asked.
func (s *Store) Asked(d digest.Digest) {
	if d.Validate() != nil {
		return
	}
	k, now := KeyOf(d), time.Now()
	stripe := s.pins.of(k)
	stripe.Lock()
	defer stripe.Unlock()
	stripe.turn(now)
	stripe.asked[k] = struct{}{}
	if stripe.touched != nil {
		stripe.touched[k] = struct{}{}
	}
}

// turn forgets what was asked too long ago. The caller holds the lock.
func (p *pinStripe) turn(now time.Time) {
	age := now.Sub(p.turned)
	switch {
	case p.asked != nil && age < remembered:
		return
	case age < 2*remembered:
		p.before = p.asked
	default:
		p.before = nil
	}
	p.asked, p.turned = map[Key]struct{}{}, now
}

// holder holds pins. It is safe for concurrent use.
type holder struct {
	store *Store
	mu    sync.Mutex
	keys  []Key
}

func (h *holder) pin(d digest.Digest) {
	if d.Validate() != nil {
		return // no blob has this digest
	}
	k := KeyOf(d)
	h.store.pin(k)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys = append(h.keys, k)
}

func (h *holder) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.keys {
		h.store.unpin(k)
	}
	h.keys = nil
}

type holderKey struct{}

// pinning returns a context with which the driver pins each blob that it writes, until release is
// called. The digest of an upload is known only when the driver gives the bytes their name.
func (s *Store) pinning(ctx context.Context) (_ context.Context, release func()) {
	h := &holder{store: s}
	return context.WithValue(ctx, holderKey{}, h), h.release
}

// pinWritten pins the blob at a path of the driver, if ctx is of pinning.
func pinWritten(ctx context.Context, at string) {
	h, ok := ctx.Value(holderKey{}).(*holder)
	if !ok || !strings.HasPrefix(at, BlobsPath+"/") {
		return
	}
	place := path.Dir(at)
	h.pin(digest.NewDigestFromEncoded(digest.Algorithm(path.Base(path.Dir(path.Dir(place)))), path.Base(place)))
}

// ErrCollecting means that a collection is running already.
var ErrCollecting = errors.New("a garbage collection is running already")

// Collection is a garbage collection that may run while clients use the store. It must read what
// refers to content only after it has begun.
type Collection struct{ store *Store }

// Collect begins a collection. The error is ErrCollecting if one is running already.
func (s *Store) Collect() (*Collection, error) {
	if !s.pins.running.TryLock() {
		return nil, ErrCollecting
	}
	for i := range s.pins.stripes {
		stripe := &s.pins.stripes[i]
		stripe.Lock()
		stripe.touched = make(map[Key]struct{}, len(stripe.held))
		for k := range stripe.held {
			stripe.touched[k] = struct{}{}
		}
		stripe.Unlock()
	}
	return &Collection{s}, nil
}

// End ends the collection.
func (c *Collection) End() {
	for i := range c.store.pins.stripes {
		stripe := &c.store.pins.stripes[i]
		stripe.Lock()
		stripe.touched = nil
		stripe.Unlock()
	}
	c.store.pins.running.Unlock()
}

// Asked reports whether a client was told in the last hour that the content is there.
func (c *Collection) Asked(k Key) bool {
	stripe := c.store.pins.of(k)
	stripe.Lock()
	defer stripe.Unlock()
	stripe.turn(time.Now())
	_, now := stripe.asked[k]
	_, before := stripe.before[k]
	return now || before
}

// Pinned reports whether an operation has relied on the content since the collection began.
func (c *Collection) Pinned(k Key) bool {
	stripe := c.store.pins.of(k)
	stripe.Lock()
	defer stripe.Unlock()
	_, touched := stripe.touched[k]
	return touched
}

// Remove calls remove, unless an operation has relied on the content since the collection began. No
// operation can begin to rely on the content until remove returns.
func (c *Collection) Remove(k Key, remove func() error) (removed bool, err error) {
	stripe := c.store.pins.of(k)
	stripe.Lock()
	defer stripe.Unlock()
	if _, touched := stripe.touched[k]; touched {
		return false, nil
	}
	return true, remove()
}
