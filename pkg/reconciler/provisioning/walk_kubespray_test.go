package provisioning

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// simCluster is an application cluster: the machines of its nodes and of its members of etcd, by the names of the
// nodes.
type simCluster struct {
	nodes, etcd map[string]*simMachine
	cordoned    map[string]bool
}

func newSimCluster() *simCluster {
	return &simCluster{nodes: map[string]*simMachine{}, etcd: map[string]*simMachine{}, cordoned: map[string]bool{}}
}

// ready reports whether the machine of a node has a heartbeat.
func (a *simCluster) ready(name string) bool {
	m := a.nodes[name]
	return m != nil && m.answers() && m.node == name
}

// alive is the number of members of etcd that work.
func (a *simCluster) alive() (n int) {
	for name, m := range a.etcd {
		if m.answers() && m.node == name {
			n++
		}
	}
	return n
}

// answers reports whether etcd has a majority.
func (a *simCluster) answers() bool { return a.alive() > len(a.etcd)/2 }

// endpoint is the address of a control plane that works.
func (a *simCluster) endpoint() string {
	for _, name := range slices.Sorted(maps.Keys(a.etcd)) {
		if a.ready(name) {
			return a.etcd[name].address
		}
	}
	return ""
}

// simPlaybooks is a run of the task kubespray. The machines change as its playbooks would change them, and the
// records are those of the task itself.
type simPlaybooks struct {
	w       *simSite
	j       *simJob
	run     string
	request contract.Request
	nodes   []contract.Node // of the run
	a       *simCluster
	records *kubespray.Records
	key     string // fingerprint of the key with which it connects
}

// pinKey is the SSH host key of all machines.
var pinKey = func() ssh.HostKey {
	key, err := ssh.ParseKey(firstKey)
	if err != nil {
		panic(err)
	}
	return key.PublicKey()
}

func (w *simSite) kubespray(ctx context.Context, j *simJob, run *tekton.PipelineRun, request contract.Request) (err error) {
	cluster := request.Provisioning
	p := simPlaybooks{w: w, j: j, run: run.Name, request: request, nodes: request.NodesOf(w.claimedBy(run)), a: w.clusters[cluster], key: run.Annotations[runs.AnnotationNodesKey]}
	if len(p.nodes) == 0 {
		return task.Because(contract.ReasonInvalidRequest, errors.New("there are no nodes"))
	}
	if p.records, err = kubespray.ReadRecords(ctx, simStore{j.c, contract.InstalledName(cluster)}); err != nil {
		return err
	}
	if err := p.pin(ctx); err != nil {
		return err
	}
	operation := contract.OperationOf(run.Labels[contract.LabelOperation])
	if cluster == name && operation.Name != contract.OperationReset {
		if err := w.checkVars(request); err != nil {
			return err
		}
	}
	if operation.ChangesCluster() && operation.Name != contract.OperationRestore && !p.a.answers() {
		return task.Because(contract.ReasonAPIUnavailable, errors.New("etcd has no majority"))
	}
	switch operation.Name {
	case contract.OperationInstall, contract.OperationAddNodes, contract.OperationAddControlPlane:
		return p.install(ctx)
	case contract.OperationRemoveNodes, contract.OperationRemoveControlPlane:
		return p.remove(ctx)
	case contract.OperationUpgradeControlPlane, contract.OperationUpgradeNodes:
		return p.upgrade(ctx)
	case contract.OperationConfigure:
		return p.configure(ctx)
	case contract.OperationRestore:
		return p.restore(ctx)
	case contract.OperationReset:
		return p.reset(ctx)
	}
	return fmt.Errorf("the walk does not know operation %s", operation.Name)
}

// pin stores the host keys of the machines.
func (p *simPlaybooks) pin(ctx context.Context) error {
	store := simStore{p.j.c, contract.KnownHostsName(p.request.Provisioning)}
	text, err := store.Get(ctx, contract.KeyKnownHosts)
	if err != nil {
		return err
	}
	pins, err := ssh.ParsePins(text)
	if err != nil {
		return err
	}
	for _, n := range p.nodes {
		if m := p.w.machineOf(n); m != nil && m.answers() && n.Address != "" && pins.Of(n.HostUID) == nil {
			pins = pins.With(ssh.Pin{UID: n.HostUID, Host: n.Host, At: n.Address + ":22", Key: p.w.pinKey})
		}
	}
	if pins.String() == text {
		return nil
	}
	return store.Set(ctx, contract.KeyKnownHosts, pins.String())
}

// reach returns the machine of a node that answers.
func (p *simPlaybooks) reach(n contract.Node) (*simMachine, error) {
	m := p.w.machineOf(n)
	if m == nil || !m.answers() {
		return nil, &task.Error{Reason: contract.ReasonHostUnreachable, Host: n.Name, Err: fmt.Errorf("%s does not answer", n.Host)}
	}
	return m, m.admit(n.Name, p.key)
}

// admit is the login with the key of a cluster.
func (m *simMachine) admit(node, key string) error {
	if m.key != key || key == "" {
		return &task.Error{Reason: contract.ReasonSSHDenied, Host: node, Err: fmt.Errorf("%s accepts another key", m.host)}
	}
	return nil
}

// enroll is the task enroll: see kubespray.Enroll.
func (w *simSite) enroll(ctx context.Context, j *simJob, run *tekton.PipelineRun, request contract.Request) error {
	text, err := simStore{j.c, contract.InstalledName(request.Provisioning)}.Get(ctx, contract.KeyHosts)
	if err != nil {
		return err
	}
	states, err := contract.ParseHostStates(text)
	if err != nil {
		return err
	}
	var failed error
	for _, n := range request.NodesOf(w.claimedBy(run)) {
		m, needed := w.machineOf(n), contract.OperationOf(request.Operation).Has(contract.TaskSelectHosts) && states[n.HostUID] != contract.HostUsed
		switch {
		case m != nil && m.answers() && (m.user == "" || m.user == request.UID):
			if j.c.pause(); j.c.dead {
				return errDead
			}
			m.key = run.Annotations[runs.AnnotationNodesKey]
		case needed:
			failed = &task.Error{Reason: contract.ReasonHostUnreachable, Host: n.Name, Err: fmt.Errorf("%s cannot be enrolled", n.Host)}
		}
	}
	return failed
}

// pause is before a change of a machine or of the cluster. It reports whether the pod still runs.
func (p *simPlaybooks) pause() error {
	if p.j.c.pause(); p.j.c.dead {
		return errDead
	}
	p.j.c.writes++
	return nil
}

// ends reports whether the run is asked to end before this node: see session.Input.Ends.
func (p *simPlaybooks) ends(ctx context.Context, n contract.Node) bool {
	run, err := simStore{p.j.c, contract.ProgressName(p.request.Provisioning)}.Get(ctx, contract.KeyEnds)
	if err != nil || run != p.run {
		return false
	}
	p.w.say(p.run + " ends before " + n.Name)
	earlyEnds.Add(1)
	return true
}

func controlPlaneNode(n contract.Node) bool {
	return slices.Contains(n.Roles, contract.RoleControlPlane)
}

func calledNode(nodes []contract.Node, name string) bool {
	return slices.ContainsFunc(nodes, func(n contract.Node) bool { return n.Name == name })
}

// install makes the machines of new nodes join, also in the place of lost ones.
func (p *simPlaybooks) install(ctx context.Context) error {
	nodes, _ := inventory.Members(p.request, p.nodes)
	fresh, err := p.records.Fresh(ctx, p.request, nodes)
	if err != nil {
		return err
	}
	if p.request.Operation == contract.OperationInstall {
		fresh = nodes
	}
	for _, n := range fresh {
		m, err := p.reach(n)
		if err != nil {
			return err
		}
		if m.user != "" && m.user != p.request.UID {
			return p.w.bad("node %s is to be installed on %s, which has the cluster of %s", n.Name, n.Host, m.user)
		}
	}
	if err := p.records.SetHosts(ctx, contract.HostUsed, fresh...); err != nil {
		return err
	}
	if err := p.forget(nodes); err != nil {
		return err
	}
	for _, n := range fresh {
		if err := p.join(n); err != nil {
			return err
		}
	}
	for _, n := range nodes { // one of a former even number of control planes can become a member
		if n.Etcd != "" {
			if m, err := p.reach(n); err != nil {
				return err
			} else {
				p.a.etcd[n.Name] = m
			}
		}
	}
	if err := p.records.Join(ctx, nodes); err != nil {
		return err
	}
	for _, n := range nodes {
		if !p.a.ready(n.Name) && calledNode(fresh, n.Name) {
			return &task.Error{Reason: contract.ReasonClusterUnhealthy, Host: n.Name, Err: fmt.Errorf("node %s is not Ready", n.Name)}
		}
	}
	return p.records.Complete(ctx, p.request, nodes)
}

// join empties a machine and installs a node on it.
func (p *simPlaybooks) join(n contract.Node) error {
	if err := p.pause(); err != nil {
		return err
	}
	m, err := p.reach(n)
	if err != nil {
		return err
	}
	if old := p.a.nodes[n.Name]; old != nil && old != m && p.a.ready(n.Name) {
		return p.w.bad("node %s joins on %s, and works on %s", n.Name, m.host, old.host)
	}
	if m.user != "" && m.node != n.Name { // a part of a former node
		if p.a.nodes[m.node] == m {
			return p.w.bad("%s becomes node %s, and is node %s", m.host, n.Name, m.node)
		}
	}
	m.user, m.node, p.a.nodes[n.Name] = p.request.UID, n.Name, m
	if n.Etcd != "" {
		p.a.etcd[n.Name] = m
	}
	return nil
}

// forget removes the lost nodes that the run replaces from the cluster, and lost members from etcd.
func (p *simPlaybooks) forget(nodes []contract.Node) error {
	for _, lost := range p.request.Members {
		if !slices.Contains(p.request.Gone(), lost.Name) {
			continue
		}
		m := p.a.nodes[lost.Name]
		if m == nil || m.uid != lost.HostUID { // gone already, or its new machine has joined
			continue
		}
		if p.a.ready(lost.Name) {
			return &task.Error{Reason: contract.ReasonResetIncomplete, Host: lost.Name, Err: fmt.Errorf("node %s is Ready, so its host is not lost", lost.Name)}
		}
		if err := p.pause(); err != nil {
			return err
		}
		if !p.a.answers() { // a control plane can have become silent since the task has begun
			return task.Because(contract.ReasonAPIUnavailable, errors.New("etcd has no majority"))
		}
		delete(p.a.etcd, lost.Name)
		delete(p.a.nodes, lost.Name)
		if len(p.a.etcd) > 0 && !p.a.answers() && len(p.request.Members) > 0 {
			return p.w.bad("etcd has lost its majority by the removal of %s", lost.Name)
		}
	}
	if planes := slices.DeleteFunc(slices.Clone(p.request.Members), func(n contract.Node) bool { return !controlPlaneNode(n) }); p.request.Operation == contract.OperationAddControlPlane {
		for _, n := range planes {
			if !calledNode(nodes, n.Name) && !slices.Contains(p.request.Lost, n.Name) {
				return p.w.bad("control plane %s is neither lost nor in the inventory of the run", n.Name)
			}
			if m := p.a.etcd[n.Name]; slices.Contains(p.request.Kept, n.Name) && m != nil && !m.answers() { // see addition.forget
				if err := p.pause(); err != nil {
					return err
				}
				delete(p.a.etcd, n.Name)
			}
		}
	}
	return nil
}

// empty resets a machine.
func (p *simPlaybooks) empty(ctx context.Context, n contract.Node) error {
	m, err := p.reach(n)
	if err != nil {
		return err
	}
	if err := p.records.SetHosts(ctx, contract.HostUsed, n); err != nil {
		return err
	}
	if err := p.pause(); err != nil {
		return err
	}
	if m.user != "" && m.user != p.request.UID {
		return p.w.bad("%s is reset, and has the cluster of %s", n.Host, m.user)
	}
	if m, err = p.reach(n); err != nil {
		return err
	}
	m.user, m.node, m.key = "", "", ""
	return p.records.SetHosts(ctx, contract.HostClean, n)
}

// installedIn returns the record of a cluster as it is stored.
func (w *simSite) installedIn(cluster string) (i contract.Installed) {
	cm := simStored[*corev1.ConfigMap](w.server, kindConfigMap, contract.InstalledName(cluster))
	if cm != nil && cm.Data[contract.KeyInstalled] != "" {
		readText(cm.Data[contract.KeyInstalled], &i)
	}
	return i
}
