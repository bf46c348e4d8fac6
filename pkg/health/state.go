package health

import (
	"maps"
	"slices"
	"time"
)

// stale is how long a lease may stay unchanged, at least. Kubelets renew it after a quarter of its
// duration, which is 40 s unless somebody configures it: see lease.limit.
const stale = 30 * time.Second

// State collects the looks at one cluster. The zero value has seen none. It is not safe for concurrent
// use.
type State struct {
	api verdict
	// access is bad while the API server answers but lets nothing be seen.
	access verdict
	nodes  map[string]*node
	// gap means that the last look saw no leases. While an API server does not answer, no kubelet can
	// renew its lease, so that time does not count.
	gap      bool
	notAfter seenTwice
}

// seenTwice is a time that changes only if two looks in a row have seen the new one. Several API
// servers behind one address have different certificates.
type seenTwice struct{ value, next time.Time }

func (s *seenTwice) add(t time.Time) {
	if s.value.IsZero() || t.Equal(s.next) {
		s.value = t
	}
	s.next = t
}

// node is what is known about one expected node.
type node struct {
	verdict
	uid           string // of the Node that was seen last; empty: none was, or its UID is not known
	lease         lease
	version       string
	unschedulable bool
	applied       string
}

// lease follows the renewTime of a node's lease on our own clock.
type lease struct {
	renewed string
	since   time.Time // the first look that saw this renewTime
	same    int       // looks after that one, in a row, that saw it too
	moved   bool      // a look has seen it change
	// limit is how long it may stay unchanged: stale, or three quarters of a longer duration.
	limit time.Duration
}

// Add adds a look. expected are the names of the nodes that the cluster should have. Other nodes are
// not judged. Neither are those in changing, on which a run worked during the look: see Changed.
func (s *State) Add(o Observation, expected, changing []string, now time.Time) {
	if !o.NotAfter.IsZero() {
		s.notAfter.add(o.NotAfter)
	}
	s.expect(expected)
	if o.Silent == "" {
		s.access.add("", o.Denied, false, now)
	}
	if o.Denied == "" {
		s.api.add("", o.Silent, false, now)
	}
	if o.Silent != "" || o.Denied != "" {
		s.blind()
		return
	}
	for name, n := range s.nodes {
		seen, there := o.Nodes[name]
		if there {
			n.meet(seen.UID, slices.Contains(changing, name))
			n.version, n.unschedulable, n.applied = seen.Version, seen.Unschedulable, seen.Applied
		}
		if slices.Contains(changing, name) {
			continue
		}
		if !there {
			n.add(NodeMissing, "the cluster does not have this node", false, now)
			continue
		}
		if o.Leases != nil {
			n.lease.add(o.Leases[name], s.gap, now)
			n.lease.limit = max(stale, o.LeaseTimes[name]*3/4)
		}
		switch stale := n.lease.stale(now); {
		case stale:
			if n.add(NodeNotReady, "its kubelet does not renew its lease any more", true, now) {
				n.since = n.lease.since
			}
		case !seen.Ready:
			n.add(NodeNotReady, notReady(seen.Reason), false, now)
		case n.known || n.lease.proven():
			n.add(NodeReady, "", false, now)
		}
	}
	s.gap = o.Leases == nil
}

// meet notes which Node was seen. What an earlier one of the same name did, such as one on a machine that was exchanged
// since, says nothing about it. changing means that a run works on the node, after which it is judged anew: see Changed.
func (n *node) meet(uid string, changing bool) {
	if n.uid != "" && n.uid != uid {
		n.changes, n.flaps, n.lease = nil, false, lease{}
		if !changing {
			n.doubt()
		}
	}
	n.uid = uid
}

// Changed says that a run works on these nodes no more. Only the looks after it judge them: what the run
// itself has caused is no state of the node.
func (s *State) Changed(names []string) {
	for _, name := range names {
		if n := s.nodes[name]; n != nil {
			n.resume()
			n.lease = lease{}
		}
	}
}

// blind notes a look that saw no node. If the reason lasts, the nodes are judged anew afterwards.
func (s *State) blind() {
	s.gap = true
	if !s.api.bad && !s.access.bad {
		return
	}
	for _, n := range s.nodes {
		n.doubt()
		n.lease.moved = false
	}
}

// expect adds the expected nodes and forgets all others.
func (s *State) expect(names []string) {
	if s.nodes == nil {
		s.nodes = make(map[string]*node, len(names))
	}
	for _, name := range names {
		if s.nodes[name] == nil {
			s.nodes[name] = &node{}
		}
	}
	if len(s.nodes) > len(names) {
		maps.DeleteFunc(s.nodes, func(name string, _ *node) bool { return !slices.Contains(names, name) })
	}
}

func notReady(reason string) string {
	if reason == "" {
		return "its condition Ready is not True"
	}
	return "its condition Ready is not True: " + reason
}

// add compares the lease with that of the look before. After a gap the time starts again.
func (l *lease) add(renewed string, gap bool, now time.Time) {
	switch {
	case renewed != l.renewed:
		l.moved = l.renewed != "" && renewed != ""
		l.renewed, l.since, l.same = renewed, now, 0
	case gap:
		l.since, l.same = now, 0
	default:
		l.same++
	}
}

// stale reports whether the lease was unchanged too long. One look that sees it unchanged is not
// enough, however long ago the look before was: it may be this program that did not run.
func (l *lease) stale(now time.Time) bool {
	return l.renewed != "" && l.same >= agree && now.Sub(l.since) >= l.limit
}

// proven reports whether a look has seen that the kubelet works. Without a lease, the condition of the
// node is the only proof.
func (l *lease) proven() bool { return l.moved || l.renewed == "" }

// Next returns when to look again: after the interval, which random (0 to 1) makes up to a tenth shorter
// or longer, so that the looks at many clusters spread. If a lease would become stale shortly before or
// after that time, the look is moved to it: a stopped kubelet is then noticed sooner, without more looks.
func (s *State) Next(now time.Time, interval time.Duration, random float64) time.Time {
	next := now.Add(time.Duration(float64(interval) * (0.9 + 0.2*random)))
	for _, n := range s.nodes {
		l := &n.lease
		if s.gap || l.renewed == "" || l.same == 0 || n.known && n.bad {
			continue
		}
		if due := l.since.Add(l.limit); due.After(now.Add(interval/2)) && due.Before(now.Add(interval*3/2)) {
			return due
		}
	}
	return next
}

// Report returns the judgement.
func (s *State) Report() Report {
	r := Report{API: APIUnknown, CertificateExpires: s.notAfter.value, Nodes: make(map[string]NodeReport, len(s.nodes))}
	switch {
	case s.access.known && s.access.bad:
		r.Text, r.Denied = s.access.text, true
	case s.api.known && s.api.bad:
		r.API, r.Text, r.Since = APISilent, s.api.text, s.api.since
	case s.api.known:
		r.API, r.Since = APIAnswers, s.api.since
	}
	for name, n := range s.nodes {
		report := NodeReport{State: NodeUnknown, Version: n.version, Unschedulable: n.unschedulable, Applied: n.applied}
		if n.known && r.API == APIAnswers {
			report.State, report.Since = NodeReady, n.since
			if n.bad {
				report.State, report.Text = n.kind, n.text
			}
		}
		r.Nodes[name] = report
	}
	return r
}
