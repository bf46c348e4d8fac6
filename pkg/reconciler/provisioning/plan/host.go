package plan

import (
	"cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	sitehosts "github.com/akraino-icn/bpa/pkg/hosts"
)

// HostOf returns the observed state of a host. owner and uid identify the Provisioning.
func HostOf(owner sitehosts.Owner, uid string, h sitehosts.Host) Host {
	seen := Host{UID: h.UID, Ours: owner.Holds(h), Lost: h.Lost, Trouble: h.Trouble, Labels: h.Labels}
	switch {
	case seen.Ours:
		seen.Claimed = h.Holder.UID == uid
		seen.Bare, seen.Imaged, seen.Leaving = h.Bare, h.Imaged, h.Leaving
		seen.Marked = h.UsedBy != (contract.User{})
	case h.Holder != nil:
		seen.Holder = h.Holder.String()
	}
	if h.Lost {
		seen.Trouble = cmp.Or(h.Trouble, h.Unusable)
	}
	return seen
}
