package podstart

import (
	"context"
	"time"

	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// maxOutput bounds the output of a command in bytes.
const maxOutput = 64 << 20

// OverSSH is a Cluster with an SSH connection to one of its control planes.
type OverSSH struct {
	Conn    node.Connection
	Request contract.Request
	API     typedcorev1.CoreV1Interface // calls the API server through Conn
	Limit   time.Duration               // of one command or call
}

// Core implements Cluster.
func (o OverSSH) Core(ctx context.Context, do func(context.Context, typedcorev1.CoreV1Interface) error) error {
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	return do(ctx, o.API)
}

// Root implements Cluster.
func (o OverSSH) Root(ctx context.Context, command string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	return o.Conn.Output(ctx, node.AsRoot(o.Request, command), maxOutput)
}
