package assign

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
)

// markDuplicates marks free hosts as unusable if they share their address with another host that is
// held or usable, because either host could answer at that address. Held hosts are not marked. The
// input is not changed; if a host must be marked, the result is a copy.
//
// Hosts without an operating system are ignored. The address that such a host had during its
// inspection may belong to another machine now.
func markDuplicates(all []hosts.Host, access contract.Access) []hosts.Host {
	marked := all
	for _, duplicates := range sharing(all, access) {
		for _, i := range duplicates {
			if all[i].Holder != nil {
				continue
			}
			other := duplicates[0]
			if other == i {
				other = duplicates[1]
			}
			if &marked[0] == &all[0] {
				marked = slices.Clone(all)
			}
			marked[i].Unusable = "sharing its address with " + all[other].Name
		}
	}
	return marked
}

// sharing returns, by address, the indexes of the hosts that share this address. Held hosts come
// first, then free hosts; both are sorted by name.
func sharing(all []hosts.Host, access contract.Access) map[netip.Addr][]int {
	first, shared := make(map[netip.Addr]int, len(all)), map[netip.Addr][]int{}
	for i := range all {
		h := &all[i]
		if h.Bare || h.Unusable != "" && h.Holder == nil {
			continue
		}
		address := h.Address("", access)
		if !address.IsValid() {
			continue
		}
		other, seen := first[address]
		switch {
		case !seen:
			first[address] = i
		case shared[address] == nil:
			shared[address] = []int{other, i}
		default:
			shared[address] = append(shared[address], i)
		}
	}
	for _, duplicates := range shared {
		slices.SortFunc(duplicates, func(a, b int) int {
			return cmp.Or(free(all[a])-free(all[b]), cmp.Compare(all[a].Name, all[b].Name))
		})
	}
	return shared
}

// free returns 1 for a host without a holder, else 0.
func free(h hosts.Host) int {
	if h.Holder == nil {
		return 1
	}
	return 0
}
