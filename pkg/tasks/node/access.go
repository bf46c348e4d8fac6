package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Access opens connections to nodes whose host keys are already pinned.
type Access struct {
	Dial    Dial
	Request contract.Request
	Key     ssh.Key
	Pins    ssh.Pins
	Limit   time.Duration // for one connection
}

// NewAccess returns the access to the nodes of a cluster with the private key of the SSH user, in PEM,
// and the host keys in knownHosts, the text that the task kubespray has stored. If one of them cannot
// be parsed, the error has the reason ReasonInvalidRequest.
func NewAccess(dial Dial, request contract.Request, privateKey []byte, knownHosts string, limit time.Duration) (Access, error) {
	key, err := ssh.ParseKey(privateKey)
	if err != nil {
		return Access{}, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("the SSH Secret's %s %w", KeyFile, err))
	}
	pins, err := ParsePins(request, knownHosts)
	if err != nil {
		return Access{}, err
	}
	return Access{Dial: dial, Request: request, Key: key, Pins: pins, Limit: limit}, nil
}

// ParsePins parses the host keys in knownHosts, as ssh.ParsePins does. Its error has the reason
// ReasonInvalidRequest and names the ConfigMap with the host keys of the cluster.
func ParsePins(request contract.Request, knownHosts string) (ssh.Pins, error) {
	pins, err := ssh.ParsePins(knownHosts)
	if err != nil {
		return nil, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("ConfigMap %s: %w", contract.KnownHostsName(request.Provisioning), err))
	}
	return pins, nil
}

// ErrNeverSeen reports that a node has no pinned host key. Without a pinned key, a task cannot
// verify that the machine at the node's address is the right one.
var ErrNeverSeen = errors.New("no SSH host key is pinned for it: the task kubespray, which pins host keys, has not run on it")

// FirstControlPlane connects to the first control plane that answers. It tries the control planes
// in their order in the slice nodes. If none answers, it returns the error of the first one. The
// error has a failure reason.
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
