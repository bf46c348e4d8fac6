package assign

import "slices"

// mayTake reports whether a host can be in a bin while every pinned slot has its host that can have it.
func (t *twin) mayTake(b, h int) bool {
	if t.bins[b].mac != "" {
		return t.isPin(b, h)
	}
	return t.left[h] && t.obstacle(t.bins[b], h) == nothing
}

// isPin reports whether a host is the only one with the MAC address of a pinned bin, and can be had for it.
func (t *twin) isPin(b, h int) bool {
	owners := 0
	for _, host := range t.hosts {
		owners += count(slices.Contains(host.MACs, t.bins[b].mac))
	}
	return owners == 1 && slices.Contains(t.hosts[h].MACs, t.bins[b].mac) && t.obstacle(t.bins[b], h) == nothing
}

// leftByPins tries every way to seat the pinned slots. A host is left to others if some way without it seats as many of them as any way does.
func (t *twin) leftByPins() []bool {
	var pinned []int
	for b, bin := range t.bins {
		if bin.mac != "" && bin.places > 0 {
			pinned = append(pinned, b)
		}
	}
	left, most, used := make([]bool, len(t.hosts)), -1, make([]bool, len(t.hosts))
	var seat func(n, seated int)
	seat = func(n, seated int) {
		if n == len(pinned) {
			if seated > most {
				most = seated
				clear(left)
			}
			for h := range left {
				left[h] = left[h] || seated == most && !used[h]
			}
			return
		}
		seat(n+1, seated)
		for h := range used {
			if !used[h] && t.isPin(pinned[n], h) {
				used[h] = true
				seat(n+1, seated+1)
				used[h] = false
			}
		}
	}
	seat(0, 0)
	return left
}
