package assign

import (
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// lacks returns the first item of a requirement for disks or cards that the host does not meet: alone, or beside the items
// before it, because a device counts for one item only. The result is none if the host meets all items.
func lacks[Item, Device any](items []Item, devices []Device, count func(*Item) int, like func(*Device, *Item) bool) (alone, beside int) {
	for i := range items {
		n := 0
		for d := range devices {
			if like(&devices[d], &items[i]) {
				n++
			}
		}
		if n < count(&items[i]) {
			return i, none
		}
	}
	if len(items) < 2 { // nearly all requests: nothing is allocated for them
		return none, none
	}
	owner, seen := allNone(len(devices)), make([]bool, len(devices))
	var take func(item int) bool
	take = func(item int) bool { // gives one more device to the item; another item may have to take another one for it
		for d := range devices {
			if seen[d] || !like(&devices[d], &items[item]) {
				continue
			}
			seen[d] = true
			if owner[d] == none || take(int(owner[d])) {
				owner[d] = int32(item)
				return true
			}
		}
		return false
	}
	for i := range items {
		for range count(&items[i]) {
			clear(seen)
			if !take(i) {
				return none, i
			}
		}
	}
	return none, none
}

func deviceGap(n *contract.Needs, h *hosts.Host) gap {
	alone, beside := lacks(n.Disks, h.Disks, func(i *contract.DiskNeed) int { return i.Count }, isDisk)
	switch {
	case alone != none:
		return gap{ofDisk, alone}
	case beside != none:
		return gap{ofOtherDisk, beside}
	}
	alone, beside = lacks(n.NICs, h.NICs, func(i *contract.NICNeed) int { return i.Count }, isNIC)
	switch {
	case alone != none:
		return gap{ofNIC, alone}
	case beside != none:
		return gap{ofOtherNIC, beside}
	}
	return gap{}
}

func isDisk(d *hosts.Disk, need *contract.DiskNeed) bool {
	return d.Size >= need.Size && (need.Type == "" || strings.EqualFold(d.Type, need.Type))
}

func isNIC(c *hosts.NIC, need *contract.NICNeed) bool {
	return c.Speed >= need.Speed && (c.SRIOV || !need.SRIOV) && matches(need.Model, c.Model)
}

// besideText describes an item that a host does not meet beside the items before it: "with fewer than 2 disks beside
// 2 NVMe disks of 960G".
func besideText[Item any](items []Item, at int, text func(Item) string) string {
	var before []string
	for _, i := range items[:at] {
		before = append(before, text(i))
	}
	return "with fewer than " + text(items[at]) + " beside " + strings.Join(before, " and ")
}
