package kubespraytest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/appcluster/apitest"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/kubespray"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// Living is a fixture of a cluster that runs: kubectl on the control plane reads and changes its
// nodes and pods. Did has the commands and scripts that changed something, in their order.
type Living struct {
	*Fixture
	Mu, evicting sync.Mutex
	Nodes        map[string]bool // registered: is it Ready?
	// Cordoned are the nodes that accept no pods.
	Cordoned map[string]bool
	pods     map[string][]*corev1.Pod
	// Stuck are the nodes whose pods do not leave.
	Stuck   map[string]bool
	Budgets []*policyv1.PodDisruptionBudget
	// More returns further objects of the cluster; nil: there are none.
	More func(apitest.Call) []runtime.Object
	// EachNode changes a Node object; nil: it stays as it is.
	EachNode func(*corev1.Node)
	Attached string // the node of a volume attachment
	Did      []string
	// KillAt ends the task before its n-th change, as the kernel does: nothing more has an effect. 0:
	// never. Writes of the record count as changes.
	KillAt, changes int
	Kill            context.CancelFunc
}

// NewLiving returns an installed cluster with master-1 and some workers, with n pods on worker-n.
// Each node also has pods that stay. All workers are of the set "worker".
func NewLiving(t *testing.T, workers int) *Living {
	l := &Living{Fixture: New(t, workers), Nodes: map[string]bool{}, Cordoned: map[string]bool{}, pods: map[string][]*corev1.Pod{}, Stuck: map[string]bool{}}
	request := &l.In.Request
	request.KubernetesVersion, request.NetworkPlugin, request.OperatingSystem = "1.35.4", "calico", "debian-12"
	request.PodSubnet, request.ServiceSubnet, request.Complete = "10.233.64.0/18", "10.233.0.0/18", true
	l.System = "ID=debian\nVERSION_ID=12\n"
	states, pins := contract.HostStates{}, ssh.Pins{}
	for i := range l.In.Nodes {
		n := &l.In.Nodes[i]
		n.Address = strings.Replace(n.Address, "127.0.0.", "10.60.0.", 1) // see Fixture.Ports
		l.Nodes[n.Name], states[n.HostUID] = true, contract.HostUsed
		l.Disks[i].With(request.UID)
		pins = pins.With(ssh.Pin{UID: n.HostUID, Host: n.Host, At: n.Address + ":22", Key: l.HostKey.PublicKey()})
		l.AddPod(n.Name, "kube-system", "kube-proxy-"+n.Name, Own("DaemonSet"))
		if i > 0 {
			n.Set = "worker"
			for k := range i {
				l.AddPod(n.Name, "shop", fmt.Sprintf("web-%d-%d", i, k), Own("ReplicaSet"))
			}
		}
		l.Disks[i].Before = func(script string, _ io.Writer) int { return l.Change(script+" "+n.Name, script != "inspect") }
	}
	l.KnownHosts.Data = map[string]string{contract.KeyKnownHosts: pins.String()}
	request.Members = slices.Clone(l.In.Nodes)
	request.Members[0].Etcd, request.EtcdNext = "etcd1", 2
	l.Record(string(JSON(t, states)))
	l.Installed.Data[contract.KeyInstalled] = string(JSON(t, contract.Installed{Request: session.Lasting(*request), Nodes: request.Members, EtcdNext: 2}))
	l.Installed.Data[contract.KeyJoined] = string(JSON(t, session.HostUIDs(l.In.Nodes)))
	l.Installed.Data[contract.KeyComplete] = "true"
	l.In.Playbook, l.In.Run, l.In.BootLimit = contract.PlaybookRemove, "edge-1-remove-2", 50*time.Millisecond
	request.Operation, request.Remove = contract.OperationRemoveNodes, &contract.Removal{DrainSeconds: 60}
	l.Cluster = func(int) string { return sessiontest.List(l.Objects()...) }
	l.Fixture.Kubectl = func() string {
		return sessiontest.List(append(l.Objects(), sessiontest.PodJSON("coredns-1", "master-1", "True", ""))...)
	}
	l.Play = l.Playbook
	l.Commands = l.kubectl
	l.API.Objects, l.API.Change = l.objects, l.change
	return l
}

// JSON returns a value as JSON.
func JSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Own returns a change of a pod that lets an object of this kind own it.
func Own(kind string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: "apps/v1", Kind: kind, Name: "owner", Controller: ptr.To(true)})
	}
}

// AddPod adds a running pod to a node, after change has changed it.
func (l *Living) AddPod(on, namespace, name string, change func(p *corev1.Pod)) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": namespace}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	change(p)
	l.pods[on] = append(l.pods[on], p)
}

// Change records a change, unless the task is killed before it. It returns the exit status.
func (l *Living) Change(what string, changes bool) int {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if changes {
		l.changes++
	}
	if l.KillAt > 0 && l.changes >= l.KillAt {
		l.changes = l.KillAt // and nothing works any more
		l.Kill()
		for _, server := range l.Servers {
			server.Disconnect()
		}
		return 137
	}
	if changes && what != "" {
		l.Did = append(l.Did, what)
	}
	return 0
}

// mortal is the ConfigMap of a task that can be killed.
type mortal struct {
	*sessiontest.Memory
	l *Living
}

func (m mortal) Set(ctx context.Context, key, value string) error {
	if m.l.Change("", true) != 0 {
		return ctx.Err()
	}
	return m.Memory.Set(ctx, key, value)
}

// Ports returns the ports of a run that KillAt can end.
func (l *Living) Ports() session.Ports {
	p := l.Fixture.Ports()
	p.Installed = mortal{&l.Installed, l}
	dial := p.Dial
	p.Dial = func(ctx context.Context, to ssh.Target, key ssh.Key, pinned ssh.HostKey) (node.Connection, error) {
		if l.dead() {
			return nil, ssh.ErrUnreachable
		}
		return dial(ctx, to, key, pinned)
	}
	return p
}

// dead reports whether the task was killed.
func (l *Living) dead() bool {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.KillAt > 0 && l.changes >= l.KillAt
}

// Run runs the task.
func (l *Living) Run() (session.Output, error) {
	ctx, cancel := context.WithTimeout(l.T.Context(), 30*time.Second)
	defer cancel()
	return kubespray.Run(ctx, l.In, l.Ports())
}

// Objects returns the Nodes of the cluster as kubectl prints them.
func (l *Living) Objects() []string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	var all []string
	for _, n := range l.In.Nodes {
		if isReady, there := l.Nodes[n.Name]; there {
			text := sessiontest.NodeJSON(n.Name, map[bool]string{true: "True", false: "Unknown"}[isReady], "NodeStatusUnknown")
			if l.Cordoned[n.Name] {
				text = strings.Replace(text, `"status":{`, `"spec":{"unschedulable":true},"status":{`, 1)
			}
			all = append(all, text)
		}
	}
	return all
}

// kubectl answers the commands about nodes and pods of the cluster; false: it does not know the
// command.
func (l *Living) kubectl(command string, stdout, stderr io.Writer) (status int, known bool) {
	_, arguments, found := strings.Cut(command, " --kubeconfig /etc/kubernetes/admin.conf ")
	if rest, own := strings.CutPrefix(arguments, "--server https://"); own { // with several control planes, that of this machine
		_, arguments, _ = strings.Cut(rest, ":6443 ")
	}
	field := strings.Fields(arguments)
	if !found || len(field) < 2 {
		return 0, false
	}
	switch field[0] {
	case "get":
		if status := l.Change("", false); status != 0 {
			return status, true
		}
		return 0, false
	case "delete":
		name := field[2]
		if status := l.Change("delete "+name, true); status != 0 {
			return status, true
		}
		l.Mu.Lock()
		defer l.Mu.Unlock()
		delete(l.Nodes, name)
		delete(l.pods, name)
		return 0, true
	}
	return 0, false
}

// Playbook is kubespray: it resets the machines and deletes the nodes.
func (l *Living) Playbook(c process.Command, stdout, stderr io.Writer) int {
	name, limit := c.Args[len(c.Args)-1], c.Args[len(c.Args)-2]
	if status := l.Change(name+" "+limit, true); status != 0 {
		return status
	}
	for i, n := range l.In.Nodes {
		if !slices.Contains(strings.Split(limit, ","), n.Name) {
			continue
		}
		l.Disks[i].Mu.Lock()
		l.Disks[i].Report.Kubernetes, l.Disks[i].Report.Left = nil, []string{"link cni0"}
		l.Disks[i].Mu.Unlock()
		if name == contract.PlaybookRemove {
			l.Mu.Lock()
			delete(l.Nodes, n.Name)
			l.Mu.Unlock()
		}
	}
	return Recorded("green", 0)(c, stdout, stderr)
}

// Now returns the record of the cluster.
func (l *Living) Now() (i contract.Installed) {
	l.T.Helper()
	if err := json.Unmarshal([]byte(l.Installed.Data[contract.KeyInstalled]), &i); err != nil {
		l.T.Fatal(err)
	}
	return i
}

// ExpectMembers checks the nodes of the cluster, of its record and of joined.json, and that no
// removal is in progress.
func (l *Living) ExpectMembers(want ...string) {
	l.T.Helper()
	record := l.Now()
	if diff := cmp.Diff(want, session.Names(record.Nodes)); diff != "" || len(record.Draining)+len(record.Leaving) > 0 {
		l.T.Errorf("draining %v, leaving %v, nodes in the record (-want +got):\n%s", record.Draining, record.Leaving, diff)
	}
	var joined []string
	if err := json.Unmarshal([]byte(l.Installed.Data[contract.KeyJoined]), &joined); err != nil {
		l.T.Fatal(err)
	}
	if diff := cmp.Diff(session.HostUIDs(record.Nodes), joined); diff != "" {
		l.T.Errorf("joined (-want +got):\n%s", diff)
	}
	var registered []string
	for _, n := range l.In.Nodes {
		if _, there := l.Nodes[n.Name]; there {
			registered = append(registered, n.Name)
		}
	}
	if diff := cmp.Diff(want, registered); diff != "" {
		l.T.Errorf("registered nodes (-want +got):\n%s", diff)
	}
}

// ExpectDid checks the changes, in their order.
func (l *Living) ExpectDid(want ...string) {
	l.T.Helper()
	if diff := cmp.Diff(want, l.Did); diff != "" {
		l.T.Errorf("changes (-want +got):\n%s\n%s", diff, &l.Log)
	}
}

// Shrink lets n nodes of the set leave.
func (l *Living) Shrink(n int) {
	set := contract.SetRemoval{Name: "worker", Count: n}
	for _, m := range l.Now().Nodes[1:] {
		set.Candidates = append(set.Candidates, contract.Candidate{Node: m.Name})
	}
	l.In.Request.Remove.Sets = []contract.SetRemoval{set}
}

// movePods gives the pods of a node to its new name.
func (l *Living) movePods(former, name string) {
	pods := l.pods[former]
	delete(l.pods, former)
	l.pods[name] = pods
}

// promote makes the i-th node a control plane with a new name.
func (l *Living) promote(i int, name string) {
	n := &l.In.Nodes[i]
	former := n.Name
	delete(l.Nodes, former)
	n.Name, n.Roles, n.Set, l.Nodes[name] = name, []string{contract.RoleControlPlane}, "", true
	l.movePods(former, name)
	l.Disks[i].Before = func(script string, _ io.Writer) int { return l.Change(script+" "+name, script != "inspect") }
	record := l.Now()
	record.Nodes[i] = *n
	record.Nodes[i].Etcd = fmt.Sprintf("etcd%d", i+1)
	l.Installed.Data[contract.KeyInstalled] = string(JSON(l.T, record))
}
