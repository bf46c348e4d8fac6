package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/tasks/contract"
)

// NoFit is the error of an assignment that does not exist. Its text is short enough for a status; the fields tell all.
type NoFit struct {
	// Unmet are the slots that get no host, in the order of the spec.
	Unmet []Unmet
	// Hosts are all hosts that there are, by name.
	Hosts []Host
}

// Unmet is a slot that gets no host.
type Unmet struct {
	Slot string
	// Needs is what the slot asks for, such as "8 CPUs, 16Gi".
	Needs string
	// Why is the explanation: why not the pinned host, or how many hosts fail which requirement.
	Why string
	// Obstacles tells for each host by name why it cannot be the one, such as "below 16Gi". For a pinned slot only for the hosts that
	// have its MAC address.
	Obstacles map[string]string
}

// listed bounds how many explanations one error text holds.
const listed = 4

func (e *NoFit) Error() string {
	var told []string
	var names [][]string // of the slots with this explanation
	for _, u := range e.Unmet {
		text := u.Why
		if u.Needs != "" {
			text = fmt.Sprintf("(%s): %s", u.Needs, u.Why)
		}
		if i := slices.Index(told, text); i >= 0 {
			names[i] = append(names[i], u.Slot)
			continue
		}
		told, names = append(told, text), append(names, []string{u.Slot})
	}
	var parts []string
	for i, text := range told[:min(len(told), listed)] {
		if !strings.HasPrefix(text, "(") {
			text = ": " + text
		} else {
			text = " " + text
		}
		parts = append(parts, some(names[i])+text)
	}
	if more := len(told) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more kinds of nodes", more))
	}
	return strings.Join(parts, "; ")
}

// some lists names, the first three of many.
func some(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// explain tells of every slot that the finished matching leaves without a host.
func (w *world) explain() *NoFit {
	e := &NoFit{Hosts: w.hosts}
	for s, host := range w.hostOf {
		if host != none {
			continue
		}
		if w.slots[s].MAC != "" {
			e.Unmet = append(e.Unmet, w.unmetPin(s))
		} else {
			e.Unmet = append(e.Unmet, w.unmet(s))
		}
	}
	return e
}

func (w *world) unmet(s int) Unmet {
	slot := w.slots[s]
	u := Unmet{Slot: slot.Name, Needs: Needs(slot), Obstacles: map[string]string{}}
	var kinds []string
	count := map[string]int{}
	for h, host := range w.hosts {
		kind := w.obstacle(s, h).of(slot, host)
		if kind == "" {
			kind = "needed for other nodes"
		}
		u.Obstacles[host.Name] = w.why(s, h)
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	slices.SortFunc(kinds, func(a, b string) int {
		return cmp.Or(count[b]-count[a], strings.Compare(a, b))
	})
	var parts []string
	for _, kind := range kinds {
		parts = append(parts, fmt.Sprintf("%d %s", count[kind], kind))
	}
	u.Why = fmt.Sprintf("%s: %s", plural(len(w.hosts), "host"), strings.Join(parts, ", "))
	if len(w.hosts) == 0 {
		u.Why = "there is no BareMetalHost in namespace " + w.me.Namespace
	}
	return u
}

func (w *world) unmetPin(s int) Unmet {
	slot := w.slots[s]
	u := Unmet{Slot: slot.Name, Obstacles: map[string]string{}}
	var names []string
	for _, h := range w.pins[s] {
		name := w.hosts[h].Name
		names, u.Obstacles[name] = append(names, name), w.why(s, h)
	}
	switch len(names) {
	case 0:
		u.Why = fmt.Sprintf("none of %s has the MAC address %s", plural(len(w.hosts), "host"), slot.MAC)
	case 1:
		u.Why = fmt.Sprintf("host %s with the MAC address %s is %s", names[0], slot.MAC, u.Obstacles[names[0]])
	default:
		u.Why = fmt.Sprintf("the MAC address %s is of %d hosts (%s), so it does not say which", slot.MAC, len(names), some(names))
	}
	return u
}

// why is an obstacle of one certain host in full, or the other slot that the host is needed for.
func (w *world) why(s, h int) string {
	switch what := w.obstacle(s, h); {
	case what == held:
		return "held by " + w.hosts[h].Holder.String()
	case what == nothing && w.slotOf[h] != none:
		return "needed for " + w.slots[w.slotOf[h]].Name
	default:
		return what.of(w.slots[s], w.hosts[h])
	}
}

// Needs writes what a slot asks of a host, such as "8 CPUs, 16Gi, SR-IOV"; empty if anything will do.
func Needs(slot contract.Slot) string {
	var needs []string
	if slot.CPU > 0 {
		needs = append(needs, plural(slot.CPU, "CPU"))
	}
	if slot.Memory > 0 {
		needs = append(needs, Memory(slot.Memory))
	}
	if slot.SRIOV {
		needs = append(needs, "SR-IOV")
	}
	if slot.QAT {
		needs = append(needs, "QAT")
	}
	return strings.Join(needs, ", ")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
