package kubespray

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/operate/session"
	"github.com/akraino-icn/bpa/pkg/operate/session/sessiontest"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// living is a fixture of a cluster that runs: kubectl on the control plane reads and changes its
// nodes and pods. did has the commands and scripts that changed something, in their order.
type living struct {
	*fixture
	mu    sync.Mutex
	nodes map[string]bool // registered: is it Ready?
	// cordoned are the nodes that accept no pods.
	cordoned map[string]bool
	pods     map[string][]fakePod
	// stuck are the nodes whose pods do not leave. budgets and attached are answers of kubectl.
	stuck    map[string]bool
	budgets  []fakeBudget
	attached string // the node of a volume attachment
	did      []string
	// killAt ends the task before its n-th change, as the kernel does: nothing more has an effect. 0:
	// never. Writes of the record count as changes.
	killAt, changes int
	kill            context.CancelFunc
}

// newLiving returns an installed cluster with master-1 and some workers, with n pods on worker-n.
// Each node also has pods that stay. All workers are of the set "worker".
func newLiving(t *testing.T, workers int) *living {
	l := &living{fixture: newFixture(t, workers), nodes: map[string]bool{}, cordoned: map[string]bool{}, pods: map[string][]fakePod{}, stuck: map[string]bool{}}
	request := &l.in.Request
	request.KubernetesVersion, request.NetworkPlugin, request.OperatingSystem = "1.35.4", "calico", "debian-12"
	request.PodSubnet, request.ServiceSubnet, request.Complete = "10.233.64.0/18", "10.233.0.0/18", true
	l.system = "ID=debian\nVERSION_ID=12\n"
	states, pins := contract.HostStates{}, ssh.Pins{}
	for i := range l.in.Nodes {
		n := &l.in.Nodes[i]
		n.Address = strings.Replace(n.Address, "127.0.0.", "10.60.0.", 1) // see fixture.ports
		l.nodes[n.Name], states[n.HostUID] = true, contract.HostUsed
		l.disks[i].with(request.UID)
		pins = pins.With(ssh.Pin{UID: n.HostUID, Host: n.Host, At: n.Address + ":22", Key: l.hostKey.PublicKey()})
		l.addPod(n.Name, "kube-system", "kube-proxy-"+n.Name, func(p *fakePod) { p.own("DaemonSet") })
		if i > 0 {
			n.Set = "worker"
			for k := range i {
				l.addPod(n.Name, "shop", fmt.Sprintf("web-%d-%d", i, k), func(p *fakePod) { p.own("ReplicaSet") })
			}
		}
		l.disks[i].before = func(script string, _ io.Writer) int { return l.change(script+" "+n.Name, script != "inspect") }
	}
	l.knownHosts.Data = map[string]string{contract.KeyKnownHosts: pins.String()}
	request.Members = slices.Clone(l.in.Nodes)
	request.Members[0].Etcd, request.EtcdNext = "etcd1", 2
	l.record(string(asJSON(t, states)))
	l.installed.Data[contract.KeyInstalled] = string(asJSON(t, contract.Installed{Request: session.Lasting(*request), Nodes: request.Members, EtcdNext: 2}))
	l.installed.Data[contract.KeyJoined] = string(asJSON(t, session.HostUIDs(l.in.Nodes)))
	l.installed.Data[contract.KeyComplete] = "true"
	l.in.Playbook, l.in.Run, l.in.BootLimit = contract.PlaybookRemove, "edge-1-remove-2", 50*time.Millisecond
	request.Operation, request.Remove = contract.OperationRemoveNodes, &contract.Removal{DrainSeconds: 60}
	l.cluster = func(int) string { return sessiontest.List(l.objects()...) }
	l.fixture.kubectl = func() string {
		return sessiontest.List(append(l.objects(), sessiontest.PodJSON("coredns-1", "master-1", "True", ""))...)
	}
	l.play = l.playbook
	l.commands = l.kubectl
	return l
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// fakePod and fakeBudget are the objects of the cluster, with the fields that kubectl prints for the task.
type fakePod struct {
	Metadata struct {
		Namespace, Name string
		Labels          map[string]string
		Annotations     map[string]string
		OwnerReferences []struct{ Kind string }
	}
	Status struct{ Phase string }
}

type fakeBudget struct {
	Metadata struct{ Namespace, Name string }
	Spec     struct{ Selector *metav1.LabelSelector }
	Status   struct{ DisruptionsAllowed int }
}

// movable reports whether kubectl drain evicts the pod. The fixture has no static pods and none that have ended.
func (p fakePod) movable() bool {
	return !slices.ContainsFunc(p.Metadata.OwnerReferences, func(o struct{ Kind string }) bool { return o.Kind == "DaemonSet" })
}

func (p *fakePod) own(kind string) {
	p.Metadata.OwnerReferences = append(p.Metadata.OwnerReferences, struct{ Kind string }{kind})
}

func (l *living) addPod(on, namespace, name string, change func(p *fakePod)) {
	var p fakePod
	p.Metadata.Namespace, p.Metadata.Name, p.Metadata.Labels, p.Status.Phase = namespace, name, map[string]string{"app": namespace}, "Running"
	change(&p)
	l.pods[on] = append(l.pods[on], p)
}

// change records a change, unless the task is killed before it. It returns the exit status.
func (l *living) change(what string, changes bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if changes {
		l.changes++
	}
	if l.killAt > 0 && l.changes >= l.killAt {
		l.changes = l.killAt // and nothing works any more
		l.kill()
		for _, server := range l.servers {
			server.Disconnect()
		}
		return 137
	}
	if changes && what != "" {
		l.did = append(l.did, what)
	}
	return 0
}

// mortal is the ConfigMap of a task that can be killed.
type mortal struct {
	*sessiontest.Memory
	l *living
}

func (m mortal) Set(ctx context.Context, key, value string) error {
	if m.l.change("", true) != 0 {
		return ctx.Err()
	}
	return m.Memory.Set(ctx, key, value)
}

func (l *living) ports() session.Ports {
	p := l.fixture.ports()
	p.Installed = mortal{&l.installed, l}
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
func (l *living) dead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.killAt > 0 && l.changes >= l.killAt
}

func (l *living) run() (session.Output, error) {
	ctx, cancel := context.WithTimeout(l.t.Context(), 30*time.Second)
	defer cancel()
	return Run(ctx, l.in, l.ports())
}

func (l *living) objects() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, n := range l.in.Nodes {
		if isReady, there := l.nodes[n.Name]; there {
			text := sessiontest.NodeJSON(n.Name, map[bool]string{true: "True", false: "Unknown"}[isReady], "NodeStatusUnknown")
			if l.cordoned[n.Name] {
				text = strings.Replace(text, `"status":{`, `"spec":{"unschedulable":true},"status":{`, 1)
			}
			all = append(all, text)
		}
	}
	return all
}

// kubectl answers the commands about nodes and pods of the cluster; false: it does not know the
// command.
func (l *living) kubectl(command string, stdout, stderr io.Writer) (status int, known bool) {
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
		if status := l.change("", false); status != 0 {
			return status, true
		}
		return l.get(field, arguments, stdout)
	case "cordon", "uncordon", "drain", "delete":
		name := field[1]
		if field[0] == "delete" {
			name = field[2]
		}
		if field[0] == "uncordon" && len(field) > 2 { // several nodes in one command
			for _, name := range field[1:] {
				if status, known := l.kubectl(strings.Replace(command, strings.Join(field[1:], " "), name, 1), stdout, stderr); !known || status != 0 {
					return status, known
				}
			}
			return 0, true
		}
		if status := l.change(field[0]+" "+name, true); status != 0 {
			return status, true
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if strings.HasSuffix(field[0], "cordon") {
			l.cordoned[name] = field[0] == "cordon"
		}
		if field[0] == "delete" {
			delete(l.nodes, name)
			delete(l.pods, name)
		}
		if field[0] == "drain" {
			if l.stuck[name] {
				fmt.Fprint(stderr, "error: unable to drain node")
				return 1, true
			}
			l.pods[name] = slices.DeleteFunc(l.pods[name], fakePod.movable)
		}
		return 0, true
	}
	return 0, false
}

func (l *living) get(field []string, arguments string, stdout io.Writer) (int, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var items []any
	switch {
	case field[1] == "poddisruptionbudgets":
		for _, b := range l.budgets {
			items = append(items, b)
		}
	case field[1] == "volumeattachments":
		items = append(items, map[string]any{"spec": map[string]string{"nodeName": l.attached}})
	case field[1] == "pods" && strings.Contains(arguments, "jsonpath"):
		for on, pods := range l.pods {
			for _, p := range pods {
				fmt.Fprintf(stdout, "%s\t%s\t%s\t%s\n", on, p.Status.Phase, p.Metadata.Annotations["kubernetes.io/config.mirror"], p.Metadata.OwnerReferences[0].Kind)
			}
		}
		return 0, true
	case field[1] == "pods" && strings.Contains(arguments, "spec.nodeName="):
		_, rest, _ := strings.Cut(arguments, "spec.nodeName=")
		for _, p := range l.pods[strings.Fields(rest)[0]] {
			items = append(items, p)
		}
	default:
		return 0, false
	}
	return map[bool]int{true: 0, false: 1}[json.NewEncoder(stdout).Encode(map[string]any{"items": items}) == nil], true
}

// playbook is kubespray: it resets the machines and deletes the nodes.
func (l *living) playbook(c process.Command, stdout, stderr io.Writer) int {
	name, limit := c.Args[len(c.Args)-1], c.Args[len(c.Args)-2]
	if status := l.change(name+" "+limit, true); status != 0 {
		return status
	}
	for i, n := range l.in.Nodes {
		if !slices.Contains(strings.Split(limit, ","), n.Name) {
			continue
		}
		l.disks[i].mu.Lock()
		l.disks[i].report.Kubernetes, l.disks[i].report.Left = nil, []string{"link cni0"}
		l.disks[i].mu.Unlock()
		if name == contract.PlaybookRemove {
			l.mu.Lock()
			delete(l.nodes, n.Name)
			l.mu.Unlock()
		}
	}
	return recorded("green", 0)(c, stdout, stderr)
}

// now returns the record of the cluster.
func (l *living) now() (i contract.Installed) {
	l.t.Helper()
	if err := json.Unmarshal([]byte(l.installed.Data[contract.KeyInstalled]), &i); err != nil {
		l.t.Fatal(err)
	}
	return i
}

// expectMembers checks the nodes of the cluster, of its record and of joined.json, and that no
// removal is in progress.
func (l *living) expectMembers(want ...string) {
	l.t.Helper()
	record := l.now()
	if diff := cmp.Diff(want, session.Names(record.Nodes)); diff != "" || len(record.Draining)+len(record.Leaving) > 0 {
		l.t.Errorf("draining %v, leaving %v, nodes in the record (-want +got):\n%s", record.Draining, record.Leaving, diff)
	}
	var joined []string
	if err := json.Unmarshal([]byte(l.installed.Data[contract.KeyJoined]), &joined); err != nil {
		l.t.Fatal(err)
	}
	if diff := cmp.Diff(session.HostUIDs(record.Nodes), joined); diff != "" {
		l.t.Errorf("joined (-want +got):\n%s", diff)
	}
	var registered []string
	for _, n := range l.in.Nodes {
		if _, there := l.nodes[n.Name]; there {
			registered = append(registered, n.Name)
		}
	}
	if diff := cmp.Diff(want, registered); diff != "" {
		l.t.Errorf("registered nodes (-want +got):\n%s", diff)
	}
}

func (l *living) expectDid(want ...string) {
	l.t.Helper()
	if diff := cmp.Diff(want, l.did); diff != "" {
		l.t.Errorf("changes (-want +got):\n%s\n%s", diff, &l.log)
	}
}

// shrink lets n nodes of the set leave.
func (l *living) shrink(n int) {
	set := contract.SetRemoval{Name: "worker", Count: n}
	for _, m := range l.now().Nodes[1:] {
		set.Candidates = append(set.Candidates, contract.Candidate{Node: m.Name})
	}
	l.in.Request.Remove.Sets = []contract.SetRemoval{set}
}

// promote makes the i-th node a control plane with a new name.
func (l *living) promote(i int, name string) {
	n := &l.in.Nodes[i]
	former := n.Name
	delete(l.nodes, former)
	n.Name, n.Roles, n.Set, l.nodes[name] = name, []string{contract.RoleControlPlane}, "", true
	l.pods[name] = l.pods[former]
	l.disks[i].before = func(script string, _ io.Writer) int { return l.change(script+" "+name, script != "inspect") }
	record := l.now()
	record.Nodes[i] = *n
	record.Nodes[i].Etcd = fmt.Sprintf("etcd%d", i+1)
	l.installed.Data[contract.KeyInstalled] = string(asJSON(l.t, record))
}
