package check

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"
)

func addresses(w *world) {
	of := map[string][]string{}
	for _, n := range w.in.Nodes {
		if n.Address != "" {
			of[n.Address] = append(of[n.Address], n.Name)
		}
	}
	for _, n := range w.in.Nodes {
		if same := of[n.Address]; len(same) > 1 {
			w.say(Failed, n.Name, fmt.Sprintf("%s have the address %s", some(same), n.Address))
		}
	}
	w.each(func(n Node, f *Facts, fail, unknown func(string)) {
		want, err := netip.ParseAddr(n.Address)
		switch {
		case err != nil:
		case len(f.Addresses) == 0:
			unknown("its addresses are not known")
		case !slices.Contains(f.Addresses, want.Unmap()):
			fail(n.Address + " is on none of its network cards")
		}
	})
}

func defaultRoutes(w *world) {
	w.each(func(_ Node, f *Facts, fail, unknown func(string)) {
		switch {
		case !f.RoutesKnown:
			unknown("its routes are not known")
		case !slices.ContainsFunc(f.Routes, func(r Route) bool { return r.isDefault() }):
			fail("it has no default route")
		}
	})
}

func (r Route) isDefault() bool { return !r.To.IsValid() || r.To.Bits() == 0 }

func isLoopback(server string) bool {
	a, err := netip.ParseAddr(server)
	return err == nil && a.Unmap().IsLoopback()
}

func resolvers(w *world) {
	w.each(func(_ Node, f *Facts, fail, _ func(string)) {
		if len(f.Nameservers) == 0 {
			fail("/etc/resolv.conf has no name server")
		}
	})
}

func resolverLoops(w *world) {
	w.each(func(_ Node, f *Facts, fail, _ func(string)) {
		outside := func(s string) bool { return !isLoopback(s) }
		switch {
		case len(f.Nameservers) == 0 || slices.ContainsFunc(f.Nameservers, outside):
		case !slices.Contains(f.Processes, "systemd-resolve"):
			fail("its only name servers are " + some(f.Nameservers) + ", which is itself")
		case !slices.ContainsFunc(f.Upstream, outside):
			fail("systemd-resolved has no name server beside " + orElse(some(f.Upstream), "itself"))
		}
	})
}

func resolverAnswers(w *world) {
	const longest = 4 * time.Second
	w.each(func(_ Node, f *Facts, fail, unknown func(string)) {
		switch {
		case len(f.Nameservers) == 0:
		case !f.LookupKnown:
			unknown("it has no getent")
		case f.Lookup >= longest:
			fail(fmt.Sprintf("a lookup had no answer after %s; its name servers are %s", f.Lookup, some(f.Nameservers)))
		}
	})
}

// ranges compares the ranges of the cluster. The routes of a member include those of its pods.
func ranges(w *world) {
	type named struct {
		of string
		p  netip.Prefix
	}
	var all []named
	for _, r := range []struct {
		of    string
		cidrs []string
	}{{"the pods", w.in.PodSubnets}, {"the services", w.in.ServiceSubnets}} {
		for _, text := range r.cidrs {
			if p, err := netip.ParsePrefix(text); err == nil {
				all = append(all, named{r.of, p.Masked()})
			}
		}
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if a.p.Overlaps(b.p) {
				w.say(Failed, "", fmt.Sprintf("the range of %s (%s) overlaps with that of %s (%s)", a.of, a.p, b.of, b.p))
			}
		}
	}
	w.each(func(n Node, f *Facts, fail, _ func(string)) {
		for _, r := range all {
			var found []string
			if !n.Member {
				for _, route := range f.Routes {
					if !route.isDefault() && route.To.Overlaps(r.p) {
						found = append(found, fmt.Sprintf("route %s (%s)", route.To, route.Device))
					}
				}
				for _, a := range f.Addresses {
					if r.p.Contains(a) && !isIn(found, a) {
						found = append(found, "address "+a.String())
					}
				}
			}
			for _, text := range slices.Concat(f.Nameservers, f.Upstream) {
				if a, err := netip.ParseAddr(text); err == nil && r.p.Contains(a.Unmap()) && !slices.Contains(found, "name server "+text) {
					found = append(found, "name server "+text)
				}
			}
			if len(found) > 0 {
				fail(fmt.Sprintf("the range of %s (%s) overlaps with its %s", r.of, r.p, some(found)))
			}
		}
	})
}

// isIn reports whether an address is named already, in a route to it alone.
func isIn(found []string, a netip.Addr) bool {
	return slices.ContainsFunc(found, func(text string) bool { return strings.HasPrefix(text, "route "+a.String()+"/") })
}

func mtus(w *world) {
	to := w.there()
	w.each(func(n Node, f *Facts, fail, unknown func(string)) {
		if len(f.Pings) == 0 {
			if !f.DF && len(w.in.Nodes) > 1 {
				unknown("it has no ping that can forbid fragments")
			}
			return
		}
		var silent []string
		for _, at := range slices.Sorted(maps.Keys(f.Pings)) {
			peer, known := to[at]
			name := fmt.Sprintf("%s (%s)", peer.Name, at)
			if at == f.Machine {
				name, known = "this machine", true
			}
			switch p := f.Pings[at]; {
			case !known:
			case p.Largest == 0:
				silent = append(silent, name)
			case p.Largest < p.MTU && !p.FragNeeded:
				fail(fmt.Sprintf("packets of %d bytes, the MTU of its network card, do not arrive at %s; those of %d do", p.MTU, name, p.Largest))
			}
		}
		if len(silent) > 0 {
			unknown("no answer to ping from " + some(silent))
		}
	})
}

// smallerPaths finds paths whose routers say that a packet is too large, so that its sender learns it.
func smallerPaths(w *world) {
	to := w.there()
	w.each(func(_ Node, f *Facts, fail, _ func(string)) {
		for _, at := range slices.Sorted(maps.Keys(f.Pings)) {
			if p := f.Pings[at]; p.FragNeeded && p.Largest > 0 && p.Largest < p.MTU && to[at].Name != "" {
				fail(fmt.Sprintf("packets of %d bytes, the MTU of its network card, are too large for the way to %s (%s); those of %d arrive", p.MTU, to[at].Name, at, p.Largest))
			}
		}
	})
}

// there returns the nodes that have answered, by their addresses: what is not there answers nobody else either.
func (w *world) there() map[string]Node {
	of := map[string]Node{}
	for i, n := range w.in.Nodes {
		if n.Address != "" && w.answers[i].Err == nil {
			of[n.Address] = n
		}
	}
	return of
}

func portsFree(w *world) {
	w.each(func(n Node, f *Facts, fail, _ func(string)) {
		var found []string
		for _, l := range f.Listens {
			i := slices.IndexFunc(w.in.ports(), func(p port) bool {
				return p.number == l.Port && p.protocol == l.Protocol && p.on(n) && (!p.any || l.Any)
			})
			if i < 0 || n.Member {
				continue
			}
			text := fmt.Sprintf("%s/%d (for %s)", l.Protocol, l.Port, w.in.ports()[i].of)
			if l.Owner != "" {
				text = fmt.Sprintf("%s/%d (for %s) by %s", l.Protocol, l.Port, w.in.ports()[i].of, l.Owner)
			}
			if !slices.Contains(found, text) {
				found = append(found, text)
			}
		}
		if len(found) > 0 {
			fail("in use: " + strings.Join(found, ", "))
		}
	})
}

func portsReachable(w *world) {
	w.knocks("tcp", func(state string) bool { return state == "silent" || state == "rejected" })
}

// A port of UDP that nobody uses answers with an ICMP message, one that a program uses with nothing.
func udpReachable(w *world) {
	w.knocks("udp", func(state string) bool { return state == "silent" || state == "rejected" })
}

// knocks reports what a node cannot reach, by its peer. A closed port that refuses a connection is reached.
func (w *world) knocks(protocol string, closed func(state string) bool) {
	to := w.there()
	w.each(func(n Node, f *Facts, fail, unknown func(string)) {
		failed := 0
		of := map[string][]string{}
		tried := false
		for k, state := range f.Knocks {
			peer, known := to[k.Address]
			if k.Protocol != protocol || !known {
				continue
			}
			tried = true
			switch {
			case protocol == "udp" && peer.Member: // its program takes the message
			case state == "failed":
				failed++
			case closed(state):
				of[k.Address] = append(of[k.Address], fmt.Sprintf("%d (%s)", k.Port, state))
			}
		}
		for _, at := range slices.Sorted(maps.Keys(of)) {
			slices.Sort(of[at])
			fail(fmt.Sprintf("it does not reach %s (%s) at %s %s", to[at].Name, at, protocol, strings.Join(of[at], ", ")))
		}
		if _, all := w.in.peers(w.index(n)); failed > 0 || !tried && w.expects(n, to, all, protocol) {
			unknown("it has no bash and timeout, with which ports are tried, or an attempt failed")
		}
	})
}

func (w *world) index(n Node) int {
	return slices.IndexFunc(w.in.Nodes, func(o Node) bool { return o.Name == n.Name })
}

// expects reports whether node n connects to one of the others that are there with the protocol.
func (w *world) expects(n Node, there map[string]Node, others []Node, protocol string) bool {
	return slices.ContainsFunc(others, func(o Node) bool {
		_, answers := there[o.Address]
		return answers && slices.ContainsFunc(w.in.ports(), func(p port) bool { return p.protocol == protocol && p.reached(n, o) })
	})
}

func depots(w *world) {
	if w.in.Depot.URL == "" {
		return
	}
	const timedOut = 28 // of curl
	w.each(func(_ Node, f *Facts, fail, unknown func(string)) {
		switch d := f.Download; {
		case d == nil:
			unknown("it has no curl, python3 or wget, or no room for the CA")
		case d.Status == timedOut && d.Bytes > 0: // it is slow
		case d.Status != 0:
			fail(fmt.Sprintf("%s: %s", w.in.Depot.URL, orElse(d.Why, fmt.Sprintf("status %d", d.Status))))
		case d.Code >= 500:
			fail(fmt.Sprintf("%s answers with HTTP status %d", w.in.Depot.URL, d.Code))
		}
	})
}

func throughputs(w *world) {
	const least, enough = 5 << 20, 1 << 20
	w.each(func(_ Node, f *Facts, fail, unknown func(string)) {
		d := f.Download
		switch {
		case w.in.Depot.URL == "" || d == nil || d.Status != 0 && d.Bytes == 0 || d.Code >= 500:
		case d.Code != 200 && d.Code != 206:
			unknown(fmt.Sprintf("the depot does not have the kubelet of %s yet (HTTP status %d)", w.in.KubernetesVersion, d.Code))
		case d.Took <= 0:
		default:
			rate := float64(d.Bytes) / d.Took.Seconds()
			if rate < least && (d.Bytes >= enough || d.Status != 0) {
				fail(fmt.Sprintf("%.1f MiB arrived in %s: %.1f MiB/s", float64(d.Bytes)/(1<<20), d.Took.Round(10*time.Millisecond), rate/(1<<20)))
			}
		}
	})
}
