package session

import (
	"context"
	"io"
	"time"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/podstart"
)

// Ports are the functions and objects through which the task reaches the outside.
type Ports struct {
	Dial node.Dial
	// Playbook runs ansible-playbook and returns its exit status.
	Playbook func(ctx context.Context, c process.Command, stdout, stderr io.Writer) (status int, err error)
	// StartPods is podstart.Check.
	StartPods func(ctx context.Context, c podstart.Cluster, nodes []string, poll, limit time.Duration, log io.Writer) (map[string]string, error)
	// Machines finds and removes clusters on machines.
	Machines Machines
	// Copy opens a file of the depot of the request: the copy of a backup.
	Copy func(ctx context.Context, request contract.Request, path string) (io.ReadCloser, error)
	// PackageKey returns the public key of the depot of the request that signs its indexes of OS packages;
	// nil: the depot has none.
	PackageKey func(ctx context.Context, request contract.Request) ([]byte, error)
	// KnownHosts, Progress and Installed are ConfigMaps that the reconciler has created. Installed
	// has the states of the hosts, under contract.KeyHosts, those that joined, under
	// contract.KeyJoined, whether the cluster was complete once, under contract.KeyComplete, the
	// record of the cluster, under contract.KeyInstalled, and what must be available after a batch of
	// an upgrade, under contract.KeyAvailable.
	KnownHosts, Progress, Installed Store
	// Software is the ConfigMap with the record of the software; nil: the task installs none.
	Software Store
	Log      io.Writer
}

// Store keeps strings by key. Get returns an empty string if there is no such key.
type Store interface {
	Get(ctx context.Context, key string) (string, error)
	Set(ctx context.Context, key, value string) error
}
