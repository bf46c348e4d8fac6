package kubespray

import (
	"context"
	"sync"
)

// memory is a Store in memory. The zero value is empty and ready for use. Tests read and change data
// while no run uses the store.
type memory struct {
	mu     sync.Mutex
	data   map[string]string
	writes int   // the number of successful calls of Set
	err    error // what Get and Set return; nil: they succeed
}

// Get implements session.Store.
func (m *memory) Get(_ context.Context, key string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.data[key], m.err
}

// Set implements session.Store.
func (m *memory) Set(_ context.Context, key, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	if m.data == nil {
		m.data = map[string]string{}
	}
	m.data[key] = value
	m.writes++
	return nil
}
