package drain

import (
	"bytes"
	"strings"
	"sync"

	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// lastRefusal keeps the last line about an eviction that the API server has refused and that is tried again. It names the
// PodDisruptionBudget. The library writes from several goroutines.
type lastRefusal struct {
	mu   sync.Mutex
	line string
}

func (l *lastRefusal) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(p) {
		if text := strings.TrimSpace(string(line)); strings.Contains(text, "evict") {
			l.line = text
		}
	}
	return len(p), nil
}

func (l *lastRefusal) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return task.Printable(l.line, 400)
}
