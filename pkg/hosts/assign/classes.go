package assign

import (
	"encoding/json"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// bin is a number of places that ask for the same: the slots of equal needs, one pinned slot, or a set.
type class struct {
	needs   *contract.Needs
	slots   []int         // of request.Slots, in the order of the spec
	set     *contract.Set // nil: slots
	mac     string        // of a pinned slot
	pins    []int         // hosts with that MAC address; the pin can be kept if there is exactly one
	places  int           // that are to be filled, without the settled ones
	fixed   []int         // hosts that have their place whatever happens, see settle
	spare   int           // of the places, those that may stay empty: standby of a set whose active nodes are there
	domains *domains      // of a set that is to be spread
}

// newClasses are the bins of a request, those that ask for little first, so that small hosts get into small slots; among equals the order of
// the spec decides.
func newClasses(request contract.Request) []*class {
	var classes []*class
	alike := map[string]*class{}
	for i := range request.Slots {
		slot := &request.Slots[i]
		key := ""
		if slot.MAC == "" {
			key = keyOf(&slot.Needs)
			if c, ok := alike[key]; ok {
				c.slots, c.places = append(c.slots, i), c.places+1
				continue
			}
		}
		c := &class{needs: &slot.Needs, slots: []int{i}, mac: slot.MAC, places: 1}
		classes = append(classes, c)
		if key != "" {
			alike[key] = c
		}
	}
	for i := range request.Sets {
		s := &request.Sets[i]
		classes = append(classes, &class{needs: &s.Needs, set: s, places: s.Active + s.Standby})
	}
	slices.SortStableFunc(classes, func(a, c *class) int { return costOfNeeds(a.needs).compare(costOfNeeds(c.needs)) })
	return classes
}

// keyOf is equal for equal needs.
func keyOf(n *contract.Needs) string {
	text, err := json.Marshal(n)
	if err != nil {
		panic(err) // needs are plain data
	}
	return string(text)
}

// spread is how a bin is to be spread, nil: no matter.
func (c *class) spread() *contract.Spread {
	if c.set == nil {
		return nil
	}
	return c.set.Spread
}
