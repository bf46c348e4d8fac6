package podstart

import (
	"bytes"
	"context"
	"time"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// maxOutput bounds the output of a command in bytes. It is large enough for about 2,000 nodes.
const maxOutput = 64 << 20

// OverSSH is a Cluster with an SSH connection to one of its control planes.
type OverSSH struct {
	Conn    node.Connection
	Request contract.Request
	Command string        // the beginning of a command that runs kubectl there
	Limit   time.Duration // of one command
}

// Kubectl implements Cluster.
func (o OverSSH) Kubectl(ctx context.Context, arguments string, stdin []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	if stdin == nil {
		return o.Conn.Output(ctx, node.AsRoot(o.Request, o.Command+arguments), maxOutput)
	}
	return o.Conn.Send(ctx, node.AsRoot(o.Request, o.Command+arguments), bytes.NewReader(stdin), maxOutput)
}

// Root implements Cluster.
func (o OverSSH) Root(ctx context.Context, command string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	return o.Conn.Output(ctx, node.AsRoot(o.Request, command), maxOutput)
}
