package cache

import "sync"

// mostPooled limits the size of a pool. A full pool is emptied, because its values then have little
// in common.
const mostPooled = 8192

// pool keeps one value for each key, so that many hosts can share it. The values must not be
// changed.
type pool[T any] struct {
	mu   sync.Mutex
	kept map[string]T
}

// get returns the value of a key, and calls first to create it if the pool does not have it.
func (p *pool[T]) get(key string, first func() T) T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if value, ok := p.kept[key]; ok {
		return value
	}
	if p.kept == nil || len(p.kept) >= mostPooled {
		p.kept = map[string]T{}
	}
	value := first()
	p.kept[key] = value
	return value
}
