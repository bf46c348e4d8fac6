package cache

import "sync"

// mostPooled is the maximum number of values in a pool. A full pool is emptied, because so many
// different values mean that hosts rarely share one.
const mostPooled = 8192

// pool keeps one value for each key, so that many hosts can share it. The values must not be
// changed.
type pool[T any] struct {
	mu   sync.Mutex
	kept map[string]T
}

// get returns the value of a key. If the pool does not have the value, get creates it by calling
// the function first.
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
