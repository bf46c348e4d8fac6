package main

import (
	"fmt"

	"github.com/akraino-icn/bpa/pkg/depot/deadline"
)

// bounds of a listener: most connections at a time, and each of them for one client address.
type bounds struct{ most, each int }

// bounds leave half of all connections to others by default, whatever one address does. Many nodes may share an address, behind a NAT or a
// NodePort, so it is no less.
func (c config) bounds() (bounds, error) {
	b := bounds{c.connections, c.perAddress}
	if b.most <= 0 {
		return b, fmt.Errorf("--max-connections=%d lets nobody in", b.most)
	}
	if b.each < 0 || b.each > b.most {
		return b, fmt.Errorf("--max-connections-per-address=%d: give a number up to that of --max-connections (%d), or 0 for half of it", b.each, b.most)
	}
	if b.each == 0 {
		b.each = max(1, b.most/2)
	}
	if c.minRate <= 0 {
		return b, fmt.Errorf("--min-rate=%d: give a number of bytes per second, at least 1", c.minRate)
	}
	return b, nil
}

func (c config) deadlines() deadline.Limits {
	limits := deadline.Default()
	limits.Rate = int64(c.minRate)
	return limits
}
