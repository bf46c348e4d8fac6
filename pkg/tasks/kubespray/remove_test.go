package kubespray

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/akraino-icn/bpa/pkg/ansible/process"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/machine"
	"github.com/akraino-icn/bpa/pkg/ssh"
	"github.com/akraino-icn/bpa/pkg/tasks/task"
)

// living is a fixture of a cluster that runs: kubectl on the control plane reads and changes its
// nodes and pods. did has the commands and scripts that changed something, in their order.
type living struct {
	*fixture
	mu    sync.Mutex
	nodes map[string]bool // registered: is it Ready?
	pods  map[string][]pod
	// stuck are the nodes whose pods do not leave. budgets and attached are answers of kubectl.
	stuck    map[string]bool
	budgets  []budget
	attached string // the node of a volume attachment
	did      []string
	// killAt ends the task before its n-th change, as the kernel does: nothing more has an effect. 0:
	// never. Writes of the record count as changes.
	killAt, changes int
	kill            context.CancelFunc
}

// newLiving returns an installed cluster with master-1 and some workers, with n pods on worker-n. Each
// node also has pods that stay. All workers are of the set "worker".
func newLiving(t *testing.T, workers int) *living {
	l := &living{fixture: newFixture(t, workers), nodes: map[string]bool{}, pods: map[string][]pod{}, stuck: map[string]bool{}}
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
		l.addPod(n.Name, "kube-system", "kube-proxy-"+n.Name, func(p *pod) { p.own("DaemonSet") })
		if i > 0 {
			n.Set = "worker"
			for k := range i {
				l.addPod(n.Name, "shop", fmt.Sprintf("web-%d-%d", i, k), func(p *pod) { p.own("ReplicaSet") })
			}
		}
		l.disks[i].before = func(script string, _ io.Writer) int { return l.change(script+" "+n.Name, script != "inspect") }
	}
	l.knownHosts.data = map[string]string{contract.KeyKnownHosts: pins.String()}
	request.Members = slices.Clone(l.in.Nodes)
	request.Members[0].Etcd, request.EtcdNext = "etcd1", 2
	l.record(string(asJSON(t, states)))
	l.installed.data[contract.KeyInstalled] = string(asJSON(t, contract.Installed{Request: lasting(*request), Nodes: request.Members, EtcdNext: 2}))
	l.installed.data[contract.KeyJoined] = string(asJSON(t, uids(l.in.Nodes)))
	l.in.Playbook, l.in.Run, l.in.BootLimit = contract.PlaybookRemove, "edge-1-remove-2", 50*time.Millisecond
	request.Operation, request.Remove = contract.OperationRemoveNodes, &contract.Removal{DrainSeconds: 60}
	l.cluster = func(int) string { return list(l.objects()...) }
	l.fixture.kubectl = func() string { return list(append(l.objects(), podJSON("coredns-1", "master-1", "True", ""))...) }
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

func (p *pod) own(kind string) {
	p.Metadata.OwnerReferences = append(p.Metadata.OwnerReferences, struct{ Kind string }{kind})
}

func (l *living) addPod(on, namespace, name string, change func(p *pod)) {
	var p pod
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
		return 137
	}
	if changes && what != "" {
		l.did = append(l.did, what)
	}
	return 0
}

// mortal is the ConfigMap of a task that can be killed.
type mortal struct {
	*memory
	l *living
}

func (m mortal) Set(ctx context.Context, key, value string) error {
	if m.l.change("", true) != 0 {
		return ctx.Err()
	}
	return m.memory.Set(ctx, key, value)
}

func (l *living) ports() Ports {
	p := l.fixture.ports()
	p.Installed = mortal{&l.installed, l}
	return p
}

func (l *living) run() (Output, error) {
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
			all = append(all, nodeJSON(n.Name, map[bool]string{true: "True", false: "Unknown"}[isReady], "NodeStatusUnknown"))
		}
	}
	return all
}

// kubectl answers the commands about nodes and pods of the cluster; false: it does not know the
// command.
func (l *living) kubectl(command string, stdout, stderr io.Writer) (status int, known bool) {
	_, arguments, found := strings.Cut(command, " --kubeconfig /etc/kubernetes/admin.conf ")
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
		if status := l.change(field[0]+" "+name, true); status != 0 {
			return status, true
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if field[0] == "delete" {
			delete(l.nodes, name)
			delete(l.pods, name)
		}
		if field[0] == "drain" {
			if l.stuck[name] {
				fmt.Fprint(stderr, "error: unable to drain node")
				return 1, true
			}
			l.pods[name] = slices.DeleteFunc(l.pods[name], pod.movable)
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
				fmt.Fprintf(stdout, "%s\t%s\t%s\t%s\n", on, p.Status.Phase, p.Metadata.Annotations[mirrorAnnotation], p.Metadata.OwnerReferences[0].Kind)
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
	if err := json.Unmarshal([]byte(l.installed.data[contract.KeyInstalled]), &i); err != nil {
		l.t.Fatal(err)
	}
	return i
}

// expectMembers checks the nodes of the cluster, of its record and of joined.json, and that no
// removal is in progress.
func (l *living) expectMembers(want ...string) {
	l.t.Helper()
	record := l.now()
	if diff := cmp.Diff(want, namesOf(record.Nodes)); diff != "" || len(record.Draining)+len(record.Leaving) > 0 {
		l.t.Errorf("draining %v, leaving %v, nodes in the record (-want +got):\n%s", record.Draining, record.Leaving, diff)
	}
	var joined []string
	if err := json.Unmarshal([]byte(l.installed.data[contract.KeyJoined]), &joined); err != nil {
		l.t.Fatal(err)
	}
	if diff := cmp.Diff(uids(record.Nodes), joined); diff != "" {
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

func TestRemoveWorker(t *testing.T) {
	l := newLiving(t, 3)
	l.shrink(1)
	before := map[int]int{}
	out, err := l.run()
	if err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	l.expectDid("cordon worker-1", "drain worker-1", "save worker-1", "remove-node.yml worker-1", "save worker-1", "clean worker-1")
	l.expectMembers("master-1", "worker-2", "worker-3")
	l.expectStates(contract.HostStates{"uid-1": "used", "uid-2": "clean", "uid-3": "used", "uid-4": "used"})
	if out.Recap != "1 node removed: worker-1" {
		t.Errorf("recap %q", out.Recap)
	}
	l.done = before
	if diff := cmp.Diff([]string{"master-1", "worker-1"}, l.connected()); diff != "" {
		t.Errorf("connected to (-want +got):\n%s", diff)
	}
	l.expectPlaybookInput()
	record := l.now()
	if record.Nodes[0].Etcd != "etcd1" || record.EtcdNext != 2 || record.Request.Remove != nil || record.Request.OperatingSystem != "debian-12" {
		t.Errorf("record %+v", record)
	}
	for _, want := range []string{"These nodes leave: worker-1. These stay: master-1, worker-2, worker-3", "Draining node worker-1, at most 1m0s", "1 pod must leave"} {
		if !strings.Contains(l.log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, &l.log)
		}
	}
	// the run was killed after its end: another attempt has nothing to do
	l.did = nil
	if out, err := l.run(); err != nil || out.Recap != "no node is left to remove" {
		t.Errorf("%q, %v", out.Recap, err)
	}
	l.expectDid()
	l.expectMembers("master-1", "worker-2", "worker-3")
}

// expectPlaybookInput checks that Ansible can connect only to worker-1 and the first control plane.
func (l *living) expectPlaybookInput() {
	l.t.Helper()
	var extra map[string]any
	raw, err := os.ReadFile(l.in.ScratchDir + "/extra-vars.json")
	if err != nil || json.Unmarshal(raw, &extra) != nil {
		l.t.Fatal(err)
	}
	delete(extra, "ansible_ssh_args")
	want := map[string]any{"reset_confirmation": true, "flush_iptables": false, "reset_restart_network": false, "skip_confirmation": true,
		"node": "worker-1", "allow_ungraceful_removal": true, "drain_timeout": "30s", "drain_grace_period": 30., "drain_retries": 1.,
		"no_proxy": "10.60.0.1,10.60.0.2,10.60.0.3,10.60.0.4,127.0.0.1,localhost"}
	if diff := cmp.Diff(want, extra); diff != "" {
		l.t.Errorf("extra variables (-want +got):\n%s", diff)
	}
	known, err := os.ReadFile(l.in.ScratchDir + "/known_hosts")
	if err != nil || strings.Contains(string(known), "uid-3") || strings.Contains(string(known), "uid-4") || !strings.Contains(string(known), "uid-1") {
		l.t.Errorf("Ansible may connect to %s, %v", known, err)
	}
	if diff := cmp.Diff([]string{"master-1.json", "worker-2.json", "worker-3.json"}, l.factsOf()); diff != "" {
		l.t.Errorf("facts (-want +got):\n%s", diff)
	}
}

// A task can be killed before each of its changes. The next attempt ends in the same state as one
// that was not interrupted, and removes no further node.
func TestRemovalThatIsKilled(t *testing.T) {
	for at := 1; ; at++ {
		l := newLiving(t, 3)
		l.shrink(2)
		l.killAt, l.in.ProbeLimit = at, 500*time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		l.kill = cancel
		_, err := Run(ctx, l.in, l.ports())
		cancel()
		if err == nil {
			if at < 18 {
				t.Errorf("only %d changes were interrupted", at-1)
			}
			return
		}
		before := fmt.Sprintf("before change %d, after %v", at, l.did)
		l.killAt = 0
		if _, err := l.run(); err != nil {
			t.Errorf("killed %s: %v\n%s", before, err, &l.log)
		}
		l.expectMembers("master-1", "worker-3")
		l.expectStates(contract.HostStates{"uid-1": "used", "uid-2": "clean", "uid-3": "clean", "uid-4": "used"})
		if slices.ContainsFunc(l.did, func(what string) bool { return strings.Contains(what, "worker-3") || strings.Contains(what, "master") }) {
			t.Errorf("killed %s: a node that stays was changed: %v", before, l.did)
		}
		for i := 1; i <= 2; i++ {
			if r := l.disks[i].report; !empty(r) {
				t.Errorf("killed %s: machine %d has %v", before, i+1, r)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// A PodDisruptionBudget blocks the drain. The cluster is as before, and the failure names the budget.
func TestDrainThatIsBlocked(t *testing.T) {
	l := newLiving(t, 3)
	l.in.Request.Remove = &contract.Removal{Nodes: []string{"worker-1", "worker-2"}, DrainSeconds: 2}
	l.stuck["worker-2"] = true
	var b budget
	if err := json.Unmarshal([]byte(`{"metadata":{"namespace":"shop","name":"web"},"spec":{"selector":{"matchLabels":{"app":"shop"}}}}`), &b); err != nil {
		t.Fatal(err)
	}
	l.budgets = []budget{b}
	_, err := l.run()
	f := task.FailureOf(err)
	if f.Reason != contract.ReasonDrainBlocked || f.Host != "worker-2" {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	for _, want := range []string{"2 pods did not leave node worker-2 within 2s: shop/web-2-0 (PodDisruptionBudget shop/web allows no disruption)", "accepts pods again",
		"kubectl describe pdb web -n shop", "spec.timeouts.drain"} {
		if !strings.Contains(f.Message, want) {
			t.Errorf("message %q does not say %q", f.Message, want)
		}
	}
	did := slices.Compact(l.did)
	if diff := cmp.Diff([]string{"cordon worker-1", "cordon worker-2", "drain worker-1", "drain worker-2", "uncordon worker-1", "uncordon worker-2"}, did); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	l.expectMembers("master-1", "worker-1", "worker-2", "worker-3")

	l.did, l.stuck = nil, nil
	if _, err := l.run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	l.expectMembers("master-1", "worker-3")
}

// A cancelled run leaves no node that accepts no pods.
func TestDrainThatIsCancelled(t *testing.T) {
	l := newLiving(t, 1)
	l.addPod("worker-1", "shop", "db-0", func(p *pod) { p.own("StatefulSet") })
	l.in.Request.Remove.Nodes = []string{"worker-1"}
	l.stuck["worker-1"] = true
	ctx, cancel := context.WithCancel(t.Context())
	inner := l.commands
	l.commands = func(command string, stdout, stderr io.Writer) (int, bool) {
		status, known := inner(command, stdout, stderr)
		if strings.Contains(command, " drain ") {
			cancel()
		}
		return status, known
	}
	if _, err := Run(ctx, l.in, l.ports()); err == nil {
		t.Fatal("no error")
	}
	l.expectDid("cordon worker-1", "drain worker-1", "uncordon worker-1")
	l.expectMembers("master-1", "worker-1")
}

func TestRemovalWithoutADrain(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(l *living)
		did    []string
		stay   []string
		recap  string
	}{
		"the node was drained by an earlier attempt": {func(l *living) {
			l.shrink(1)
			record := l.now()
			record.Leaving = []string{"worker-2"}
			l.installed.data[contract.KeyInstalled] = string(asJSON(l.t, record))
		}, []string{"save worker-2", "remove-node.yml worker-2", "save worker-2", "clean worker-2"}, []string{"master-1", "worker-1"}, "1 node removed: worker-2"},
		"the host is lost and does not answer": {func(l *living) {
			l.in.Request.Remove = &contract.Removal{Nodes: []string{"worker-2"}}
			l.nodes["worker-2"] = false
			l.servers[2].Stop()
		}, []string{"delete worker-2"}, []string{"master-1", "worker-1"}, "1 node removed: worker-2; host-3 did not answer, so it was not reset"},
		"the host is in quarantine": {func(l *living) { l.in.Request.Remove = &contract.Removal{Nodes: []string{"worker-2"}} },
			[]string{"save worker-2", "remove-node.yml worker-2", "save worker-2", "clean worker-2"}, []string{"master-1", "worker-1"}, "1 node removed: worker-2"},
		"the node object is gone": {func(l *living) {
			l.in.Request.Remove.Nodes = []string{"worker-2"}
			delete(l.nodes, "worker-2")
		}, []string{"save worker-2", "remove-node.yml worker-2", "save worker-2", "clean worker-2"}, []string{"master-1", "worker-1"}, "1 node removed: worker-2"},
		"the node never joined": {func(l *living) {
			l.in.Request.Remove.Nodes = []string{"worker-2"}
			l.nodes["worker-2"] = false
			record := l.now()
			record.Nodes = record.Nodes[:2]
			l.installed.data[contract.KeyInstalled] = string(asJSON(l.t, record))
		}, []string{"save worker-2", "reset.yml worker-2", "clean worker-2", "delete worker-2"}, []string{"master-1", "worker-1"}, "1 node removed: worker-2"},
		"the machine is empty": {func(l *living) {
			l.in.Request.Remove = &contract.Removal{Nodes: []string{"worker-2"}}
			l.disks[2].report = machine.Report{}
		}, []string{"delete worker-2"}, []string{"master-1", "worker-1"}, "1 node removed: worker-2"},
		"the node has left already": {func(l *living) { l.in.Request.Remove.Nodes = []string{"worker-9"} }, nil, []string{"master-1", "worker-1", "worker-2"}, "no node is left to remove"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLiving(t, 2)
			tc.change(l)
			out, err := l.run()
			if err != nil || out.Recap != tc.recap {
				t.Fatalf("recap %q, %v\n%s", out.Recap, err, &l.log)
			}
			l.expectDid(tc.did...)
			l.expectMembers(tc.stay...)
			states, _ := l.states()
			if want := map[bool]contract.HostState{true: "used", false: "clean"}[strings.Contains(tc.recap, "did not answer") || len(tc.did) == 0]; states["uid-3"] != want {
				t.Errorf("host-3 is %s, want %s", states["uid-3"], want)
			}
		})
	}
}

// The pods of a node without a kubelet cannot end, so its drain does not wait for the time limit.
func TestDrainOfADeadNode(t *testing.T) {
	l := newLiving(t, 2)
	l.in.ProbeLimit = 300 * time.Millisecond
	l.in.Request.Remove.Nodes = []string{"worker-2"}
	l.nodes["worker-2"] = false
	if _, err := l.run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	l.expectDid("cordon worker-2", "save worker-2", "remove-node.yml worker-2", "save worker-2", "clean worker-2")
	l.expectMembers("master-1", "worker-1")
	if !strings.Contains(l.log.String(), "node worker-2 is not Ready, so its pods cannot end") {
		t.Errorf("the log does not say why pods are lost:\n%s", &l.log)
	}
}

// Volumes that stay attached delay a removal, and do not block it.
func TestVolumesThatStayAttached(t *testing.T) {
	l := newLiving(t, 1)
	l.in.ProbeLimit, l.attached = 300*time.Millisecond, "worker-1"
	l.in.Request.Remove.Nodes = []string{"worker-1"}
	started := time.Now()
	if _, err := l.run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	if waited := time.Since(started); waited < 600*time.Millisecond {
		t.Errorf("waited only %s", waited)
	}
	l.expectMembers("master-1")
}

// If kubespray fails, the task does its work.
func TestRemovalWhosePlaybookFails(t *testing.T) {
	l := newLiving(t, 2)
	l.in.Request.Remove.Nodes = []string{"worker-2"}
	l.play = func(c process.Command, stdout, stderr io.Writer) int {
		if c.Args[len(c.Args)-1] == contract.PlaybookRemove {
			return recorded("failed", 2)(c, stdout, stderr)
		}
		return l.playbook(c, stdout, stderr)
	}
	if _, err := l.run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	l.expectDid("cordon worker-2", "drain worker-2", "save worker-2", "save worker-2", "reset.yml worker-2", "clean worker-2", "delete worker-2")
	l.expectMembers("master-1", "worker-1")
}

// The node of a machine that is not empty leaves the cluster, and stays in the record.
func TestRemovalWhoseResetFails(t *testing.T) {
	l := newLiving(t, 3)
	l.in.Request.Remove.Nodes = []string{"worker-2", "worker-3"}
	healthy := l.disks[2].before
	l.disks[2].before = func(script string, stderr io.Writer) int {
		if script == "clean" {
			fmt.Fprint(stderr, "it is busy")
			return 1
		}
		return healthy(script, stderr)
	}
	_, err := l.run()
	if f := task.FailureOf(err); f.Reason != contract.ReasonResetIncomplete || f.Host != "worker-2" {
		t.Fatalf("failure %+v\n%s", f, &l.log)
	}
	record := l.now()
	if diff := cmp.Diff([]string{"master-1", "worker-1", "worker-2"}, namesOf(record.Nodes)); diff != "" || !slices.Equal(record.Leaving, []string{"worker-2"}) {
		t.Errorf("leaving %v, nodes (-want +got):\n%s", record.Leaving, diff)
	}
	l.disks[2].before = healthy
	l.in.Request.Remove.Nodes = nil // the user took it back, but it is too late for worker-2
	if _, err := l.run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	l.expectMembers("master-1", "worker-1")
	l.expectStates(contract.HostStates{"uid-1": "used", "uid-2": "used", "uid-3": "clean", "uid-4": "clean"})
}

// These removals end before anything is changed.
func TestRemovalThatIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(l *living)
		reason contract.Reason
		says   string
	}{
		"no removal":                {func(l *living) { l.in.Request.Remove = nil }, contract.ReasonInvalidRequest, "does not say which nodes leave"},
		"the only control plane":    {func(l *living) { l.in.Request.Remove.Nodes = []string{"master-1"} }, contract.ReasonInvalidRequest, "delete the Provisioning"},
		"the members are not known": {func(l *living) { delete(l.installed.data, contract.KeyInstalled); l.in.Request.Members = nil }, contract.ReasonInvalidRequest, "which nodes the cluster has"},
		"the record is unreadable":  {func(l *living) { l.installed.data[contract.KeyInstalled] = "{" }, contract.ReasonInvalidRequest, "installed.json"},
		"a live node, but no SSH":   {func(l *living) { l.servers[2].Stop() }, contract.ReasonHostUnreachable, "node worker-2 is Ready, but its host host-3 did not answer"},
		"another machine answers": {func(l *living) {
			l.answers(map[int]func(io.Writer) int{2: says("name x", "card eth0 aa:bb:cc:00:00:01")})
		}, contract.ReasonWrongMachine, "is another machine"},
		"the login is rejected":       {func(l *living) { l.servers[2].Rekey(l.hostKey.PublicKey(), l.hostKey) }, contract.ReasonSSHDenied, "host-3"},
		"no API server":               {func(l *living) { l.cluster = nil }, contract.ReasonAPIUnavailable, ""},
		"the control plane is silent": {func(l *living) { l.servers[0].Stop() }, contract.ReasonHostUnreachable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLiving(t, 2)
			l.in.Request.Remove.Nodes = []string{"worker-2"}
			l.in.ProbeLimit = time.Second
			tc.change(l)
			_, err := l.run()
			if err == nil {
				t.Fatal("no error")
			}
			if f := task.FailureOf(err); f.Reason != tc.reason || !strings.Contains(f.Message, tc.says) {
				t.Errorf("failure %+v", f)
			}
			l.expectDid()
		})
	}
}

// The record of a cluster that an older build installed is rebuilt from the request.
func TestRemovalWithoutARecord(t *testing.T) {
	l := newLiving(t, 2)
	delete(l.installed.data, contract.KeyInstalled)
	l.in.Request.Remove.Nodes = []string{"worker-1"}
	if _, err := l.run(); err != nil {
		t.Fatalf("%v\n%s", err, &l.log)
	}
	l.expectMembers("master-1", "worker-2")
}

// A removal that the user took back leaves no cordoned node, whatever run comes next.
func TestRemovalThatWasTakenBack(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(l *living)
		did    []string
	}{
		"another node leaves": {func(l *living) { l.in.Request.Remove.Nodes = []string{"worker-1"} },
			[]string{"uncordon worker-2", "cordon worker-1", "drain worker-1", "save worker-1", "remove-node.yml worker-1", "save worker-1", "clean worker-1"}},
		"nothing leaves": {func(*living) {}, []string{"uncordon worker-2"}},
		"nothing is added": {func(l *living) {
			l.in.Playbook, l.in.Request.Remove, l.in.Request.Operation = contract.PlaybookScale, nil, contract.OperationAddNodes
			l.stay(l.in.Nodes...)
		}, []string{"uncordon worker-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLiving(t, 2)
			record := l.now()
			record.Draining = []string{"worker-2"}
			l.installed.data[contract.KeyInstalled] = string(asJSON(t, record))
			tc.change(l)
			if _, err := l.run(); err != nil {
				t.Fatalf("%v\n%s", err, &l.log)
			}
			l.expectDid(tc.did...)
			if got := l.now().Draining; len(got) > 0 {
				t.Errorf("draining %v", got)
			}
		})
	}
}
