package plan

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// Host is the observed state of a BareMetalHost. Its zero value is a host that is not claimed.
type Host struct {
	UID string
	// Gone means that the BareMetalHost does not exist.
	Gone bool
	// Ours means that the host is held by a Provisioning with this name. Claimed means that the
	// current object with this name claimed it, and not an earlier object that was deleted.
	Ours, Claimed bool
	// Holder is another consumer that holds the host; empty: there is none.
	Holder string
	// Lost means that the host is being deleted, in quarantine or wiped. Wiped means that Metal3 has
	// removed the operating system under its node, or is doing so.
	Lost, Wiped bool
	// Quarantined means that the host is lost only because it is in quarantine.
	Quarantined bool
	// PowerManaged means that Metal3 can power the host off. SwitchedOff means that it is off and stays
	// off.
	PowerManaged, SwitchedOff bool
	// FencedAt is when this Provisioning asked Metal3 to power the host off; zero: it did not.
	// FenceFailed is Metal3's error since then; empty: there is none.
	FencedAt    time.Time
	FenceFailed string
	// Trouble is a problem with the host, in words that complete "host-1 is ..."; empty: there is
	// none.
	Trouble string
	// Marked means that the host carries the annotation contract.AnnotationUsedBy.
	Marked bool
	// Bare means that the host has no operating system yet. Imaged means that Metal3 was asked to
	// install one.
	Bare, Imaged bool
	// Leaving means that Metal3 still removes the operating system after the host was given back.
	Leaving bool
	// MACs are the MAC addresses of the host's network cards, in lower case with colons.
	MACs []string
	// Labels are the labels of the BareMetalHost.
	Labels map[string]string
	// Live means that the state comes from the API server itself and not from a cache.
	Live bool
}

// Loss is a node that has lost its host.
type Loss struct {
	Node contract.Node
	// Why describes the loss in words that complete "host-1 is ...".
	Why string
	// Sure means that the API server itself confirms the loss: the host is gone, being deleted, in
	// quarantine, wiped or claimed by another consumer, or it was deleted and created again. A host that
	// merely has no claim is not a sure loss, because the node may claim it again.
	Sure bool
}

// Key identifies the loss in an annotation of the run that repairs it: "node=host".
func (l Loss) Key() string { return l.Node.Name + "=" + l.Node.Host }

// of reports whether the node is the lost one, and not one that a run installs under its name on the
// recreated host.
func (l Loss) of(n contract.Node) bool {
	return l.Key() == Loss{Node: n}.Key() && (n.HostUID == l.Node.HostUID || n.HostUID == "" || l.Node.HostUID == "")
}

// NodesOf returns the names of the nodes on these hosts.
func (s Seen) NodesOf(names []string) (nodes []string) {
	for _, n := range s.Nodes {
		if slices.Contains(names, n.Host) {
			nodes = append(nodes, n.Name)
		}
	}
	return nodes
}

// controlPlane reports whether the node has the control plane role, alone or with others.
func controlPlane(n contract.Node) bool { return slices.Contains(n.Roles, contract.RoleControlPlane) }

// losses returns the lost nodes: installed ones, and then standby nodes. It returns none as long as no
// cluster is installed and no host was touched.
func (s Seen) losses() []Loss {
	return slices.Clone(derive(s, func(d *derived) *once[[]Loss] { return &d.losses }, s.findLosses))
}

func (s Seen) findLosses() []Loss {
	if !s.Complete() && !s.touched() {
		return nil
	}
	var all []Loss
	for _, n := range append(slices.Clone(s.members()), s.standbys()...) {
		h, seen := s.Site[n.Host]
		if !seen {
			h.Gone = true
		}
		why, certain := h.loss(n)
		if why == "" && s.exchanged(n) {
			why, certain = recreated, true
		}
		if why != "" {
			all = append(all, Loss{Node: n, Why: why, Sure: certain && h.Live})
		}
	}
	return all
}

// standbys returns the standby nodes that are claimed, and those that the spec requests and that are not. The list of
// nodes also has those that the spec has requested once, and whose hosts were released since: these are no losses.
func (s Seen) standbys() (all []contract.Node) {
	have := map[string]int{}
	for _, claimed := range []bool{true, false} {
		for _, n := range s.Nodes {
			if set := s.set(n.Set); n.Standby && s.Site[n.Host].Ours == claimed && (claimed || set != nil && have[n.Set] < set.Standby) {
				have[n.Set]++
				all = append(all, n)
			}
		}
	}
	return all
}

// releasedStandbys returns, by set, how many standby hosts of the list of nodes exist and are not claimed any more. The
// controller has released them because an edit did not request them, or somebody else has taken them. If no host can be a
// missing standby, there are none.
func (s Seen) releasedStandbys() map[string]int {
	released := map[string]int{}
	for _, n := range s.Nodes {
		if h, known := s.Site[n.Host]; known && n.Standby && !h.Ours && !h.Gone && s.NoSpare == "" {
			released[n.Set]++
		}
	}
	return released
}

// LostHosts returns the names of the hosts that appear to be lost. The caller must ask the API
// server itself about them before it makes a decision.
func (s Seen) LostHosts() []string {
	var names []string
	for _, l := range s.losses() {
		names = append(names, l.Node.Host)
	}
	return names
}

// loss returns why a node has lost its host, and whether the loss is certain. why is empty if the
// node has its host.
func (h Host) loss(n contract.Node) (why string, certain bool) {
	switch {
	case h.Gone:
		return "gone: its BareMetalHost does not exist", true
	case h.Ours && h.Lost:
		return h.Trouble, true
	case h.Ours:
		return "", false
	case h.Holder != "":
		return "claimed by " + h.Holder, true
	case n.HostUID != "" && h.UID != n.HostUID:
		return recreated, true
	}
	return freed, false
}

// recreated is the loss of a host whose BareMetalHost is another object of the same name.
const recreated = "another host: its BareMetalHost was deleted and recreated"

// exchanged reports whether a run has claimed the recreated BareMetalHost of a node to install another
// machine, and has not completed this. The claim alone does not say it: a person who moves BareMetalHosts
// to another cluster recreates them with their claims, and the machines stay what they are.
func (s Seen) exchanged(n contract.Node) bool {
	h := s.Site[n.Host]
	if !h.Ours || n.Standby || n.HostUID == "" || h.UID == n.HostUID || s.Memory == nil {
		return false
	}
	return s.States[h.UID] == contract.HostUsed || slices.ContainsFunc(s.Runs, func(r Run) bool { return slices.Contains(r.Replaces, Loss{Node: n}.Key()) })
}

// freed is the loss of a host that has no claim.
const freed = "not claimed any more: its spec.consumerRef was cleared"

// touched reports whether something may be installed on hosts. This is the case unless all runs
// failed before they changed a host.
func (s Seen) touched() bool {
	if len(s.UsedHosts()) > 0 {
		return true
	}
	if !s.Recorded && (s.Touched || slices.ContainsFunc(s.Runs, func(r Run) bool { return r.Touched })) {
		return true
	}
	return slices.ContainsFunc(s.Runs, func(r Run) bool { return r.Touched && r.State == Active || r.State == Succeeded && !r.resets() })
}

// lostControlPlanes returns the losses of control plane nodes.
func (s Seen) lostControlPlanes() []Loss {
	return slices.DeleteFunc(s.losses(), func(l Loss) bool { return l.Node.Standby || !controlPlane(l.Node) })
}

// lostWorkers returns the losses of workers, which other hosts can replace. It leaves out losses
// that the newest run has repaired, even if the list of nodes still has the lost node.
func (s Seen) lostWorkers() []Loss {
	return slices.DeleteFunc(s.losses(), func(l Loss) bool {
		return l.Node.Standby || controlPlane(l.Node) || s.repaired(l)
	})
}

// due returns the losses that the controller repairs automatically: confirmed losses, as far as the
// policy permits. Without a majority of etcd, due returns none. All hosts of the site may
// then appear to be gone. If so, the cause is something else, and a replacement would not help.
func (s Seen) due() []Loss {
	if s.policy() == v1alpha1.ReplaceNever || !s.quorum() {
		return nil
	}
	standby := map[string]int{}
	for _, n := range s.Nodes {
		if h := s.Site[n.Host]; n.Standby && h.Ours && !h.Lost {
			standby[n.Set]++
		}
	}
	return slices.DeleteFunc(s.losses(), func(l Loss) bool {
		if l.Node.Standby || s.repaired(l) || !l.Sure { // an unsure loss takes no standby host from a sure one
			return true
		}
		standby[l.Node.Set]--
		return s.policy() == v1alpha1.ReplaceStandby && standby[l.Node.Set] < 0
	})
}

func oneIf(is bool) int {
	if is {
		return 1
	}
	return 0
}

// incomplete reports whether a run could repair something: a worker is lost, or a standby is
// missing.
func (s Seen) incomplete() bool {
	return len(s.lostWorkers()) > 0 || s.have() < s.want()
}

// want returns the number of requested nodes, including standby nodes.
func (s Seen) want() int {
	n := len(s.Slots)
	for _, set := range s.Sets {
		n += set.Active + set.Standby
	}
	return n
}

// have returns how many of the requested nodes have a claimed host.
func (s Seen) have() int { return s.haveActive() + s.haveStandby() }

// wantActive returns the number of requested nodes without standby nodes. haveActive and
// haveStandby return how many of the active and of the standby nodes have a claimed host.
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
	for _, node := range s.nodes() {
		if s.Site[node.Host].Ours && of(node) {
			n++
		}
	}
	return n
}

// returnable returns the names, sorted, of the claimed hosts that can be released because nothing
// was installed on them. The current Provisioning must have claimed them, not an earlier one of the
// same name, and none of its runs has started a playbook. Hosts that were given back and whose
// image Metal3 still removes are not among them: they are released automatically after that.
func (s Seen) returnable() []string {
	if s.Complete() || s.touched() {
		return nil
	}
	var names []string
	for name, h := range s.Site {
		if h.Ours && h.Claimed && !h.Leaving {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// withoutImage returns the returnable hosts for which BPA did not ask Metal3 for an image.
func (s Seen) withoutImage() []string {
	if s.Started.OSImage == nil { // users have set the images
		return s.returnable()
	}
	return slices.DeleteFunc(s.returnable(), func(name string) bool { return s.Site[name].Imaged })
}

// withOldImage returns the returnable hosts that received the OS image of the newest run, if the
// spec now requests another image or none.
func (s Seen) withOldImage() []string {
	if s.Started.OSImage == nil || reflect.DeepEqual(s.Started.OSImage, s.Request.OSImage) {
		return nil
	}
	return slices.DeleteFunc(s.returnable(), func(name string) bool { return !s.Site[name].Imaged })
}

// InstalledHosts returns the names, sorted, of the claimed hosts on which a node is or may be
// installed. If there is no list of nodes, because it was never written or was deleted, it returns
// all claimed hosts.
func (s Seen) InstalledHosts() []string {
	if !s.Complete() && !s.touched() {
		return nil
	}
	var names []string
	for _, n := range s.nodes() {
		h := s.Site[n.Host]
		reset := s.States[h.UID] == contract.HostClean && !s.isMember(n.Host)
		if !n.Standby && h.Ours && !reset && (s.Complete() || !s.Recorded || s.used(h)) {
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

// imaging describes how many claimed hosts have no operating system yet: they wait for their image
// or are receiving it. It is empty if all have one, or if no run is active.
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
		return fmt.Sprintf("%d of %s wait for their OS image, which the controller sets once each node has a host", bare, plural(of, "host"))
	}
	return fmt.Sprintf("provisioning %d of %s with the OS image", asked, plural(of, "host"))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
