package node

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// KeyFile is the file with the private key in a Secret of type kubernetes.io/ssh-auth.
const KeyFile = "ssh-privatekey"

// Connection is an SSH connection to a node.
type Connection interface {
	ssh.Dialer
	Output(ctx context.Context, command string, limit int) ([]byte, error)
	HostKey() ssh.HostKey
	Close() error
}

// Dial opens a connection. A pinned key of nil stands for first contact.
type Dial func(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (Connection, error)

// DialSSH is the real Dial.
func DialSSH(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (Connection, error) {
	client, err := ssh.Dial(ctx, to, key, pinned)
	if err != nil {
		return nil, err // a nil *Client in the interface would not be nil
	}
	return client, nil
}

// Target is where a node is reached and as whom.
func Target(request contract.Request, node contract.Node) ssh.Target {
	return ssh.Target{Address: node.Address, Port: request.SSHPort, User: request.SSHUser}
}

// AsRoot makes a command run as root.
func AsRoot(request contract.Request, command string) string {
	if request.SSHUser == "root" {
		return command
	}
	return "sudo -n " + command
}

// ControlPlanes are the nodes with that role, in order.
func ControlPlanes(nodes []contract.Node) []contract.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool {
		return !slices.Contains(n.Roles, contract.RoleControlPlane)
	})
}

// Access is what is needed to reach nodes that have been reached before.
type Access struct {
	Dial    Dial
	Request contract.Request
	Key     ssh.Key
	Pins    ssh.Pins
	Limit   time.Duration // for one connection
}

// ErrNeverSeen: a node has no pinned host key, so it cannot be known whether it is the right machine.
var ErrNeverSeen = errors.New("its SSH host key is not known: the task kubespray, which pins it, has not run")

// FirstControlPlane connects to the first control plane that answers. If none does, the error is that of the first one.
func (a Access) FirstControlPlane(ctx context.Context, nodes []contract.Node) (Connection, contract.Node, error) {
	failed := error(task.Because(contract.ReasonInvalidRequest, errors.New("no node is a control plane")))
	for i, node := range ControlPlanes(nodes) {
		conn, err := a.open(ctx, node)
		if err == nil {
			return conn, node, nil
		}
		if i == 0 {
			failed = &task.Error{Reason: Reason(err), Host: node.Name, Step: "connect by SSH", Err: err}
		}
	}
	return nil, contract.Node{}, failed
}

func (a Access) open(ctx context.Context, node contract.Node) (Connection, error) {
	pinned := a.Pins.Of(node.HostUID)
	if pinned == nil {
		return nil, ErrNeverSeen
	}
	ctx, cancel := context.WithTimeout(ctx, a.Limit)
	defer cancel()
	return a.Dial(ctx, Target(a.Request, node), a.Key, pinned)
}

// Reason classifies an SSH error.
func Reason(err error) contract.Reason {
	var changed *ssh.KeyChangedError
	switch {
	case errors.As(err, &changed):
		return contract.ReasonHostKeyChanged
	case errors.Is(err, ssh.ErrDenied):
		return contract.ReasonSSHDenied
	case errors.Is(err, ErrNeverSeen):
		return contract.ReasonInvalidRequest
	}
	return contract.ReasonHostUnreachable
}
