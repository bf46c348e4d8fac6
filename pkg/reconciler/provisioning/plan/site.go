package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Host is what is seen of a BareMetalHost. Its zero value, but for Gone, is a host that nobody holds.
type Host struct {
	UID string
	// Gone: there is no such BareMetalHost.
	Gone bool
	// Ours: this Provisioning holds it. Claimed: it was this very object that claimed it, not an earlier one of the same name.
	Ours, Claimed bool
	// Holder is who else holds it; empty: nobody does.
	Holder string
	// Lost: it is being deleted or in quarantine.
	Lost bool
	// Trouble is what its holder should know of, in words that complete "host-1 is ..."; empty: it is well.
	Trouble string
	// Bare: it has no operating system yet. Imaged: Metal3 was asked to give it one.
	Bare, Imaged bool
	// Live: the API server was asked itself, not a cache.
	Live bool
}

// Loss is a node whose host is no more there for it.
type Loss struct {
	Node contract.Node
	// Why completes "host-1 is ...".
	Why string
	// Sure: the host is gone, being deleted, in quarantine or somebody else's, by what the API server itself says. A host that nobody
	// holds may be given back as it was taken.
	Sure bool
}

// Key names a loss in the annotation of the run that makes it good.
func (l Loss) Key() string { return l.Node.Name + "=" + l.Node.Host }

// LostNodes are the names of the nodes whose losses the step makes good.
func (s Step) LostNodes() []string {
	var names []string
	for _, key := range s.Replaces {
		name, _, _ := strings.Cut(key, "=")
		names = append(names, name)
	}
	return names
}

// controlPlane reports whether the node is one, also.
func controlPlane(n contract.Node) bool { return slices.Contains(n.Roles, contract.RoleControlPlane) }

// losses are the lost nodes, standbys among them, in the order of the nodes. Before anything was installed there is nothing to lose.
func (s Seen) losses() []Loss {
	if s.installedDigest() == "" && !s.touched() {
		return nil
	}
	var all []Loss
	for _, n := range s.Nodes {
		h, seen := s.Site[n.Host]
		if !seen {
			h.Gone = true
		}
		if why, certain := h.loss(n); why != "" {
			all = append(all, Loss{Node: n, Why: why, Sure: certain && h.Live})
		}
	}
	return all
}

// LostHosts are the names of the hosts that seem to be lost: where it matters, the API server itself is asked about them.
func (s Seen) LostHosts() []string {
	var names []string
	for _, l := range s.losses() {
		names = append(names, l.Node.Host)
	}
	return names
}

// loss is why a node is without its host; empty if it is not.
func (h Host) loss(n contract.Node) (why string, certain bool) {
	switch {
	case h.Gone:
		return "gone: there is no such BareMetalHost", true
	case h.Ours && h.Lost:
		return h.Trouble, true
	case h.Ours:
		return "", false
	case h.Holder != "":
		return "held by " + h.Holder, true
	case n.HostUID != "" && h.UID != n.HostUID:
		return "another one: its BareMetalHost was deleted and made anew", true
	}
	return freed, false
}

// freed is why a host is lost that nobody has taken.
const freed = "held by nobody: somebody cleared its spec.consumerRef"

// touched reports whether something may be installed on hosts: only a select-hosts or render-inventory that failed leaves them as they were.
func (s Seen) touched() bool {
	return s.Touched || slices.ContainsFunc(s.Runs, func(r Run) bool { return r.Touched || r.State == Succeeded })
}

// lostControlPlanes are the losses that nothing here makes good.
func (s Seen) lostControlPlanes() []Loss {
	return slices.DeleteFunc(s.losses(), func(l Loss) bool { return l.Node.Standby || !controlPlane(l.Node) })
}

// lostWorkers are the losses that another host makes good, as far as no run has just done so and the nodes are only not written yet.
func (s Seen) lostWorkers() []Loss {
	return slices.DeleteFunc(s.losses(), func(l Loss) bool {
		newest := s.Newest()
		done := newest != nil && newest.State == Succeeded && slices.Contains(newest.Replaces, l.Key())
		return l.Node.Standby || controlPlane(l.Node) || done
	})
}

// due are the losses that the controller makes good by itself: those of workers, for sure, whose set has a standby. While a control plane
// node is lost nothing is: a site all of whose hosts seem to be gone has another trouble.
func (s Seen) due() []Loss {
	if len(s.lostControlPlanes()) > 0 {
		return nil
	}
	standby := map[string]int{}
	for _, n := range s.Nodes {
		if h := s.Site[n.Host]; n.Standby && h.Ours && !h.Lost {
			standby[n.Set]++
		}
	}
	return slices.DeleteFunc(s.lostWorkers(), func(l Loss) bool {
		standby[l.Node.Set]--
		return !l.Sure || standby[l.Node.Set] < 0
	})
}

// incomplete reports whether a run could bring the cluster nearer to what is asked for: a worker is lost, or a standby is missing.
func (s Seen) incomplete() bool {
	return len(s.lostWorkers()) > 0 || s.have() < s.want()
}

// want is how many nodes are asked for, standbys too.
func (s Seen) want() int {
	n := len(s.Slots)
	for _, set := range s.Sets {
		n += set.Active + set.Standby
	}
	return n
}

// have is how many of them have a host that is held.
func (s Seen) have() int { return s.haveActive() + s.haveStandby() }

// wantActive and haveActive count the nodes that are, or are to be, installed.
func (s Seen) wantActive() int {
	n := len(s.Slots)
	for _, set := range s.Sets {
		n += set.Active
	}
	return n
}

func (s Seen) haveActive() int {
	n := s.count(func(n contract.Node) bool { return n.Set == "" && slices.Contains(s.Slots, n.Name) })
	for _, set := range s.Sets {
		n += min(set.Active, s.count(func(n contract.Node) bool { return n.Set == set.Name && !n.Standby }))
	}
	return n
}

func (s Seen) haveStandby() (n int) {
	for _, set := range s.Sets {
		n += min(set.Standby, s.count(func(n contract.Node) bool { return n.Set == set.Name && n.Standby }))
	}
	return n
}

func (s Seen) count(of func(contract.Node) bool) (n int) {
	for _, node := range s.Nodes {
		if s.Site[node.Host].Ours && of(node) {
			n++
		}
	}
	return n
}

// returnable are the held hosts, sorted, that can be given back, since nothing was installed on them: this very object claimed them, and no
// playbook has run since it exists.
func (s Seen) returnable() []string {
	if s.installedDigest() != "" || s.touched() {
		return nil
	}
	var names []string
	for name, h := range s.Site {
		if h.Ours && h.Claimed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// withOldImage are those of the returnable hosts that were given the OS image of the newest run, if the spec asks for another one by now.
func (s Seen) withOldImage() []string {
	if s.Started.OSImage == nil || reflect.DeepEqual(s.Started.OSImage, s.Request.OSImage) {
		return nil
	}
	return slices.DeleteFunc(s.returnable(), func(name string) bool { return !s.Site[name].Imaged })
}

// InstalledHosts are the held hosts, sorted, on which a node is or may be installed; where nobody has written which node is where, or somebody has
// deleted it, that is all of them.
func (s Seen) InstalledHosts() []string {
	if s.installedDigest() == "" && !s.touched() {
		return nil
	}
	var names []string
	for _, n := range s.Nodes {
		if !n.Standby && s.Site[n.Host].Ours {
			names = append(names, n.Host)
		}
	}
	for name, h := range s.Site {
		if len(s.Nodes) == 0 && h.Ours {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// imaging says how many of the held hosts are to get their operating system, and how many of those are being given it; empty if none is, or no run
// works.
func (s Seen) imaging() string {
	bare, asked, of := 0, 0, 0
	for _, h := range s.Site {
		switch {
		case !h.Ours:
			continue
		case h.Bare && h.Imaged:
			asked++
		case h.Bare:
			bare++
		}
		of++
	}
	switch {
	case bare+asked == 0 || len(s.ActiveRuns()) == 0:
		return ""
	case asked == 0:
		return fmt.Sprintf("%d of %s wait for the controller to ask for the OS image, which it does once each node has a host", bare, plural(of, "host"))
	}
	return fmt.Sprintf("provisioning %d of %s with the OS image", asked, plural(of, "host"))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
