package change

import (
	"encoding/json"
	"fmt"
	"maps"
)

// editOwnVars changes a variable of one node or of one node set. "a" is also a variable of the cluster.
func (w *world) editOwnVars() {
	name := []string{"a", "a", "b"}[w.IntN(3)]
	value := json.RawMessage(fmt.Sprint(w.IntN(3)))
	edit := func(vars map[string]json.RawMessage) map[string]json.RawMessage {
		vars = maps.Clone(vars)
		if vars == nil {
			vars = map[string]json.RawMessage{}
		}
		if vars[name] = value; string(value) == "0" {
			delete(vars, name)
		}
		w.ended["variables of nodes edited"]++
		return vars
	}
	r := &w.Wanted
	if len(r.Sets) > 0 && w.IntN(3) > 0 {
		i := w.IntN(len(r.Sets))
		r.Sets[i].Vars = edit(r.Sets[i].Vars)
		return
	}
	i := w.IntN(len(r.Slots))
	r.Slots[i].Vars = edit(r.Slots[i].Vars)
}
