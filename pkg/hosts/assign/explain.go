package assign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/hosts"
)

// mostReset limits the number of hosts that an explanation advises to reset, and longestReset the
// length of their names in bytes, so that the command is never cut.
const (
	mostReset    = 3
	longestReset = 64
)

// noFit returns an error whose field Unmet lists nodes[b] nodes of each class b. If m gives a host
// a place in another class, the host counts as needed for other nodes, even if it fits.
func (w *work) noFit(m *matching, nodes []int) *NoFit {
	e := &NoFit{Reset: w.resetAdvice(nodes), Hosts: make([]hosts.Host, 0, len(w.hosts))}
	for _, host := range w.hosts {
		e.Hosts = append(e.Hosts, *host)
	}
	kinds := 0
	for _, b := range w.ranked() {
		if nodes[b] == 0 {
			continue
		}
		u := w.unmet(m, b, kinds < listed)
		kinds++
		if w.classes[b].set != nil {
			u.Nodes = nodes[b]
			e.Unmet = append(e.Unmet, u)
			continue
		}
		for _, s := range w.openSlots(b)[:nodes[b]] {
			u.Slot = w.request.Slots[s].Name
			e.Unmet = append(e.Unmet, u)
		}
	}
	return e
}

// ranked returns the indexes of the classes in the order of the spec.
func (w *work) ranked() []int {
	order := make([]int, len(w.classes))
	for b := range order {
		order[b] = b
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(w.specOrder(a), w.specOrder(b)) })
	return order
}

// openSlots returns the slots of a class except those whose host is fixed.
func (w *work) openSlots(class int) []int {
	c := w.classes[class]
	return slices.DeleteFunc(slices.Clone(c.slots), func(s int) bool {
		return slices.ContainsFunc(c.fixed, func(h int) bool { return w.hosts[h].Node == w.request.Slots[s].Name })
	})
}

// namesOf names the given number of nodes of each class. Of a class of slots, it names the last
// ones.
func (w *work) namesOf(nodes []int) []string {
	var names []string
	for _, b := range w.ranked() {
		if n := nodes[b]; w.classes[b].set != nil && n > 0 {
			names = append(names, fmt.Sprintf("%d of %s", n, w.classes[b].set.Name))
		} else if n > 0 {
			open := w.openSlots(b)
			for _, s := range open[len(open)-n:] {
				names = append(names, w.request.Slots[s].Name)
			}
		}
	}
	return names
}

// unmet describes a class. If inFull is set or the class is pinned, the description also explains
// why hosts cannot be used (Why and Obstacles).
func (w *work) unmet(m *matching, class int, inFull bool) Unmet {
	c := w.classes[class]
	u := Unmet{Nodes: 1, Of: c.places, Needs: needsText(*c.needs), set: c.set != nil}
	if u.set {
		u.Slot = c.set.Name
	}
	switch {
	case c.mac != "":
		u.Needs, u.Obstacles = "", w.obstacles(m, class, c.pins)
		u.Why = w.pinProblem(c, u.Obstacles)
	case len(w.hosts) == 0:
		u.Why = "there is no BareMetalHost in namespace " + w.me.HostNamespace()
	case inFull:
		u.Obstacles = w.obstacles(m, class, w.allHosts())
		u.Why = w.countObstacles(m, class)
	}
	return u
}

// countObstacles describes how many hosts each obstacle excludes from a class.
func (w *work) countObstacles(m *matching, class int) string {
	var kinds []string
	count := map[string]int{}
	fitting := 0
	for h := range w.hosts {
		kind := w.words(w.obstacle(w.classes[class], h), w.classes[class], w.hosts[h])
		switch node := m.nodeOf[h]; {
		case kind != "":
		case node != none && int(m.classOf[node]) != class:
			kind = "needed for other nodes"
		default:
			fitting++
			continue
		}
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	slices.SortFunc(kinds, func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	var parts []string
	for _, kind := range kinds {
		parts = append(parts, fmt.Sprintf("%d %s", count[kind], kind))
	}
	if fitting > 0 {
		parts = append(parts, verb(fitting, "fit"))
	}
	return fmt.Sprintf("%s: %s", plural(len(w.hosts), "host"), strings.Join(parts, ", "))
}

// pinProblem describes why a pinned class does not get its host.
func (w *work) pinProblem(c *class, obstacles map[string]string) string {
	var names []string
	for _, h := range c.pins {
		names = append(names, w.hosts[h].Name)
	}
	switch {
	case len(names) == 0:
		return fmt.Sprintf("none of %s has the MAC address %s", plural(len(w.hosts), "host"), c.mac)
	case len(names) == 1 && w.obstacle(c, c.pins[0]) == noObstacle:
		return fmt.Sprintf("only %s has the MAC address %s", names[0], c.mac)
	case len(names) == 1:
		return fmt.Sprintf("host %s with the MAC address %s is %s", names[0], c.mac, obstacles[names[0]])
	default:
		return fmt.Sprintf("%d hosts have the MAC address %s (%s), so the pin is ambiguous", len(names), c.mac, firstFew(names))
	}
}

// obstacles maps the names of hosts to the reasons why the hosts cannot be used for a class.
func (w *work) obstacles(m *matching, class int, hosts []int) map[string]string {
	all, owners := make(map[string]string, len(hosts)), w.ownersIn(m)
	for _, h := range hosts {
		all[w.hosts[h].Name] = w.why(owners[h], w.classes[class], h)
	}
	return all
}

// allHosts returns the indexes of all hosts.
func (w *work) allHosts() []int {
	all := make([]int, len(w.hosts))
	for h := range all {
		all[h] = h
	}
	return all
}

// why explains why one host cannot be used for a class. It names the node, the holder or the slot
// that has the host. owner is the slot or set that the host is matched with, or empty.
func (w *work) why(owner string, c *class, h int) string {
	switch what := w.obstacle(c, h); {
	case what == held:
		if w.foreign(w.hosts[h].Holder.Namespace) {
			return "held by others"
		}
		return "held by " + w.hosts[h].Holder.String()
	case what == fixed:
		return "installed as " + w.hosts[h].Node
	case what == pinnedElsewhere:
		return "pinned to " + w.pinOf(h)
	case what == occupied:
		host, old := w.hosts[h], "it"
		if host.Bare {
			old = "the mark"
		}
		return w.words(what, c, host) + "; remove " + old + " with " + host.Removal(w.me.HostNamespace())
	case what == noObstacle && owner != "":
		return "needed for " + owner
	case what == noObstacle:
		return "fitting, but no valid spread was found"
	default:
		return w.words(what, c, w.hosts[h])
	}
}

// resetAdvice returns the advice to reset hosts that another cluster has used and that otherwise
// meet the requirements of a node, or to remove the mark of one of them that has no operating system.
// nodes has the number of nodes of each class that have no host. The result is empty if there is no
// such host.
func (w *work) resetAdvice(nodes []int) string {
	var names []string
	bare := ""
	for h, host := range w.hosts {
		useful := func(c *class) bool {
			return (c.mac == "" || slices.Contains(c.pins, h)) && meets(c.needs, host) && host.Unreachable(c.mac, &w.request) == ""
		}
		if w.hostObstacle(h) != occupied || len(names) == mostReset || len(host.Name) > longestReset {
			continue
		}
		for b, c := range w.classes {
			if nodes[b] == 0 || !useful(c) {
				continue
			}
			if host.Bare {
				bare = cmp.Or(bare, "to use host "+host.Name+", which has the mark of this Provisioning and no operating system, remove the mark: "+host.Removal(w.me.HostNamespace()))
			} else {
				names = append(names, host.Name)
			}
			break
		}
	}
	if len(names) == 0 {
		return bare
	}
	return "to use a host of another cluster, reset it: " + hosts.ResetCommand(w.me.HostNamespace(), names...)
}

// pinOf returns the name of the first slot that is pinned to a host.
func (w *work) pinOf(h int) string {
	for _, b := range w.ranked() {
		if w.classes[b].mac != "" && slices.Contains(w.classes[b].pins, h) {
			return w.request.Slots[w.classes[b].slots[0]].Name
		}
	}
	return ""
}

// ownersIn maps the index of each matched host to the name of its slot or set.
func (w *work) ownersIn(m *matching) map[int]string {
	names := map[int]string{}
	for i, c := range w.classes {
		if c.set != nil {
			for _, h := range m.hostsIn(i) {
				names[h] = c.set.Name
			}
			continue
		}
		for slot, h := range w.place(c, append(m.hostsIn(i), c.fixed...)) {
			names[h] = w.request.Slots[slot].Name
		}
	}
	return names
}
