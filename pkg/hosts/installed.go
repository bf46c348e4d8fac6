package hosts

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// MarkInstalled sets Installed for the hosts on which a node of the request's Provisioning is or
// may be installed. It changes the elements of all.
func MarkInstalled(request contract.Request, all []Host) {
	for i := range all {
		h := &all[i]
		_, listed := slices.BinarySearch(request.Installed, h.Name)
		h.Installed = listed && h.Node != "" && !h.Standby && OwnerOf(request).Holds(*h)
	}
}
