package kubespray

import (
	"cmp"
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
	"github.com/akraino-icn/bpa/pkg/secretvars"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/podstart"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Input holds the parameters of one run.
type Input struct {
	Run      string // name of the PipelineRun
	Playbook string // such as cluster.yml
	// Played is the digest of an inventory with which an earlier run of the playbook succeeded;
	// contract.None: there is none.
	Played   string
	Request  contract.Request
	Nodes    []contract.Node
	HostsINI []byte
	// GroupVars are the variables of all hosts, as JSON.
	GroupVars  []byte
	PrivateKey []byte // private key of the SSH user, in PEM
	BackupKey  []byte // private key of the backups, in age's notation; empty: the run restores no backup
	// Secrets are the variables in Secrets with their values. They are hidden in everything that the task shows.
	Secrets secretvars.Values
	// PlaybooksDir holds the playbooks and their ansible.cfg. ScratchDir is the only writable
	// folder. The private key is copied there, so it should be in memory.
	PlaybooksDir, ScratchDir string
	// BootLimit is how long the task waits for nodes that do not answer yet. 0: see Input.wait.
	BootLimit time.Duration
	// ConnectLimit bounds the time of the first connection to each node. HealthLimit bounds the
	// time until the cluster is healthy. ProbeLimit bounds the time of one query to the new
	// cluster.
	ConnectLimit, HealthLimit, ProbeLimit time.Duration

	// poll is the time between two queries while the task waits for the cluster or a machine. 0: see
	// pollInterval and firstPause. Tests set it.
	poll time.Duration
	// others are the nodes of the cluster that are not in Nodes, because this part of the run does
	// not concern them.
	others []contract.Node
	// limit are the nodes to which the playbook is limited; empty: all nodes of the inventory.
	// extra are further variables of the playbook, which override those of the inventory.
	limit []string
	extra map[string]any
	// fresh are the nodes of limit that join the cluster. The run changes the machines of the others
	// only through the playbook and equipPresent, and never resets them. nil: all nodes of limit.
	fresh []string
	// tags selects tasks of the playbook; empty: all of them. alone reports that the playbook
	// connects only to the nodes of limit.
	tags  string
	alone bool
	// silent are the names of workers that are not waited for at the end, because they did not answer in a
	// restore. content is what the record says of the variables of the control planes after it (Node.Settings);
	// empty: they have those of the request.
	silent []string
	// sick are the names of nodes that were not Ready before the run and that it does not concern.
	sick    []string
	content string
}

// Output holds the results of a successful run.
type Output struct {
	Recap string // one line: ansible.Findings.Recap, or the result of a removal or a reset
}

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

// Run installs a cluster, removes nodes from it if the playbook is contract.PlaybookRemove, upgrades
// nodes if it is contract.PlaybookUpgrade, or removes the whole cluster if it is contract.PlaybookReset. If
// the operation is contract.OperationConfigure, it applies variables, and if it is
// contract.OperationRestore, it restores a backup. It can be repeated if the playbook can
// be repeated.
func Run(ctx context.Context, in Input, ports Ports) (Output, error) {
	hide := ansible.NewLiterals(secretvars.Texts(in.Secrets.Vars))
	if hide == nil {
		return run(ctx, in, ports)
	}
	hidden, flush := hiding(hide, ports)
	out, err := run(ctx, in, hidden)
	flush()
	return Output{Recap: hide.Redact(out.Recap)}, withoutTexts(hide, err)
}

func run(ctx context.Context, in Input, ports Ports) (Output, error) {
	playbooks, err := engineOf(in.PlaybooksDir)
	if err != nil { // a site's own playbooks need no description
		fmt.Fprintf(ports.Log, "The release of the playbooks is not known: %v\n", err)
	}
	if err := playbooks.check(in); err != nil { // before in.check, which misses the playbook
		return Output{}, task.Because(contract.ReasonInvalidRequest, err)
	}
	key, err := in.check()
	if err != nil {
		return Output{}, task.Because(contract.ReasonInvalidRequest, err)
	}
	if !in.Request.OnlyPatches() { // such a run has no playbook, and can have the digests of the record
		if err := in.checkSecrets(); err != nil {
			return Output{}, err
		}
	}
	ports.Log = playbook.Locked(ports.Log)
	progress := startProgress(ctx, ports.Progress, in.Run, ports.Log)
	defer progress.end()
	progress.SetEngine(playbooks.String())
	work := install
	switch in.Playbook {
	case contract.PlaybookReset:
		work = reset
	case contract.PlaybookRemove:
		work = remove
	case contract.PlaybookUpgrade:
		work = upgrade
	case contract.PlaybookInstall:
		switch in.Request.Operation {
		case contract.OperationAddControlPlane:
			work = addControlPlane
		case contract.OperationConfigure:
			work = configure
		case contract.OperationRestore:
			work = restore
		}
	}
	recap, err := work(ctx, in, key, ports, progress)
	if err != nil {
		return Output{}, err
	}
	if why := in.unaccelerated(); why != "" {
		recap += "; without acceleration" + why
	}
	fmt.Fprintf(ports.Log, "\n%s\n", recap)
	return Output{Recap: recap}, nil
}

// check checks the input and returns the private key. It runs before the task connects to any host.
func (in Input) check() (ssh.Key, error) {
	if len(in.Nodes) == 0 {
		return nil, fmt.Errorf("%s has no nodes", contract.KeyNodes)
	}
	resets := in.Playbook == contract.PlaybookReset || in.Playbook == contract.PlaybookRemove
	if len(node.ControlPlanes(in.Nodes)) == 0 && !resets { // a reset may be about the other nodes only, and a removal reads the record
		return nil, fmt.Errorf("no node in %s is a control plane", contract.KeyNodes)
	}
	for _, n := range in.Nodes {
		if n.HostUID == "" || n.Address == "" && !resets { // a reset leaves out a node without an address
			return nil, fmt.Errorf("node %s has no address or no host UID", n.Name)
		}
	}
	if err := in.checkPlaybook(); err != nil {
		return nil, err
	}
	key, err := ssh.ParseKey(in.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("the SSH Secret's ssh-privatekey %w", err)
	}
	return key, nil
}

// pollInterval returns the time between two queries while the task waits for the cluster.
func (in Input) pollInterval() time.Duration { return cmp.Or(in.poll, time.Second) }

// firstPause returns the first pause between two attempts, which grows up to longestPause.
func (in Input) firstPause() time.Duration { return cmp.Or(in.poll, firstPause) }

// checkPlaybook checks that the playbook exists in PlaybooksDir.
func (in Input) checkPlaybook() error {
	if !fs.ValidPath(in.Playbook) || strings.HasPrefix(in.Playbook, "-") || path.Ext(in.Playbook) != ".yml" {
		return fmt.Errorf("%q is not the name of a playbook, such as cluster.yml", in.Playbook)
	}
	if _, err := fs.Stat(os.DirFS(in.PlaybooksDir), in.Playbook); err != nil {
		return fmt.Errorf("there is no playbook %s in %s: check that the image of Task %s contains kubespray", in.Playbook, in.PlaybooksDir, contract.TaskKubespray)
	}
	return nil
}
