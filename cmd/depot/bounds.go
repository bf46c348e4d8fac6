package main

import (
	"fmt"

	"github.com/akraino-icn/bpa/pkg/depot/deadline"
)

// bounds has the connection limits of one listener. The field most is the limit for all connections
// together, and the field each is the limit for one client address.
type bounds struct{ most, each int }

// bounds returns the limits that the flags set. By default one client address may use half of all
// connections, so that the other half stays free for other clients. The default is not lower
// because many nodes may share one address, behind a NAT or a NodePort.
func (c config) bounds() (bounds, error) {
	b := bounds{c.connections, c.perAddress}
	if b.most <= 0 {
		return b, fmt.Errorf("--max-connections=%d allows no connection: give a number of at least 1", b.most)
	}
	if b.each < 0 || b.each > b.most {
		return b, fmt.Errorf("--max-connections-per-address=%d: give a number up to --max-connections (%d), or 0 for half of --max-connections", b.each, b.most)
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
