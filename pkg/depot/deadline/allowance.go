package deadline

import "time"

// Limits say how long a peer may let the server wait, in each direction.
type Limits struct {
	// First is how long that is before any byte has moved.
	First time.Duration
	// Pause is the longest wait that bytes earn.
	Pause time.Duration
	// Rate is the least average speed, in bytes per second: each byte that moves
	// earns 1/Rate s.
	Rate int64
}

// Default cuts a silent peer off after 10 s, and one that is slower than
// 8 KiB/s within 2 min.
func Default() Limits { return Limits{First: 10 * time.Second, Pause: 2 * time.Minute, Rate: 8 << 10} }

// earned is the time that n bytes are worth.
func (l Limits) earned(n int64) time.Duration {
	return time.Duration(float64(n) / float64(l.Rate) * float64(time.Second))
}

// allowance is how long a peer may still let the server wait in one direction.
// Time in which the server itself is busy does not count.
type allowance struct {
	limits Limits
	left   time.Duration
}

func (l Limits) allowance() allowance { return allowance{l, l.First} }

// moved accounts for n bytes that took some time.
func (a *allowance) moved(n int64, took time.Duration) {
	a.left = max(0, min(a.limits.Pause, a.left-took+a.limits.earned(n)))
}
