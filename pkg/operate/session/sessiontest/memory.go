package sessiontest

import (
	"context"
	"sync"
)

// Memory is a Store in memory. The zero value is empty and ready for use. Tests read and change data
// while no run uses the store.
type Memory struct {
	mu     sync.Mutex
	Data   map[string]string
	Writes int   // the number of successful calls of Set
	Err    error // what Get and Set return; nil: they succeed
}

// Get implements session.Store.
func (m *Memory) Get(_ context.Context, key string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Data[key], m.Err
}

// Set implements session.Store.
func (m *Memory) Set(_ context.Context, key, value string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Err != nil {
		return m.Err
	}
	if m.Data == nil {
		m.Data = map[string]string{}
	}
	m.Data[key] = value
	m.Writes++
	return nil
}
