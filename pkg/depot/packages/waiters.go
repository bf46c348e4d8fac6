package packages

import "sync"

// These are the largest numbers of requests that wait, in all and for one client address. A waiting
// request takes a place among the connections of its listener, so it must not take most of them.
const (
	maxWaiters        = 128
	maxClientsWaiters = 8
)

// waiters counts the requests that wait, by client address.
type waiters struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

func newWaiters() *waiters { return &waiters{of: map[string]int{}} }

// enter reports whether a request of a client may wait. If it may, the caller must call leave.
func (w *waiters) enter(client string) (leave func(), ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all >= maxWaiters || w.of[client] >= maxClientsWaiters {
		return nil, false
	}
	w.all++
	w.of[client]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.all--
		if w.of[client]--; w.of[client] == 0 {
			delete(w.of, client)
		}
	}, true
}
