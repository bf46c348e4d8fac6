package assign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// NoFit is the error of an assignment that does not exist. Its text is short enough for a status; the fields tell all.
type NoFit struct {
	// Unmet are nodes that cannot all have a host at the same time, though they could if any one of them were not wanted: slots in the order
	// of the spec, then sets. Hosts that other slots are pinned to are never theirs.
	Unmet []Unmet
	// Fitting are the hosts that some of Unmet could have, by name: they are fewer than the nodes, unless it is the spread that cannot be met.
	Fitting []string
	// Spread are the sets in Unmet whose spread stands against them; empty if there would be too few hosts without it too.
	Spread []Uneven
	// Also are other nodes that found no host, or sets with the number of such nodes.
	Also []string
	// GaveUp: not every combination of spreads was tried, so an assignment may exist, and Unmet are not the fewest.
	GaveUp bool
	// Hosts are all hosts that there are, by name.
	Hosts []hosts.Host
}

// Unmet is a slot, or some nodes of a set, among those that cannot all have a host.
type Unmet struct {
	// Slot is the name of the slot or the set.
	Slot string
	// Nodes is how many nodes of it are meant, 1 for a slot, and Of how many are still to be found.
	Nodes, Of int
	// Needs is what is asked for, such as "8 CPUs, 16Gi".
	Needs string
	// Why is the explanation: why not the pinned host, or how many hosts fail which requirement.
	Why string
	// Obstacles tells for each host by name why it cannot be the one, such as "below 16Gi". For a pinned slot only for the hosts that have its
	// MAC address. Of many kinds of nodes only the first have it.
	Obstacles map[string]string

	set bool
}

// Bounds of the text: bytes in all, bytes of its end, kinds of nodes.
const (
	mostText = 900
	mostEnd  = 420
	listed   = 4
)

func (e *NoFit) Error() string {
	end := clip(e.end(), mostEnd)
	return clip(e.start(), mostText-len(end)) + end
}

// start tells of each kind of nodes once.
func (e *NoFit) start() string {
	var texts []string
	var names [][]string // of the nodes with this explanation
	for _, u := range e.Unmet {
		text := ": " + u.Why
		if needs := u.needs(len(e.Unmet) == 1); needs != "" {
			text = fmt.Sprintf(" (%s): %s", clip(needs, 200), u.Why)
		}
		if i := slices.Index(texts, text); i >= 0 {
			names[i] = append(names[i], u.Slot)
			continue
		}
		texts, names = append(texts, text), append(names, []string{u.Slot})
	}
	var parts []string
	for i, text := range texts[:min(len(texts), listed)] {
		parts = append(parts, firstFew(names[i])+text)
	}
	if more := len(texts) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more kinds of nodes", more))
	}
	return strings.Join(parts, "; ")
}

func (u Unmet) needs(alone bool) string {
	var parts []string
	switch {
	case !u.set:
	case u.Nodes == u.Of || alone:
		parts = append(parts, plural(u.Of, "node"))
	default:
		parts = append(parts, fmt.Sprintf("%d of %s", u.Nodes, plural(u.Of, "node")))
	}
	if u.Needs != "" {
		parts = append(parts, u.Needs)
	}
	return strings.Join(parts, ", ")
}

// end tells why all of it cannot be met together.
func (e *NoFit) end() string {
	text := ""
	switch {
	case e.GaveUp:
		text = fmt.Sprintf("; gave up after %d combinations of how the sets can be spread: a lower maxSkew, or fewer sets that are spread, leave fewer", maxCombinations)
	case len(e.Spread) > 0:
		for _, s := range e.Spread {
			text += "; " + s.String()
		}
	case len(e.Fitting) > 0:
		text = fmt.Sprintf("; %s and only %s: %s", e.need(), verb(len(e.Fitting), "fit"), firstFew(e.Fitting))
	}
	if len(e.Also) > 0 {
		text += "; also without a host: " + firstFew(e.Also)
	}
	return text
}

func (e *NoFit) need() string {
	if u := e.Unmet[0]; len(e.Unmet) == 1 {
		return "it needs " + plural(u.Of, "host")
	}
	n := 0
	for _, u := range e.Unmet {
		n += u.Nodes
	}
	return "together they need " + plural(n, "host")
}

// Needs writes what a slot asks of a host, such as "8 CPUs, 16Gi, SR-IOV"; empty if anything will do.
func Needs(slot contract.Slot) string {
	return needsText(slot.Needs)
}

// some lists names, the first three of many.
func firstFew(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func verb(n int, verb string) string {
	if n == 1 {
		return fmt.Sprintf("1 %ss", verb)
	}
	return fmt.Sprintf("%d %s", n, verb)
}

// clip shortens a text to at most so many bytes, and shows that it did.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("...")], "") + "..."
}
