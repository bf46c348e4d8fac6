package hosts

import (
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Occupied reports whether the cluster of another Provisioning may still be on the host, so that the
// request cannot use the host. Provisionings are compared by UID: a Provisioning that was deleted
// and created again starts another cluster. A host that gets its operating system from Metal3 is
// not occupied, because the image overwrites the old cluster.
//
// A free host without an operating system that has the mark of this Provisioning is occupied too: once
// it is claimed, it would look like the host of an installed node that Metal3 has wiped (see Wiped). A
// user who has wiped such a host removes the mark.
func (h *Host) Occupied(request *contract.Request) bool {
	if h.UsedBy == (contract.User{}) {
		return false
	}
	if ours := request.UID != "" && h.UsedBy.UID == request.UID; ours {
		return h.Bare && h.Holder == nil
	}
	return !h.Bare
}

// ResetCommand returns the command by which a user removes an old cluster from hosts.
func ResetCommand(namespace string, names ...string) string {
	return "`kubectl bpa hosts reset " + strings.Join(names, " ") + " -n " + namespace + "`"
}

// Removal returns the command by which a user makes a host usable that is occupied. A host without an
// operating system needs no reset: only its mark is left.
func (h *Host) Removal(namespace string) string {
	if h.Bare {
		return "`kubectl annotate bmh " + h.Name + " -n " + namespace + " " + contract.AnnotationUsedBy + "-`"
	}
	return ResetCommand(namespace, h.Name)
}

// MarkInstalled sets the field Installed of each host in all. It is true if a node of the request's
// Provisioning is or may be installed on the host.
func MarkInstalled(request contract.Request, all []Host) {
	for i := range all {
		h := &all[i]
		_, listed := slices.BinarySearch(request.Installed, h.Name)
		h.Installed = listed && h.Node != "" && !h.Standby && OwnerOf(request).Holds(*h)
	}
}
