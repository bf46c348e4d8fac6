package installplugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/plugin/cluster"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
	"github.com/akraino-icn/bpa/pkg/tasks/playbook"
	"github.com/akraino-icn/bpa/pkg/tasks/plugins"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// Input holds the parameters of one run.
type Input struct {
	node.Cluster
	Run string // name of the PipelineRun
	// PlaybooksDir has kubespray's ansible.cfg. ScratchDir is the only writable folder. The private key is
	// copied there, so it should be in memory.
	PlaybooksDir, ScratchDir string
	// ConnectLimit bounds the time to connect to a node and to the API server. SignLimit bounds the
	// time until the certificate is signed. ReadyLimit bounds the time until the objects of one plugin
	// are ready, TestLimit that of one test, and GoneLimit that of a deletion.
	ConnectLimit, SignLimit, ReadyLimit, TestLimit, GoneLimit time.Duration
}

// Output holds the results of a successful run.
type Output struct {
	Summary string // "2 installed, 2 skipped"
}

// Cluster is the application cluster. A *cluster.Client is one.
type Cluster interface {
	Plugins(ctx context.Context) ([]string, error)
	Apply(ctx context.Context, s cluster.Set, limits cluster.Limits) error
	Ready(ctx context.Context, plugin string, objects []*unstructured.Unstructured, limit time.Duration) error
	Test(ctx context.Context, plugin string, objects []*unstructured.Unstructured, limit time.Duration, limits cluster.Limits) (contract.PluginTest, error)
	Remove(ctx context.Context, plugin string, limits cluster.Limits) (kept []string, err error)
}

// Ports are the functions and objects through which the task reaches the outside.
type Ports struct {
	// Enter opens the cluster. leave ends the access.
	Enter func(ctx context.Context, in Input, log io.Writer) (client Cluster, leave func(), err error)
	// Depot opens the depot. It is called only if a plugin is in the depot.
	Depot func(ctx context.Context) (*client.Depot, error)
	// Catalog has the plugins that are shipped.
	Catalog plugin.Catalog
	// Playbook runs ansible-playbook.
	Playbook playbook.Exec
	// KnownHosts, Progress and Record are ConfigMaps that the reconciler has created.
	KnownHosts, Progress, Record playbook.Store
	Log                          io.Writer
	Now                          func() time.Time
}

// run is one run of the task.
type run struct {
	in       Input
	ports    Ports
	cluster  Cluster
	record   *record
	progress *playbook.Progress
	depot    *client.Depot // nil: not opened
	// begun and all count the plugins, for the progress.
	begun, all int
	removed    int
	// there are the plugins that have an inventory in the cluster.
	there []string
}

// Run gives the cluster the plugins of the request, and removes the others that it has of BPA. A second run
// applies everything again.
func Run(ctx context.Context, in Input, ports Ports) (Output, error) {
	ports.Log = playbook.Locked(ports.Log)
	r := &run{in: in, ports: ports}
	r.progress = playbook.StartProgress(ctx, ports.Progress, in.Run, contract.TaskInstallPlugins, ports.Log)
	defer r.progress.End()
	r.progress.Set(0, "Read the plugins")
	defer func() {
		if r.depot != nil {
			r.depot.Close()
		}
	}()
	found := plugins.Find(ctx, in.Request, ports.Catalog, r.openDepot)
	if err := skew(found); err != nil {
		return Output{}, err
	}
	var err error
	if r.record, err = readRecord(ctx, ports.Record, names(found), ports.Now); err != nil {
		return Output{}, err
	}
	r.progress.Set(1, "Connect to the cluster")
	client, leave, err := ports.Enter(ctx, in, ports.Log)
	if err != nil {
		return Output{}, err
	}
	defer leave()
	r.cluster = client
	return r.change(ctx, found)
}

func (r *run) openDepot(ctx context.Context) (*client.Depot, error) {
	if r.depot != nil {
		return r.depot, nil
	}
	depot, err := r.ports.Depot(ctx)
	if err == nil {
		r.depot = depot
	}
	return depot, err
}

// skew returns an error if the controller and this task are of builds with other plugins. Then nothing is
// changed: the next attempt probably uses the Task of the controller's build.
func skew(found []plugins.Found) error {
	for _, f := range found {
		if f.Err != nil && task.FailureOf(f.Err).Reason == contract.ReasonVersionSkew {
			return task.Because(contract.ReasonVersionSkew, fmt.Errorf("plugin %s: %s", f.Name, task.FailureOf(f.Err).Message))
		}
	}
	return nil
}

func names(found []plugins.Found) (all []string) {
	for _, f := range found {
		all = append(all, f.Name)
	}
	return all
}

// change removes what is not requested, and then installs what is. A plugin can take the place of one that
// is removed in the same run.
func (r *run) change(ctx context.Context, found []plugins.Found) (Output, error) {
	old, err := r.unwanted(ctx, names(found))
	if err != nil {
		return Output{}, err
	}
	r.all = len(old) + len(found)
	for _, name := range old {
		if err := r.removeOne(ctx, name); err != nil {
			return Output{}, err
		}
	}
	results := map[string]contract.PluginStatus{}
	for _, f := range found {
		row, err := r.installOne(ctx, f, results)
		if err != nil {
			return Output{}, err
		}
		results[f.Name] = row
	}
	summary := r.summary()
	fmt.Fprintf(r.ports.Log, "\n%s\n", summary)
	if err := failure(r.record.rows); err != nil {
		return Output{}, err
	}
	r.progress.Set(100, summary)
	return Output{Summary: summary}, nil
}

// step shows the beginning of the work on a plugin.
func (r *run) step(verb, name string) {
	fmt.Fprintf(r.ports.Log, "\n%s %s\n", verb, name)
	r.progress.Set(2+97*r.begun/max(r.all, 1), verb+" "+name)
	r.begun++
}

// limits returns the limits for package cluster.
func (r *run) limits() cluster.Limits {
	return cluster.Limits{Ready: r.in.ReadyLimit, Gone: r.in.GoneLimit}
}

// ended returns the cause if the task was cancelled.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("the installation of plugins was interrupted: %w", context.Cause(ctx))
}

// text returns an error as a person reads it in the state of a plugin.
func text(err error) string {
	f := contract.Failure{Message: err.Error()}
	var e *task.Error
	if errors.As(err, &e) {
		f = contract.Failure{Host: e.Host, Step: e.Step, Message: e.Err.Error()}
	}
	message := f.Message
	if f.Step != "" {
		message = f.Step + ": " + message
	}
	if f.Host != "" {
		message = f.Host + ": " + message
	}
	return task.Cut(strings.ReplaceAll(message, "\n", "; "), mostMessage)
}

// mostMessage limits the message of one plugin in the record, in bytes.
const mostMessage = 1000

// has reports whether the cluster may have a part of a plugin.
func (r *run) has(name string) bool {
	_, ok := r.record.applied[name]
	return ok || slices.Contains(r.there, name) || slices.Contains([]contract.PluginState{contract.PluginInstalled, contract.PluginInstalling, contract.PluginRemoving}, r.record.row(name).State)
}
