package host

import (
	"context"
	"os"

	"github.com/akraino-icn/bpa/bootstrap/internal/layout"
)

// ClearStaleState removes the state of containers that ended without cleanup, such as in a reboot:
// sockets, mounts and address leases. It does nothing if a shim still runs, because the container
// runtime uses this state to find its containers again.
func ClearStaleState(ctx context.Context, l layout.Layout) error {
	if len(Shims(l.ContainerdSocket())) > 0 {
		return nil
	}
	if err := KillContainers(ctx, l); err != nil { // without a shim, nothing else can stop the processes of a container
		return err
	}
	for _, dir := range l.ContainerDirs() {
		if err := UnmountBelow(dir); err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return nil
}
