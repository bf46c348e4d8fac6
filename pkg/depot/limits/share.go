package limits

import (
	"fmt"
	"net/http"
)

// Account says to whose share an upload counts. The zero value counts to none.
type Account struct {
	// Owner is the owner of the artifact.
	Owner string
	// Backup means that the upload may use the space that is reserved for Backups.
	Backup bool
}

// Known reports whether the artifacts of an owner need not be counted: they were counted, or there
// are no shares.
func (q *Quota) Known(owner string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, known := q.owned[owner]
	return known || q.limits.NamespaceShare <= 0
}

// Know sets the bytes of an owner's complete artifacts. No artifact of the owner may change between
// the count and this call.
func (q *Quota) Know(owner string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.owned[owner] = bytes
}

// Forget makes an owner unknown, so that its artifacts are counted again.
func (q *Quota) Forget(owner string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.owned, owner)
}

// Publish moves the bytes of a reservation to the complete artifacts of its owner.
func (q *Quota) Publish(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, ok := q.reserved[key]
	if !ok {
		return
	}
	if _, known := q.owned[r.owner]; known {
		q.owned[r.owner] += r.share
	}
	r.share = 0
	q.set(key, r)
}

// Removed subtracts the bytes of an artifact that was removed.
func (q *Quota) Removed(owner string, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if held, known := q.owned[owner]; known {
		q.owned[owner] = max(0, held-bytes)
	}
}

// checkShare returns a *Refusal if size bytes do not fit in the share of an owner. The caller holds
// q.mu.
func (q *Quota) checkShare(owner string, size int64) error {
	share := q.limits.NamespaceShare
	if share <= 0 || owner == "" {
		return nil
	}
	var open int64
	for _, r := range q.reserved {
		if r.owner == owner {
			open += r.share
		}
	}
	if held := q.owned[owner]; size > share-held-open {
		return &Refusal{http.StatusInsufficientStorage, fmt.Sprintf("%d bytes do not fit in the share of namespace %s: its artifacts have %d of %d bytes, and %d are reserved for its open uploads: delete artifacts of %s, or raise --namespace-share", size, owner, held, share, open, owner)}
	}
	return nil
}
