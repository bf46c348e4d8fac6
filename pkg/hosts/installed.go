package hosts

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// MarkInstalled marks those of the hosts on which, by the request, a node of its Provisioning is or may be installed.
func MarkInstalled(request contract.Request, all []Host) {
	for i := range all {
		h := &all[i]
		_, listed := slices.BinarySearch(request.Installed, h.Name)
		h.Installed = listed && h.Node != "" && !h.Standby && OwnerOf(request).Holds(*h)
	}
}
