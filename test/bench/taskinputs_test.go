//go:build e2e

package bench

import (
	"context"
	"encoding/json"
	"maps"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/inventory"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/test/site"
)

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
	decode(t, configMap(t, s, contract.OutcomeName(contract.RunRequestName(p.Name, 1))).Data[contract.KeyNodes], &nodes)
	if len(nodes) != 1 {
		t.Fatalf("the cluster has %d nodes, want one", len(nodes))
	}
	return nodes[0]
}

// makeInputs creates the ConfigMaps and the account of the task, as the controller and the tasks
// before it do. The request and the variables are those of the installation; only the nodes differ.
func makeInputs(t *testing.T, s *site.Site, p *v1alpha1.Provisioning, name string, worker contract.Node, nodes []contract.Node) {
	t.Helper()
	installed := requestOf(t, s, p).Data
	var request contract.Request
	decode(t, installed[contract.KeyRequest], &request)
	request.Provisioning, request.Operation = name, contract.OperationAddNodes
	request.Members, request.EtcdNext, request.Complete = nodes, 2, true
	states, joined := contract.HostStates{}, []string{}
	for _, n := range nodes {
		request.Installed = append(request.Installed, n.Host)
		states[n.HostUID], joined = contract.HostUsed, append(joined, n.HostUID)
	}
	record := contract.Installed{Request: request.Spec, Nodes: nodes, EtcdNext: request.EtcdNext}
	all, _ := inventory.Members(request, append(nodes[:len(nodes):len(nodes)], worker))
	rendered, err := inventory.Render(request, all)
	if err != nil {
		t.Fatal(err)
	}
	inputs := maps.Clone(installed)
	request.Outcome = contract.OutcomeName(contract.RequestName(name))
	inputs[contract.KeyRequest] = encode(t, request)
	makeMap(t, s, contract.RequestName(name), inputs)
	makeMap(t, s, contract.OutcomeName(contract.RequestName(name)), map[string]string{
		contract.KeyNodes: encode(t, all), contract.KeyHostsINI: string(rendered.HostsINI),
		contract.KeyGroupVars: configMap(t, s, contract.OutcomeName(contract.RunRequestName(p.Name, 1))).Data[contract.KeyGroupVars],
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
		&rbacv1.Role{ObjectMeta: account, Rules: runs.Rules(name, contract.OutcomeName(contract.RequestName(name)), taskKubespray())},
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

func configMap(t *testing.T, s *site.Site, name string) *corev1.ConfigMap {
	t.Helper()
	m := &corev1.ConfigMap{}
	if err := s.Get(context.Background(), client.ObjectKey{Namespace: s.Namespace, Name: name}, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// requestOf returns the ConfigMap with the request of the newest run of p.
func requestOf(t *testing.T, s *site.Site, p *v1alpha1.Provisioning) *corev1.ConfigMap {
	t.Helper()
	now := &v1alpha1.Provisioning{}
	if err := s.Get(context.Background(), client.ObjectKeyFromObject(p), now); err != nil {
		t.Fatal(err)
	}
	if now.Status.Run == nil {
		t.Fatalf("%s had no run", p.Name)
	}
	return configMap(t, s, contract.RunRequestName(p.Name, resources.RunNumber(now.Status.Run.Name)))
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
