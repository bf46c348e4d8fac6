package node

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/ssh"
)

// KeyFile is the name of the private key in the data of a Secret of type kubernetes.io/ssh-auth.
const KeyFile = "ssh-privatekey"

// Connection is an SSH connection to a node.
type Connection interface {
	ssh.Dialer
	Output(ctx context.Context, command string, limit int) ([]byte, error)
	// Send is like Output, and the command reads in from its standard input.
	Send(ctx context.Context, command string, in io.Reader, limit int) ([]byte, error)
	HostKey() ssh.HostKey
	Close() error
}

// Dial opens a connection. If pinned is nil, this is the first contact, and any host key is
// accepted.
type Dial func(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (Connection, error)

// DialSSH is the Dial for real SSH connections.
func DialSSH(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (Connection, error) {
	client, err := ssh.Dial(ctx, to, key, pinned)
	if err != nil {
		return nil, err // explicitly nil: an interface with a nil *Client in it would not equal nil
	}
	return client, nil
}

// Target returns the address, port and login user that a connection to the node needs.
func Target(request contract.Request, node contract.Node) ssh.Target {
	return ssh.Target{Address: node.Address, Port: request.SSHPort, User: request.SSHUser}
}

// AsRoot returns a shell command that runs the given command as root. If the SSH user is not root,
// it adds sudo.
func AsRoot(request contract.Request, command string) string {
	if request.SSHUser == "root" {
		return command
	}
	return "sudo -n " + command
}

// mostOutput bounds the output of a script in bytes.
const mostOutput = 1 << 20

// Shell returns a Shell for a connection. The script must not contain a single quote.
func Shell(request contract.Request, conn Connection) machine.Shell {
	return func(ctx context.Context, script string) ([]byte, error) {
		if strings.Contains(script, "'") {
			return nil, errors.New("the script contains a single quote")
		}
		return conn.Output(ctx, AsRoot(request, "sh -c '"+script+"'"), mostOutput)
	}
}

// ControlPlanes returns the nodes that have the control plane role, in unchanged order.
func ControlPlanes(nodes []contract.Node) []contract.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n contract.Node) bool {
		return !slices.Contains(n.Roles, contract.RoleControlPlane)
	})
}

// Reason returns the failure reason of an SSH error. Errors of an unknown kind are
// ReasonHostUnreachable.
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
