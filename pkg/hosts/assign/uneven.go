package assign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Uneven tells why a set cannot be spread as it is to be.
type Uneven struct {
	Set         string
	TopologyKey string
	MaxSkew     int
	// Domains are the values of the key with how many hosts they offer, the poorest first.
	Domains []Domain
	// Most is how many nodes the set could have if no other nodes were wanted.
	Most int
	// Enough is the lowest MaxSkew with which everything would have a host; 0: there is none, or it was not looked for.
	Enough int
}

// Domain is a value of a topology key with the number of hosts that meet the needs, are free or ours, and are not pinned to another node.
type Domain struct {
	Name  string
	Hosts int
}

func (u Uneven) String() string {
	var domains []string
	for _, d := range u.Domains {
		domains = append(domains, fmt.Sprintf("%s has %s", d.Name, plural(d.Hosts, "fitting host")))
	}
	text := fmt.Sprintf("%s: %s; maxSkew %d allows at most %s of %s", u.TopologyKey, cmp.Or(firstFew(domains), "no fitting host has this label"),
		u.MaxSkew, plural(u.Most, "node"), u.Set)
	switch {
	case u.Enough > 0:
		return text + fmt.Sprintf(" (maxSkew %d would do)", u.Enough)
	default:
		return text + " (without the spread they would have hosts)"
	}
}

// uneven describes the spread of a bin.
func (w *work) uneven(class int, wanted demand, inFull demand) Uneven {
	c := w.classes[class]
	u := Uneven{Set: c.set.Name, TopologyKey: c.set.Spread.TopologyKey, MaxSkew: wanted.limits[class].skew}
	for i, name := range c.domains.names {
		u.Domains = append(u.Domains, Domain{name, c.domains.supply[i] + c.domains.fixed[i]})
	}
	smallest := c.domains.smallestDomain()
	for i, d := range u.Domains {
		u.Most += max(c.domains.fixed[i], min(d.Hosts, smallest+u.MaxSkew))
	}
	slices.SortStableFunc(u.Domains, func(x, y Domain) int { return cmp.Or(cmp.Compare(x.Hosts, y.Hosts), strings.Compare(x.Name, y.Name)) })
	u.Enough = w.sufficientSkew(class, inFull)
	return u
}

// poorest is how many hosts the poorest domain offers.
func (d *domains) smallestDomain() int {
	smallest := 0
	for i, fixed := range d.fixed {
		if n := fixed + d.supply[i]; i == 0 || n < smallest {
			smallest = n
		}
	}
	return smallest
}

// enough is the lowest skew of a bin with which the whole wish can be met, or 0.
func (w *work) sufficientSkew(class int, wanted demand) int {
	try := wanted.copy()
	most := wanted.places[class] + len(w.classes[class].fixed)
	if try.limits[class].skew = most; w.spent > maxCoreTries || !w.feasible(try) {
		return 0
	}
	low, high := wanted.limits[class].skew, most
	for low+1 < high && w.spent <= maxCoreTries {
		try.limits[class].skew = (low + high) / 2
		if w.feasible(try) {
			high = try.limits[class].skew
		} else {
			low = try.limits[class].skew
		}
	}
	return high
}
