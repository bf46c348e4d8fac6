package assign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Uneven explains why a set cannot be spread as requested.
type Uneven struct {
	Set         string
	TopologyKey string
	MaxSkew     int
	// Domains are the values of the key, each with its number of hosts. The value with the fewest
	// hosts comes first.
	Domains []Domain
	// Most is the maximum number of nodes that the set could have if no nodes of other sets or
	// slots were wanted.
	Most int
	// Enough is the lowest MaxSkew with which every node would have a host. It is 0 if no such
	// value exists, or if the search for it stopped early.
	Enough int
}

// Domain is a value of a topology key. Hosts is the number of hosts with this value that meet the
// requirements, are free or held by the Provisioning, and are not pinned to another node.
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
		return text + fmt.Sprintf(" (maxSkew %d would be enough)", u.Enough)
	default:
		return text + " (without the spread, all nodes would have hosts)"
	}
}

// uneven describes the spread of a class.
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

// smallestDomain returns the number of hosts in the domain with the fewest hosts.
func (d *domains) smallestDomain() int {
	smallest := 0
	for i, fixed := range d.fixed {
		if n := fixed + d.supply[i]; i == 0 || n < smallest {
			smallest = n
		}
	}
	return smallest
}

// sufficientSkew returns the lowest skew of a class with which the whole demand can be met, or 0.
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
