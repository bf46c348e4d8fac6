package cache

import "sync"

// mostPooled bounds a pool: in a world where everything differs it starts anew.
const mostPooled = 8192

// pool keeps one value for each key, for many that hold the same. The values are shared: nobody may change them.
type pool[T any] struct {
	mu   sync.Mutex
	kept map[string]T
}

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
