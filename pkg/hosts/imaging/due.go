package imaging

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// Due returns the hosts that must get the image now, each with its node. held are the hosts that
// the Provisioning holds. A host must get the image if it is held for a node and has no operating
// system and no image yet. No host gets it while a node that is to be installed has no host: the
// claim may still fail, and Metal3 would then have to remove the image again.
func Due(slots []string, sets []contract.Set, held []hosts.Host) map[string]string {
	if !complete(slots, sets, held) {
		return nil
	}
	due := map[string]string{}
	for _, h := range held {
		if h.Node != "" && h.Bare && !h.Imaged && !givenUp(h) {
			due[h.Name] = h.Node
		}
	}
	return due
}

// complete reports whether each node that is to be installed has a host. Standby hosts may be
// missing, because no run waits for them.
func complete(slots []string, sets []contract.Set, held []hosts.Host) bool {
	named, active := map[string]bool{}, map[string]int{}
	for _, h := range held {
		switch {
		case h.Node == "" || h.Lost || givenUp(h):
		case h.Set == "":
			named[h.Node] = true
		case !h.Standby:
			active[h.Set]++
		}
	}
	for _, slot := range slots {
		if !named[slot] {
			return false
		}
	}
	for _, set := range sets {
		if active[set.Name] < set.Active {
			return false
		}
	}
	return true
}

// GivenUp returns the hosts that the controller must release because they have no use any more. It
// leaves out hosts whose image Metal3 still removes: they are released after that.
func GivenUp(held []hosts.Host) []hosts.Host {
	return slices.DeleteFunc(slices.Clone(held), func(h hosts.Host) bool { return !givenUp(h) || h.Leaving })
}

// FailedHere reports whether the host was given up because it did not receive its image.
func FailedHere(h hosts.Host) bool {
	return h.Labels[contract.LabelRelease] == contract.ReleaseImageFailed
}

// Offline returns the names of the hosts that are held for a node and that the controller must
// switch on. A host that is about to receive an image is not among them: Put switches it on.
func Offline(held []hosts.Host) []string {
	var names []string
	for _, h := range held {
		if h.Offline && h.Node != "" && !(h.Bare && !h.Imaged) {
			names = append(names, h.Name)
		}
	}
	return names
}

func givenUp(h hosts.Host) bool { return h.Labels[contract.LabelRelease] != "" }
