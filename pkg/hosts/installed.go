package hosts

import (
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// MarkInstalled sets the field Installed of each host in all. It is true if a node of the request's
// Provisioning is or may be installed on the host.
func MarkInstalled(request contract.Request, all []Host) {
	for i := range all {
		h := &all[i]
		_, listed := slices.BinarySearch(request.Installed, h.Name)
		h.Installed = listed && h.Node != "" && !h.Standby && OwnerOf(request).Holds(*h)
	}
}
