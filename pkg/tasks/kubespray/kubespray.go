package kubespray

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/akraino-icn/bpa/pkg/ansible"
	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Input is what one run is about.
type Input struct {
	Run      string // name of the PipelineRun
	Playbook string // such as cluster.yml
	Request  contract.Request
	Nodes    []contract.Node
	HostsINI []byte
	// GroupVars are the variables of all hosts, as JSON.
	GroupVars  []byte
	PrivateKey []byte // PEM, of the SSH user
	// PlaybooksDir holds the playbooks and their ansible.cfg; ScratchDir is the one place to write to, best in memory.
	PlaybooksDir, ScratchDir string
	// ConnectLimit bounds the first connection to each node, HealthLimit the wait for a healthy cluster and ProbeLimit one look at it.
	ConnectLimit, HealthLimit, ProbeLimit time.Duration
}

// Output is what a run that went well leaves as results.
type Output struct {
	Recap string
}

// Ports are what the task needs of the world.
type Ports struct {
	Dial     node.Dial
	Playbook func(ctx context.Context, c process.Command, stdout, stderr io.Writer) (status int, err error)
	// KnownHosts and Progress are the ConfigMaps that the reconciler made for them.
	KnownHosts, Progress Store
	Log                  io.Writer
}

// Store keeps texts by key. Get of a key that is not there is empty.
type Store interface {
	Get(ctx context.Context, key string) (string, error)
	Set(ctx context.Context, key, value string) error
}

// Run does the whole task. Twice equals once as far as the playbook is idempotent.
func Run(ctx context.Context, in Input, ports Ports) (Output, error) {
	key, err := in.check()
	if err != nil {
		return Output{}, task.Because(contract.ReasonInvalidRequest, err)
	}
	ports.Log = &lockedWriter{out: ports.Log}
	told := startProgress(ctx, ports.Progress, in.Run, ports.Log)
	defer told.end()

	counted := make(chan int, 1) // kubespray's playbooks take a while to read
	go func() { counted <- ansible.CountTasks(os.DirFS(in.PlaybooksDir), in.Playbook) }()
	told.set(0, "Connect to the nodes")
	pins, err := preflight(ctx, in, key, ports)
	if err != nil {
		return Output{}, err
	}
	files, err := prepare(in, pins)
	if err != nil {
		return Output{}, task.Because(contract.ReasonInternal, err)
	}
	forget(ctx, in, key, pins, ports)
	recap, err := play(ctx, in, files, ports, told, counted)
	if err != nil {
		return Output{}, err
	}
	told.set(99, "Wait for nodes and system pods")
	forget(ctx, in, key, pins, ports) // one that was Ready a moment ago may be known as lost by now
	if err := awaitHealthy(ctx, in, key, pins, ports); err != nil {
		return Output{}, err
	}
	told.set(100, "The cluster is healthy")
	fmt.Fprintf(ports.Log, "\n%s\n", recap)
	return Output{Recap: recap}, nil
}

// check looks at the input before any host is touched.
func (in Input) check() (ssh.Key, error) {
	if len(in.Nodes) == 0 {
		return nil, fmt.Errorf("%s names no node", contract.KeyNodes)
	}
	if len(node.ControlPlanes(in.Nodes)) == 0 {
		return nil, fmt.Errorf("no node in %s is a control plane", contract.KeyNodes)
	}
	for _, n := range in.Nodes {
		if n.Address == "" || n.HostUID == "" {
			return nil, fmt.Errorf("node %s has no address or no host", n.Name)
		}
	}
	if !fs.ValidPath(in.Playbook) || strings.HasPrefix(in.Playbook, "-") || path.Ext(in.Playbook) != ".yml" {
		return nil, fmt.Errorf("%q is no playbook's name, such as cluster.yml", in.Playbook)
	}
	if _, err := fs.Stat(os.DirFS(in.PlaybooksDir), in.Playbook); err != nil {
		return nil, fmt.Errorf("no playbook %s in %s: is the image's base one with kubespray?", in.Playbook, in.PlaybooksDir)
	}
	key, err := ssh.ParseKey(in.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("the SSH Secret's ssh-privatekey %w", err)
	}
	return key, nil
}
