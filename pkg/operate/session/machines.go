package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// Machines finds and removes what a cluster leaves on a machine. OnMachines implements it.
type Machines interface {
	Inspect(ctx context.Context, sh machine.Shell) (machine.Report, error)
	Mark(ctx context.Context, sh machine.Shell, user contract.User) error
	Save(ctx context.Context, sh machine.Shell) error
	Clean(ctx context.Context, sh machine.Shell) error
	Authorize(ctx context.Context, sh machine.Shell, line string) error
}

// OnMachines implements Machines with package machine.
type OnMachines struct{}

// Inspect implements Machines.
func (OnMachines) Inspect(ctx context.Context, sh machine.Shell) (machine.Report, error) {
	return machine.Inspect(ctx, sh)
}

// Mark implements Machines.
func (OnMachines) Mark(ctx context.Context, sh machine.Shell, user contract.User) error {
	return machine.Mark(ctx, sh, user)
}

// Save implements Machines.
func (OnMachines) Save(ctx context.Context, sh machine.Shell) error { return machine.Save(ctx, sh) }

// Clean implements Machines.
func (OnMachines) Clean(ctx context.Context, sh machine.Shell) error { return machine.Clean(ctx, sh) }

// Authorize implements Machines.
func (OnMachines) Authorize(ctx context.Context, sh machine.Shell, line string) error {
	return machine.Authorize(ctx, sh, line)
}

// Dial opens a connection to a node within in.ConnectLimit.
func Dial(ctx context.Context, in Input, n contract.Node, key ssh.Key, pinned ssh.HostKey, ports Ports) (node.Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, in.ConnectLimit)
	defer cancel()
	return ports.Dial(ctx, node.Target(in.Request, n), key, pinned)
}

// OnMachine connects to a node and runs do with a Shell there. The node must have the pinned host
// key.
func OnMachine(ctx context.Context, in Input, n contract.Node, key ssh.Key, pinned ssh.HostKey, ports Ports, do func(context.Context, machine.Shell) error) error {
	if pinned == nil {
		return node.ErrNeverSeen
	}
	conn, err := Dial(ctx, in, n, key, pinned, ports)
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(ctx, node.Shell(in.Request, conn))
}

// IsEmpty reports whether no cluster and no mark of BPA is on the machine.
func IsEmpty(r machine.Report) bool { return r.Clean() && r.User == contract.User{} }

// IsOurs reports whether what is on a machine comes from this Provisioning. The file on the machine
// decides. Without the file, the record decides: an interrupted reset may have removed the file.
func (c Contact) IsOurs(in Input, n contract.Node, r machine.Report) bool {
	if r.User != (contract.User{}) {
		return r.User.UID == in.Request.UID
	}
	return c.States[n.HostUID] == contract.HostUsed
}

// CheckFree returns an error if a Kubernetes of another owner is on the machine. It accepts the hosts
// on which, as the controller knows, a node of this cluster is or may be: the file on such a machine, and the record,
// may be lost.
func (c Contact) CheckFree(in Input, n contract.Node, r machine.Report) error {
	if len(r.Kubernetes) == 0 || c.IsOurs(in, n, r) || slices.Contains(in.Request.Installed, n.Host) {
		return nil
	}
	return fmt.Errorf("%w: it has %s; %s", ErrOccupied, FirstItems(r.Kubernetes), DescribeOwner(r.User))
}
