package assign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// NoFit is the error if no assignment exists for a request. Its message is short enough for a
// status; its fields have all details.
type NoFit struct {
	// Unmet lists a smallest group of nodes that cannot all have a host: if any one of them were
	// not wanted, each of the others could have one. Slots come in the order of the spec, then
	// sets. Hosts that are pinned to other slots are not available to these nodes.
	Unmet []Unmet
	// Fitting lists the names of the hosts that at least one node of Unmet could have. They are
	// fewer than the nodes in Unmet. If there would be enough hosts without the spreads, Fitting is
	// empty.
	Fitting []string
	// Spread lists the sets in Unmet whose spread cannot be met. It is empty if there are too few
	// hosts even without the spread.
	Spread []Uneven
	// Also lists the other nodes without a host: the names of slots, and the names of sets with the
	// number of such nodes.
	Also []string
	// Reset is the advice to reset hosts that fit except that another cluster has used them. Empty:
	// there are no such hosts.
	Reset string
	// GaveUp reports that not every combination of spreads was tried. An assignment may then exist,
	// and Unmet may have more nodes than necessary.
	GaveUp bool
	// Hosts lists all hosts, sorted by name.
	Hosts []hosts.Host
}

// Unmet describes a slot or a number of nodes of a set that are part of the group in NoFit.Unmet.
type Unmet struct {
	// Slot is the name of the slot or the set.
	Slot string
	// Nodes is the number of nodes concerned, 1 for a slot. Of is the number of nodes of the slot
	// or set that still need a host.
	Nodes, Of int
	// Needs describes the requirements, such as "8 CPUs, 16Gi".
	Needs string
	// Why explains why a pinned slot cannot have the host with its MAC address. For other nodes, it
	// tells how many hosts fail each requirement.
	Why string
	// Obstacles maps the name of each host to the reason why the host cannot be used, such as
	// "below 16Gi". For a pinned slot, it contains only the hosts with the slot's MAC address. If
	// there are many classes of nodes, only the first classes and the pinned ones have Obstacles.
	Obstacles map[string]string

	set bool
}

// Limits of the message: bytes in total, bytes of its last part, and number of different kinds of
// nodes.
const (
	mostText = 900
	mostEnd  = 420
	listed   = 4
)

func (e *NoFit) Error() string {
	end := clip(e.end(), mostEnd)
	if e.Reset != "" {
		end += "; " + e.Reset
	}
	return clip(e.start(), mostText-len(end)) + end
}

// start returns the first part of the message. It describes nodes with the same needs and reasons
// only once.
func (e *NoFit) start() string {
	var texts []string
	var names [][]string // for each of texts, the names of the nodes that it describes
	for _, u := range e.Unmet {
		text := ""
		if needs := u.needs(len(e.Unmet) == 1); needs != "" {
			text = fmt.Sprintf(" (%s)", clip(needs, 200))
		}
		if u.Why != "" {
			text += ": " + u.Why
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
		parts = append(parts, fmt.Sprintf("and %s of nodes", plural(more, "more kind")))
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

// end returns the last part of the message, which explains why the nodes cannot all have a host.
func (e *NoFit) end() string {
	text := ""
	switch {
	case e.GaveUp:
		text = fmt.Sprintf("; the search gave up after %d combinations of spreads: use a larger maxSkew, fewer node sets with a spread, or ScheduleAnyway", maxCombinations)
	case len(e.Spread) > 0:
		for _, s := range e.Spread {
			text += "; " + s.String()
		}
	case len(e.Fitting) > 0:
		text = fmt.Sprintf("; %s, but only %s: %s", e.need(), verb(len(e.Fitting), "fit"), firstFew(e.Fitting))
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

// Meets reports whether a host meets all requirements.
func Meets(needs contract.Needs, host hosts.Host) bool { return meets(&needs, &host) }

// Needs describes the requirements of a slot, such as "8 CPUs, 16Gi, SR-IOV". It is empty if there
// are none.
func Needs(slot contract.Slot) string {
	return needsText(slot.Needs)
}

// firstFew joins names. If there are many, it names only the first three.
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

// clip shortens a string that is longer than the given number of bytes. A shortened string ends
// with "...".
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("...")], "") + "..."
}
