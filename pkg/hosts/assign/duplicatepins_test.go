package assign

import "slices"

// mayTake reports whether a host can have a place of a class without taking it from a pinned slot
// that needs it.
func (t *reference) mayTake(b, h int) bool {
	if t.classes[b].mac != "" {
		return t.isPin(b, h)
	}
	return t.left[h] && t.obstacle(t.classes[b], h) == noObstacle
}

// isPin reports whether a host is usable for a pinned class and is the only host with its MAC
// address.
func (t *reference) isPin(b, h int) bool {
	owners := 0
	for _, host := range t.hosts {
		owners += count(slices.Contains(host.MACs, t.classes[b].mac))
	}
	return owners == 1 && slices.Contains(t.hosts[h].MACs, t.classes[b].mac) && t.obstacle(t.classes[b], h) == noObstacle
}

// leftByPins finds the hosts that the pinned slots do not need. It tries every placement of the
// pinned slots, and finds the maximum number of slots that can be placed. A host is not needed if
// this maximum can also be reached without the host.
func (t *reference) leftByPins() []bool {
	var pinned []int
	for b, class := range t.classes {
		if class.mac != "" && class.places > 0 {
			pinned = append(pinned, b)
		}
	}
	left, most, used := make([]bool, len(t.hosts)), -1, make([]bool, len(t.hosts))
	var slot func(n, placed int)
	slot = func(n, placed int) {
		if n == len(pinned) {
			if placed > most {
				most = placed
				clear(left)
			}
			for h := range left {
				left[h] = left[h] || placed == most && !used[h]
			}
			return
		}
		slot(n+1, placed)
		for h := range used {
			if !used[h] && t.isPin(pinned[n], h) {
				used[h] = true
				slot(n+1, placed+1)
				used[h] = false
			}
		}
	}
	slot(0, 0)
	return left
}
