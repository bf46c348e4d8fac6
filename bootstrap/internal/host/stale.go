package host

import (
	"context"
	"os"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// Revive clears what a reboot of the machine (or the death of all its processes) leaves on disk: sockets, mounts and
// address leases of containers that are gone. Where a container's shim is still alive it does nothing: the container
// runtime finds its containers again by that state.
func Revive(ctx context.Context, l layout.Layout) error {
	if len(Shims(l.ContainerdSocket())) > 0 {
		return nil
	}
	if err := KillContainers(ctx, l); err != nil { // without a shim, nobody can ever stop them
		return err
	}
	for _, dir := range []string{l.ContainerdState(), l.RuncState(), l.Data("cni")} {
		if err := UnmountBelow(dir); err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}
