package supervisor

import "time"

const (
	minBackoff  = 200 * time.Millisecond
	maxBackoff  = 15 * time.Second
	stableAfter = 30 * time.Second // after a run of this length, the backoff starts at minBackoff again
)

// nextBackoff returns the time to wait before a restart. last is the previous backoff (0 before the
// first restart), and ran is the time that the program ran after it.
func nextBackoff(last, ran time.Duration) time.Duration {
	if last == 0 || ran >= stableAfter {
		return minBackoff
	}
	return min(2*last, maxBackoff)
}
