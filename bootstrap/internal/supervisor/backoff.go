package supervisor

import "time"

const (
	firstPause = 200 * time.Millisecond
	maxPause   = 15 * time.Second
	steady     = 30 * time.Second // a program that ran this long is healthy: its next exit starts from the first pause
)

// pause says how long to wait before a restart, from the pause before and the time that the program then ran.
func pause(last, ran time.Duration) time.Duration {
	if last == 0 || ran >= steady {
		return firstPause
	}
	return min(2*last, maxPause)
}
