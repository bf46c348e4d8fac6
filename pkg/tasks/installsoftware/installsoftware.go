package installsoftware

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/software"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Input holds the parameters of one run.
type Input struct {
	node.Cluster
	Run string // name of the PipelineRun
	// PlaybooksDir has kubespray's ansible.cfg. ScratchDir is the only writable folder. The private key is
	// copied there, so it should be in memory.
	PlaybooksDir, ScratchDir string
	// ConnectLimit bounds the time to connect to a node and to the API server, CallLimit that of one call,
	// and SignLimit the time until the certificate is signed. ReadyLimit bounds the time until a node
	// is Ready again.
	ConnectLimit, CallLimit, SignLimit, ReadyLimit time.Duration
	Limits                                         software.Limits
}

// Output holds the results of a successful run.
type Output struct {
	Summary string // "3 nodes: 5 packages installed, 1 failed"
}

// Cluster is the application cluster. A *Drainer is one.
type Cluster interface {
	States(ctx context.Context) (map[string]State, error)
	Cordon(ctx context.Context, name string) error
	Uncordon(ctx context.Context, name string) error
	Drain(ctx context.Context, name string, limit time.Duration) error
}

// Ports are the functions and objects through which the task reaches the outside.
type Ports struct {
	// Enter opens the cluster. leave ends the access. It is called only if a node is to be drained, or was
	// cordoned by an earlier run.
	Enter func(ctx context.Context, in Input, log io.Writer) (cluster Cluster, leave func(), err error)
	// Spares returns an error if etcd has no majority without the control plane n. planes are those that can be
	// asked, in their order.
	Spares func(ctx context.Context, in Input, planes []contract.Node, n contract.Node) error
	// StartPods starts a pod on each of these nodes and deletes it. It returns by name why a node starts none.
	StartPods func(ctx context.Context, in Input, nodes []string, log io.Writer) (map[string]string, error)
	// Playbook runs ansible-playbook.
	Playbook playbook.Exec
	// KnownHosts, Progress and Record are ConfigMaps that the reconciler has created.
	KnownHosts, Progress, Record playbook.Store
	Log                          io.Writer
	Now                          func() time.Time
	// Pause waits a moment, before the state of nodes is read again. It returns false if the context ends.
	// nil: two seconds.
	Pause func(ctx context.Context) bool
}

// run is one run of the task.
type run struct {
	in       Input
	ports    Ports
	work     *software.Work
	progress *playbook.Progress
	cluster  Cluster // nil: not opened
	leave    func()
	before   map[string]State // before the first drain
	drained  bool             // the first drain has begun
	left     []contract.Node  // wait for the next run, because another change of the cluster comes first
	// begun and all count the nodes, for the progress.
	begun, all int
}

// Run gives the nodes the packages of the request. A second run changes nothing.
func Run(ctx context.Context, in Input, ports Ports) (Output, error) {
	if in.Request.Software == nil {
		return Output{}, task.Because(contract.ReasonInvalidRequest, fmt.Errorf("%s has no software", contract.KeyRequest))
	}
	ports.Log = playbook.Locked(ports.Log)
	if ports.Pause == nil {
		ports.Pause = pause
	}
	r := &run{in: in, ports: ports, leave: func() {}}
	r.progress = playbook.StartProgress(ctx, ports.Progress, in.Run, contract.TaskInstallSoftware, ports.Log)
	defer r.progress.End()
	r.progress.Set(0, "Look at the packages of the nodes")
	if err := r.prepare(ctx); err != nil {
		return Output{}, err
	}
	defer func() { r.leave() }()
	if err := r.change(ctx); err != nil {
		return Output{}, err
	}
	if err := r.work.Record.End(ctx, in.Request.Software.Asked); err != nil {
		return Output{}, stored(err)
	}
	summary := r.summary()
	fmt.Fprintf(ports.Log, "\n%s\n", summary)
	r.progress.Set(100, summary)
	return Output{Summary: summary}, nil
}

// pause waits two seconds.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(2 * time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// prepare reads the record and the host keys.
func (r *run) prepare(ctx context.Context) error {
	in := r.in
	record, err := software.ReadRecord(ctx, r.ports.Record, r.ports.Now)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return task.Because(contract.ReasonVersionSkew, fmt.Errorf("%w. The controller that started this run does not create this ConfigMap or its permissions, "+
			"so it is of an older build of BPA. Nothing was changed", err))
	}
	if err != nil {
		return stored(err)
	}
	record.Keep(in.Nodes)
	known, err := r.ports.KnownHosts.Get(ctx, contract.KeyKnownHosts)
	if err != nil {
		return stored(err)
	}
	pins, err := ssh.ParsePins(known)
	if err != nil {
		return task.Because(contract.ReasonInvalidRequest, fmt.Errorf("ConfigMap %s: %w", contract.KnownHostsName(in.Request.Provisioning), err))
	}
	wish := *in.Request.Software
	r.work = &software.Work{
		Rules: software.RulesOf(in.Request), Record: record,
		Changes: func(n contract.Node) bool { return !wish.CheckOnly && slices.Contains(wish.Nodes, n.Name) },
		Machines: &software.Machines{
			Task: contract.TaskInstallSoftware, Request: in.Request, HostsINI: in.HostsINI, GroupVars: in.GroupVars, PrivateKey: in.PrivateKey,
			PlaybooksDir: in.PlaybooksDir, ScratchDir: in.ScratchDir, Pins: pins, Exec: r.ports.Playbook, Log: r.ports.Log, Limits: in.Limits,
			Report: func(step string) { r.progress.Set(0, step) },
		},
	}
	return nil
}

// change looks at all nodes, changes those that need no drain, and then the others in batches.
func (r *run) change(ctx context.Context) error {
	nodes := slices.DeleteFunc(slices.Clone(r.in.Nodes), func(n contract.Node) bool { return slices.Contains(r.in.Request.Lost, n.Name) })
	if len(nodes) == 0 {
		return task.Because(contract.ReasonInvalidRequest, errors.New("the cluster has no node that is not lost"))
	}
	if err := r.work.Look(ctx, nodes); err != nil {
		return stored(err)
	}
	if err := r.work.Record.End(ctx, r.in.Request.Software.Asked); err != nil { // also if the run fails later
		return stored(err)
	}
	var calm, drained []contract.Node
	for _, n := range nodes {
		switch r.work.Disruption(n) {
		case "":
		case contract.DisruptionNone:
			calm = append(calm, n)
		default:
			drained = append(drained, n)
		}
	}
	r.all = len(calm) + len(drained)
	if len(calm) > 0 {
		r.step("Change the packages of", calm)
		if _, err := r.work.Apply(ctx, calm); err != nil {
			return stored(err)
		}
	}
	return r.drainAll(ctx, drained)
}

// step shows the beginning of the work on nodes.
func (r *run) step(verb string, nodes []contract.Node) {
	fmt.Fprintf(r.ports.Log, "\n%s %s\n", verb, names(nodes))
	r.progress.Set(5+94*r.begun/max(r.all, 1), verb+" "+names(nodes))
	r.begun += len(nodes)
}

func names(nodes []contract.Node) string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Name)
	}
	return strings.Join(all, ", ")
}

// stored adds the failure reason to an error of the API server of the bootstrap machine, unless it has one;
// nil for nil.
func stored(err error) error {
	var known *task.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	return task.Because(kube.Reason(err), err)
}

// summary returns the number of packages in each state.
func (r *run) summary() string {
	count := r.work.Record.Count()
	packages := count[contract.SoftwareInstalled]
	text := fmt.Sprintf("%d nodes: %d packages installed", len(r.in.Nodes), packages)
	if len(r.in.Nodes) == 1 {
		text = fmt.Sprintf("1 node: %d packages installed", packages)
	}
	if packages == 1 {
		text = strings.Replace(text, "1 packages", "1 package", 1)
	}
	for _, s := range []contract.SoftwareState{contract.SoftwareFailed, contract.SoftwarePending, contract.SoftwareDrifted, contract.SoftwareOutdated} {
		if n := count[s]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, strings.ToLower(string(s)))
		}
	}
	if len(r.left) > 0 {
		text += "; another change comes first, so these wait: " + names(r.left)
	}
	return text
}
