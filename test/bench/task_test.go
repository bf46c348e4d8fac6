//go:build e2e

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/test/site"
)

// add runs the task kubespray as a run does that adds one worker on a host to a cluster with the
// given nodes, and returns what it has taken.
func add(t *testing.T, s *site.Site, p *v1alpha1.Provisioning, name, host string, nodes []contract.Node) addition {
	t.Helper()
	makeInputs(t, s, p, name, newWorker(t, s, name, host), nodes)
	run := taskRun(s.Namespace, name, p.Spec.Kubespray.Release)
	if err := s.Create(context.Background(), run); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	processor := make(chan time.Duration, 1)
	go func() { processor <- processorOf(s, run, stop) }()
	done := site.Await(s, &tekton.TaskRunList{}, "the end of "+name, 2*limit, func(r *tekton.TaskRun) bool { return r.Name == name && r.IsDone() })
	close(stop)
	log := s.Kubectl("logs", done.Status.PodName, "--container", "step-run-playbook", "--timestamps")
	if !done.IsSuccessful() {
		t.Fatalf("%s failed: %+v\n%s", name, done.Status.Results, tail(log, 60))
	}
	checkContacts(t, s, name, log)
	ended := done.Status.Steps[0].Terminated
	return addition{runs: 1, total: ended.FinishedAt.Sub(ended.StartedAt.Time), processor: <-processor, phases: parts(t, log)}
}

// checkContacts fails the test if the playbook ran on more than the new node, or if the task accepted
// host keys of others than the new machine and the control plane.
func checkContacts(t *testing.T, s *site.Site, name, log string) {
	t.Helper()
	known := configMap(t, s, contract.KnownHostsName(name)).Data[contract.KeyKnownHosts]
	if n := len(strings.FieldsFunc(known, func(r rune) bool { return r == '\n' })); n != 2 {
		t.Errorf("%s: the task has the host keys of %d machines, want 2:\n%s", name, n, known)
	}
	if !strings.Contains(log, " 1 node: ok=") {
		t.Errorf("%s: the playbook did not run on exactly one node:\n%s", name, tail(log, 20))
	}
}

// newWorker returns the node that is added.
func newWorker(t *testing.T, s *site.Site, name, host string) contract.Node {
	t.Helper()
	bmh := &metal3.BareMetalHost{}
	if err := s.Get(context.Background(), client.ObjectKey{Namespace: s.Namespace, Name: host}, bmh); err != nil {
		t.Fatal(err)
	}
	nic := bmh.Status.HardwareDetails.NIC[0]
	return contract.Node{Name: name, Roles: []string{contract.RoleWorker}, Host: host, HostUID: string(bmh.UID), Address: nic.IP, MACs: []string{nic.MAC}}
}

// masterOf returns the control plane of the installed cluster.
func masterOf(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) contract.Node {
	t.Helper()
	var nodes []contract.Node
	decode(t, configMap(t, s, contract.InventoryName(p.Name)).Data[contract.KeyNodes], &nodes)
	if len(nodes) != 1 {
		t.Fatalf("the cluster has %d nodes, want one", len(nodes))
	}
	return nodes[0]
}

// makeInputs creates the ConfigMaps and the account of the task, as the controller and the tasks
// before it do. The request and the variables are those of the installation; only the nodes differ.
func makeInputs(t *testing.T, s *site.Site, p *v1alpha1.Provisioning, name string, worker contract.Node, nodes []contract.Node) {
	t.Helper()
	installed := configMap(t, s, contract.RequestName(p.Name)).Data
	var request contract.Request
	decode(t, installed[contract.KeyRequest], &request)
	request.Provisioning, request.Operation = name, contract.OperationAddNodes
	request.Members, request.EtcdNext, request.Complete = nodes, 2, true
	states, joined := contract.HostStates{}, []string{}
	for _, n := range nodes {
		request.Installed = append(request.Installed, n.Host)
		states[n.HostUID], joined = contract.HostUsed, append(joined, n.HostUID)
	}
	record := contract.Installed{Request: request, Nodes: nodes, EtcdNext: request.EtcdNext}
	all, _ := inventory.Members(request, append(nodes[:len(nodes):len(nodes)], worker))
	rendered, err := inventory.Render(request, all)
	if err != nil {
		t.Fatal(err)
	}
	inputs := maps.Clone(installed)
	inputs[contract.KeyRequest] = encode(t, request)
	makeMap(t, s, contract.RequestName(name), inputs)
	makeMap(t, s, contract.InventoryName(name), map[string]string{
		contract.KeyNodes: encode(t, all), contract.KeyHostsINI: string(rendered.HostsINI),
		contract.KeyGroupVars: configMap(t, s, contract.InventoryName(p.Name)).Data[contract.KeyGroupVars],
	})
	makeMap(t, s, contract.KnownHostsName(name), nil)
	makeMap(t, s, contract.ProgressName(name), nil)
	makeMap(t, s, contract.InstalledName(name), map[string]string{
		contract.KeyHosts: encode(t, states), contract.KeyJoined: encode(t, joined), contract.KeyInstalled: encode(t, record), contract.KeyComplete: "true",
	})
	makeAccount(t, s, name)
}

// makeAccount creates the task's account with the rights that it has in a run.
func makeAccount(t *testing.T, s *site.Site, name string) {
	t.Helper()
	account := metav1.ObjectMeta{Namespace: s.Namespace, Name: contract.ServiceAccountName(name, contract.TaskKubespray)}
	for _, o := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: account},
		&rbacv1.Role{ObjectMeta: account, Rules: runs.Rules(name, taskKubespray())},
		&rbacv1.RoleBinding{ObjectMeta: account, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: account.Name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}}},
	} {
		if err := s.Create(context.Background(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func taskKubespray() contract.Task {
	tasks := contract.OperationOf(contract.OperationAddNodes).Tasks()
	for _, task := range tasks {
		if task.Name == contract.TaskKubespray {
			return task
		}
	}
	panic("the operation has no task " + contract.TaskKubespray)
}

// taskRun returns a run of the task kubespray alone, as the Pipeline of a Provisioning runs it.
func taskRun(namespace, name, release string) *tekton.TaskRun {
	operation := contract.OperationOf(contract.OperationAddNodes)
	whole := runs.Run{Name: name, Operation: operation, Release: release, SSHSecret: "ssh-key", Timeout: 2 * limit}.Spec()
	pod := whole.TaskRunTemplate.PodTemplate
	pod.AutomountServiceAccountToken = ptr.To(true)
	return &tekton.TaskRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: tekton.TaskRunSpec{
			ServiceAccountName: contract.ServiceAccountName(name, contract.TaskKubespray),
			TaskRef: &tekton.TaskRef{ResolverRef: tekton.ResolverRef{Resolver: "cluster", Params: tekton.Params{
				runs.Param("kind", "task"), runs.Param("name", taskKubespray().OfRelease(release)), runs.Param("namespace", runs.Namespace),
			}}},
			Params: tekton.Params{
				runs.Param(contract.ParamProvisioning, name), runs.Param("run", name), runs.Param(contract.ParamPlaybook, operation.Playbook),
			},
			Workspaces:  whole.Workspaces,
			PodTemplate: pod,
			Timeout:     whole.Timeouts.Tasks,
		},
	}
}

// processorOf reads, once a second, the processor time of the task's pod from its control group on
// this machine, and returns the last value. It ends when stop is closed.
func processorOf(s *site.Site, run *tekton.TaskRun, stop <-chan struct{}) (used time.Duration) {
	next := time.NewTicker(time.Second)
	defer next.Stop()
	path := ""
	for {
		select {
		case <-stop:
			return used
		case <-next.C:
		}
		if path == "" {
			path = controlGroup(s, run.Name)
		}
		if raw, err := os.ReadFile(path); err == nil {
			if now, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 64); err == nil {
				used = time.Duration(now)
			}
		}
	}
}

// controlGroup returns the path of the file with the processor time of the task's pod, or an empty
// string as long as the pod does not exist.
func controlGroup(s *site.Site, name string) string {
	pods := &corev1.PodList{}
	if err := s.List(context.Background(), pods, client.InNamespace(s.Namespace), client.MatchingLabels{"tekton.dev/taskRun": name}); err != nil || len(pods.Items) == 0 {
		return ""
	}
	for _, pattern := range []string{"kubepods/pod%s", "kubepods/*/pod%s"} {
		if found, _ := filepath.Glob("/sys/fs/cgroup/cpuacct/" + fmt.Sprintf(pattern, pods.Items[0].UID) + "/cpuacct.usage"); len(found) > 0 {
			return found[0]
		}
	}
	return ""
}

func configMap(t *testing.T, s *site.Site, name string) *corev1.ConfigMap {
	t.Helper()
	m := &corev1.ConfigMap{}
	if err := s.Get(context.Background(), client.ObjectKey{Namespace: s.Namespace, Name: name}, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func makeMap(t *testing.T, s *site.Site, name string, data map[string]string) {
	t.Helper()
	if err := s.Create(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Data: data}); err != nil {
		t.Fatal(err)
	}
}

func encode(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func writeTemp(t *testing.T, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func tail(text string, lines int) string {
	all := strings.Split(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
