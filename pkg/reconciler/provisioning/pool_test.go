package provisioning

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// inPool keeps the hosts of a Provisioning in the namespace pool.
func inPool(p *v1alpha1.Provisioning) { p.Spec.HostNamespace = "pool" }

// bindingsInPool returns the names of the RoleBindings in the namespace pool.
func (w *fixture) bindingsInPool(t *testing.T) (names []string) {
	t.Helper()
	list, err := w.kube.RbacV1().RoleBindings("pool").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range list.Items {
		names = append(names, b.Name+" of "+b.Subjects[0].Namespace+"/"+b.Subjects[0].Name)
	}
	return names
}

// TestAccessToAPool: a run whose hosts are in another namespace has access there, if a policy grants the hosts and the
// limit allows them, and none to hosts of its own namespace.
func TestAccessToAPool(t *testing.T) {
	want := site + ".edge-1-select-hosts-hosts of " + site + "/edge-1-select-hosts"
	for what, row := range map[string]struct {
		tenancy hosts.Tenancy
		want    []string
		message string
	}{
		"granted":          {hosts.Tenancy{}, []string{want}, ""},
		"within the limit": {hosts.Tenancy{MaxHosts: new(3), Here: 1, Elsewhere: 1}, []string{want}, ""},
		"not granted":      {hosts.Tenancy{Refused: "no HostDeployPolicy grants it"}, nil, "no HostDeployPolicy grants it"},
		"over the limit":   {hosts.Tenancy{MaxHosts: new(2), Here: 1, Elsewhere: 1}, nil, "namespace site may hold at most 2 hosts (annotation bpa.akraino.org/max-hosts of the namespace): its other Provisionings hold 2"},
	} {
		t.Run(what, func(t *testing.T) {
			free := fitting()
			free.tenancy = row.tenancy
			w := newFixture(t, free, []runtime.Object{edge(inPool), sshKey()}, nil)
			_ = w.visit(t, at)
			if diff := cmp.Diff(row.want, w.bindingsInPool(t)); diff != "" {
				t.Errorf("bindings (-want +got):\n%s\n%v", diff, w.calls())
			}
			if slices.Contains(w.calls(), "create rolebindings edge-1-select-hosts-hosts") {
				t.Error("the task has access to the hosts of its own namespace")
			}
			c := w.stored(t).Status.GetCondition(v1alpha1.ConditionHostsClaimed)
			if row.message != "" && (c == nil || !strings.Contains(c.Message, row.message)) {
				t.Errorf("condition %v, want %q", c, row.message)
			}
		})
	}
}

// TestAccessToAPoolEnds: the access ends with the task, and after a deletion by force, and that of a namesake stays.
func TestAccessToAPoolEnds(t *testing.T) {
	binding := func(namespace string) *rbacv1.RoleBinding {
		p := edge(inPool, func(p *v1alpha1.Provisioning) { p.Namespace = namespace })
		b := resources.MakePoolBindings(p, nil)[0]
		b.UID = types.UID("uid-in-" + namespace)
		return b
	}
	kept := "tenant-b.edge-1-select-hosts-hosts of tenant-b/edge-1-select-hosts"
	p := edge(inPool)
	pr := run(p, 1)
	for what, world := range map[string][]runtime.Object{
		"the task has ended":   {p, pr, child(pr, contract.TaskSelectHosts, corev1.ConditionTrue, nil)},
		"it was deleted":       {},
		"the deletion is over": {edge(inPool, deleting)},
	} {
		w := newFixture(t, fitting(), append(world, binding(site), binding("tenant-b")), nil)
		_ = w.visit(t, at)
		if diff := cmp.Diff([]string{kept}, w.bindingsInPool(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	working := newFixture(t, held(), []runtime.Object{p, pr, child(pr, contract.TaskSelectHosts, corev1.ConditionUnknown, nil), binding(site)}, nil)
	_ = working.visit(t, at)
	if got := working.bindingsInPool(t); len(got) != 1 {
		t.Errorf("while the task works: %v", got)
	}
}

// TestBindingsWakeTheirTenant: an object in the namespace of the hosts is of the Provisioning that its labels name, and not of
// a namesake beside the hosts.
func TestBindingsWakeTheirTenant(t *testing.T) {
	var woken []string
	wake := enqueueTenant(func(k key) { woken = append(woken, k.String()) })
	wake(resources.MakePoolBindings(edge(inPool), nil)[0])
	wake(hostsBinding(t, edge()))
	if diff := cmp.Diff([]string{"site/edge-1", "site/edge-1"}, woken); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSecretsBesideHosts: the Secrets of an image are copied into the namespace of the host, and the copy is empty when
// the host is free again. A Secret of somebody else stays as it is.
func TestSecretsBesideHosts(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	p := edge(inPool, wantsUpload, func(p *v1alpha1.Provisioning) { p.Spec.OSImage.UserData = "data-of-$(node)" })
	bare := held()
	bare.all[0].Bare, bare.all[0].Node, bare.all[0].UID = true, "master-1", "uid-host-1"
	pr := run(p, 1)
	of := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "data-of-master-1"}, Data: map[string][]byte{"userData": []byte("#cloud-config")}}
	world := []runtime.Object{p, pr, requestOf(t, pr, p, settings.Depot{}), of,
		child(pr, contract.TaskSeedRegistry, corev1.ConditionTrue, map[string]string{contract.ResultOSImage: sum}), child(pr, contract.TaskSelectHosts, corev1.ConditionUnknown, nil)}
	w := newFixture(t, bare, world, nil)
	_ = w.visit(t, at)
	copied := func() *corev1.Secret {
		t.Helper()
		s, err := w.kube.CoreV1().Secrets("pool").Get(t.Context(), "host-1-bpa-user-data", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := copied()
	if string(s.Data["userData"]) != "#cloud-config" || len(s.OwnerReferences) != 1 || s.OwnerReferences[0].UID != "uid-host-1" || s.Labels[contract.LabelCluster] != "" {
		t.Errorf("the copy: %+v", s)
	}
	if diff := cmp.Diff([]string{"host-1=master-1 " + sum}, bare.imaged); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	r := w.controller()
	if err := r.emptyCopies(t.Context(), p, []string{"host-1", "host-2"}); err != nil || len(copied().Data) > 0 {
		t.Errorf("after the release: %v, %v", copied().Data, err)
	}
	foreign := s.DeepCopy()
	foreign.Labels, foreign.Name = nil, "host-2-bpa-user-data"
	if _, err := w.kube.CoreV1().Secrets("pool").Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.ensureCopy(t.Context(), resources.MakeCopy(p, "host-2-bpa-user-data", "host-2", "uid-host-2", of)); err == nil || !strings.Contains(err.Error(), "is not of BPA") {
		t.Errorf("a Secret of somebody else: %v", err)
	}
}

// TestOverLimit: only new hosts are refused, lost hosts do not count, and those of former nodes do.
func TestOverLimit(t *testing.T) {
	request := contract.Request{Spec: contract.Spec{Namespace: site}, Record: contract.Record{Unreset: []string{"host-3"}}}
	seen := plan.Seen{Site: map[string]plan.Host{"host-1": {Ours: true}, "host-2": {Ours: true, Lost: true}, "host-3": {Ours: true}, "host-4": {}}}
	for what, row := range map[string]struct {
		limit, here int
		chosen      []string
		over        bool
	}{
		"nothing new":               {1, 3, []string{"host-1"}, false},
		"one new, at the limit":     {4, 3, []string{"host-1", "host-4"}, false},
		"one new, above the limit":  {3, 3, []string{"host-1", "host-4"}, true},
		"instead of the lost one":   {3, 2, []string{"host-1", "host-4"}, false},
		"a limit of no hosts":       {0, 2, []string{"host-4"}, true},
		"others hold all of them":   {9, 9, []string{"host-1", "host-3", "host-4"}, true},
		"others hold less than all": {10, 9, []string{"host-1", "host-3", "host-4"}, false},
	} {
		if got := overLimit(request, hosts.Tenancy{MaxHosts: &row.limit, Here: row.here}, seen, row.chosen); (got != "") != row.over {
			t.Errorf("%s: %q", what, got)
		}
	}
}
