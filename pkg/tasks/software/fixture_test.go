package software

import (
	"context"
	"sync"
)

// memory is a Store.
type memory struct {
	mu     sync.Mutex
	data   map[string]string
	writes []string // values
}

func (m *memory) Get(_ context.Context, key string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.data[key], nil
}

func (m *memory) Set(_ context.Context, key, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.data == nil {
		m.data = map[string]string{}
	}
	m.data[key] = value
	m.writes = append(m.writes, value)
	return nil
}
