package etcd

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"

	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Member is a member of etcd, as etcdctl prints it. A member that has never started has no name and
// no client URLs.
type Member struct {
	ID                   uint64
	Name                 string
	PeerURLs, ClientURLs []string
	IsLearner            bool
}

// At reports whether the member is at one of the IP addresses.
func (m Member) At(addresses ...string) bool {
	return slices.ContainsFunc(m.PeerURLs, func(peer string) bool { return AtAddress(peer, addresses) })
}

// HealthyIn reports whether the member answers. healthy are the client URLs of those that do.
func (m Member) HealthyIn(healthy []string) bool {
	return slices.ContainsFunc(m.ClientURLs, func(client string) bool { return slices.Contains(healthy, client) })
}

// Removal returns the member of etcd at one of the addresses; false: there is none. healthy are the
// client URLs of the members that answer. It is an error if, without the member, etcd does not have
// a healthy majority.
func Removal(members []Member, healthy []string, addresses []string) (Member, bool, error) {
	i := slices.IndexFunc(members, func(m Member) bool { return m.At(addresses...) })
	if i < 0 {
		return Member{}, false, nil
	}
	voters, alive := 0, 0
	for j, m := range members {
		if j == i || m.IsLearner {
			continue
		}
		voters++
		if m.HealthyIn(healthy) {
			alive++
		}
	}
	if voters == 0 {
		return Member{}, false, errors.New("it has the only member of etcd. Remove another control plane, or add one first")
	}
	if majority := voters/2 + 1; alive < majority {
		return Member{}, false, fmt.Errorf("without it, only %d of %d members of etcd are healthy, and %d must be. "+
			"Switch on or repair another control plane first; the next attempt continues", alive, voters, majority)
	}
	return members[i], true, nil
}

// AtAddress reports whether the host of a URL is one of the IP addresses.
func AtAddress(text string, addresses []string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	at, err := netip.ParseAddr(u.Hostname())
	return err == nil && slices.ContainsFunc(addresses, func(address string) bool {
		one, err := netip.ParseAddr(address)
		return err == nil && one.Unmap() == at.Unmap()
	})
}

// Spare returns an error if etcd has no majority while the member at the addresses does not answer.
// One or two members have none then. They must be healthy, and no API server answers for a moment.
func Spare(members []Member, healthy, addresses []string) error {
	voters, alive, others := 0, 0, 0
	for _, m := range members {
		if m.IsLearner {
			return fmt.Errorf("member %s of etcd is a learner", task.Printable(m.Name, 200))
		}
		voters++
		if m.HealthyIn(healthy) {
			alive++
			if !m.At(addresses...) {
				others++
			}
		}
	}
	switch {
	case voters <= 2 && alive < voters:
		return fmt.Errorf("only %d of %d members of etcd are healthy", alive, voters)
	case voters > 2 && others < voters/2+1:
		return fmt.Errorf("without it, only %d of %d members of etcd are healthy, and %d must be", others, voters, voters/2+1)
	}
	return nil
}
