package deadline

import "time"

// Limits limit how long a client may let the server wait, separately for each direction.
type Limits struct {
	// First is the longest wait before the first byte.
	First time.Duration
	// Pause limits the waiting time that a client can earn by the bytes that it transfers.
	Pause time.Duration
	// Rate is the lowest average speed in bytes per second: each transferred byte earns 1/Rate
	// seconds.
	Rate int64
}

// Default returns limits that cut off a client that transfers nothing in the first 10 s, or that
// later pauses for more than 2 min. They also cut off a client whose average speed stays below
// 8 KiB/s, once it has used up the waiting time that it earned before.
func Default() Limits { return Limits{First: 10 * time.Second, Pause: 2 * time.Minute, Rate: 8 << 10} }

// earned returns the waiting time that n bytes earn.
func (l Limits) earned(n int64) time.Duration {
	return time.Duration(float64(n) / float64(l.Rate) * float64(time.Second))
}

// allowance is the time that a client may still let the server wait in one direction. Time in which
// the server itself is busy does not count.
type allowance struct {
	limits Limits
	left   time.Duration
}

func (l Limits) allowance() allowance { return allowance{l, l.First} }

// moved accounts for the transfer of n bytes in the given time.
func (a *allowance) moved(n int64, took time.Duration) {
	a.left = max(0, min(a.limits.Pause, a.left-took+a.limits.earned(n)))
}
