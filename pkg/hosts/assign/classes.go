package assign

import (
	"encoding/json"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// class is a group of wanted nodes with the same requirements: all slots with equal needs, one
// pinned slot, or a set. Each node of a class is a place for one host.
type class struct {
	needs   *contract.Needs
	slots   []int         // indexes into request.Slots, in the order of the spec
	set     *contract.Set // nil for slots
	mac     string        // MAC address of a pinned slot
	pins    []int         // hosts with that MAC address; the slot can get a host only if there is exactly one
	places  int           // number of places to fill, not counting those of fixed
	fixed   []int         // hosts that keep their place, see fixInstalled
	spare   int           // number of places that may stay empty, see findSpare
	domains *domains      // nil if the class is not spread
}

// newClasses returns the classes of a request, sorted by the cost of their requirements. The class
// with the lowest requirements comes first, so that small hosts are used for small slots. Classes
// with equal requirements stay in the order of the spec.
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

// keyOf returns a key that is equal for equal needs.
func keyOf(n *contract.Needs) string {
	text, err := json.Marshal(n)
	if err != nil {
		panic(err) // needs are plain data
	}
	return string(text)
}

// spread returns the spread that the class must have; nil: the class has no spread.
func (c *class) spread() *contract.Spread {
	if c.set == nil {
		return nil
	}
	return c.set.Spread
}
