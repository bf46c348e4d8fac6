package plan

import (
	"cmp"

	"github.com/akraino-icn/bpa/pkg/contract"
	sitehosts "github.com/akraino-icn/bpa/pkg/hosts"
)

// HostOf returns the observed state of a host. owner and uid identify the Provisioning.
func HostOf(owner sitehosts.Owner, uid string, h sitehosts.Host) Host {
	seen := Host{UID: h.UID, Ours: owner.Holds(h), Lost: h.Lost, Wiped: h.Wiped, Quarantined: h.Quarantined, Trouble: h.Trouble, Labels: h.Labels, MACs: h.MACs}
	switch {
	case seen.Ours:
		seen.Claimed = h.Holder.UID == uid
		seen.Bare, seen.Imaged, seen.Leaving = h.Bare, h.Imaged, h.Leaving
		seen.Marked = h.UsedBy != (contract.User{})
	case h.Holder != nil:
		seen.Holder = h.Holder.String()
	}
	if seen.Ours {
		seen.PowerManaged, seen.SwitchedOff = h.PowerManaged, h.SwitchedOff
	}
	if seen.Ours && h.Fence.By.UID == uid {
		seen.FencedAt, seen.FenceFailed = h.Fence.At, h.Fence.Failed
	}
	if h.Lost {
		seen.Trouble = cmp.Or(h.Trouble, h.Unusable)
	}
	return seen
}
