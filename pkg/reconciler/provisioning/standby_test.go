package provisioning

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/pkg/controller"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// withWorkers requests two workers and a standby in addition to the node master-1.
func withWorkers(p *v1alpha1.Provisioning) {
	p.Spec.NodeSets = []v1alpha1.NodeSet{{Name: "workers", Count: v1alpha1.NodeCount{Active: 2, Standby: 1}}}
	p.SetDefaults(context.Background())
}

// fleet returns hosts and nodes: master-1 is on host-1, and workers-1 to workers-3 are on host-2 to
// host-4. workers-3 is a standby. host-5 is free.
func fleet() (*fakeHosts, []contract.Node) {
	site := &fakeHosts{}
	var nodes []contract.Node
	for i, node := range []string{"master-1", "workers-1", "workers-2", "workers-3", ""} {
		h := hosts.Host{Name: "host-" + string(rune('1'+i)), UID: "u" + string(rune('1'+i)), CPU: 8, Memory: 1 << 34}
		nic := hosts.NIC{Name: "eth0", MAC: "02:00:00:00:00:0" + string(rune('1'+i)), Boot: true}
		nic.IPs = []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)})}
		h.NICs, h.MACs = []hosts.NIC{nic}, []string{nic.MAC}
		if node != "" {
			n := contract.Node{Name: node, Host: h.Name, HostUID: h.UID, Address: nic.IPs[0].String(), Roles: []string{contract.RoleWorker}}
			if n.Set = "workers"; node == "master-1" {
				n.Set, n.Roles = "", []string{contract.RoleControlPlane}
			}
			n.Standby = node == "workers-3"
			h.Holder = &hosts.Holder{Group: hosts.Group, Kind: hosts.Kind, Namespace: "site", Name: name, UID: "uid-1"}
			h.Node, h.Set, h.Standby = node, n.Set, n.Standby
			nodes = append(nodes, n)
		}
		site.all = append(site.all, h)
	}
	return site, nodes
}

// installedEdge returns a fixture in which the cluster is already installed on these hosts.
func installedEdge(t *testing.T, site *fakeHosts, nodes []contract.Node, changes ...func(*v1alpha1.Provisioning)) *fixture {
	t.Helper()
	text, err := json.Marshal(nodes)
	if err != nil {
		t.Fatal(err)
	}
	p := edge(append([]func(*v1alpha1.Provisioning){withWorkers}, changes...)...)
	done := run(p, 1, ended(corev1.ConditionTrue, "Succeeded"))
	return newFixture(t, site, []runtime.Object{p, sshKey(), done, written(contract.InstalledName(name), contract.KeyClaimed, string(text))}, nil)
}

func (w *fixture) runNamed(t *testing.T, name string) *tekton.PipelineRun {
	t.Helper()
	pr, err := w.tekton.TektonV1().PipelineRuns("site").Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return pr
}

// TestFault_SIP_4_5_13_LostHostsAreReplaced: SIP did not replace a host that disappeared, and
// looked for lost hosts only when its own resource changed. In this test only the host changes.
func TestFault_SIP_4_5_13_LostHostsAreReplaced(t *testing.T) {
	site, nodes := fleet()
	w := installedEdge(t, site, nodes)
	w.settle(t)
	if w.runNamed(t, "edge-1-add-nodes-2") != nil || len(site.asked) > 0 {
		t.Fatalf("a whole cluster is given a run, or the API server is asked about %q", site.asked)
	}
	site.all = slices.Delete(site.all, 2, 3) // host-3, of workers-2
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	pr := w.runNamed(t, "edge-1-add-nodes-2")
	if pr == nil {
		t.Fatalf("no run; calls: %q", w.calls())
	}
	if got := pr.Annotations[resources.AnnotationReplaces]; got != "workers-2=host-3" || pr.Labels[contract.LabelOperation] != contract.OperationAddNodes {
		t.Errorf("the run replaces %q and is labelled %v", got, pr.Labels)
	}
	if diff := cmp.Diff([]string{"host-3"}, site.asked); diff != "" {
		t.Errorf("hosts about which the API server was asked (-want +got):\n%s", diff)
	}
	request := w.request(t)
	if diff := cmp.Diff([]string{"host-1", "host-2"}, request.Installed); diff != "" {
		t.Errorf("installed hosts in the request (-want +got):\n%s", diff)
	}
	status := w.stored(t).Status
	if got := status.Nodes[2]; got.State != v1alpha1.NodeLost || got.Host != "host-3" || got.Problem == "" {
		t.Errorf("the lost node is told as %+v", got)
	}
}

// TestRecordHasTheStandbys: the record says which standby nodes the cluster has. If it was lost, or is of a build that did not
// write them, they are those of the claims, and nothing happens to their hosts. In each case they replace lost nodes.
func TestRecordHasTheStandbys(t *testing.T) {
	for title, record := range map[string]func(*corev1.ConfigMap, []contract.Node){
		"in the record": func(cm *corev1.ConfigMap, nodes []contract.Node) { cm.Data[contract.KeyClaimed] = asJSON(t, nodes) },
		"not there":     func(*corev1.ConfigMap, []contract.Node) {},
		"damaged":       func(cm *corev1.ConfigMap, _ []contract.Node) { cm.Data[contract.KeyClaimed] = "{" },
	} {
		t.Run(title, func(t *testing.T) {
			site, nodes := fleet()
			w := installedEdge(t, site, nodes)
			request, err := from.Provisioning(w.stored(t), settings.Depot{})
			if err != nil {
				t.Fatal(err)
			}
			cm := written(contract.InstalledName(name), contract.KeyHosts, `{"u1":"used","u2":"used","u3":"used"}`,
				contract.KeyInstalled, asJSON(t, contract.Installed{Request: request.Spec, Nodes: nodes[:3], EtcdNext: 2}))
			record(cm, nodes)
			w.record(t, cm)
			w.settle(t)
			var got []string
			for _, n := range w.stored(t).Status.Nodes {
				got = append(got, n.Name+" on "+n.Host+" at "+n.Address+" is "+string(n.State))
			}
			want := []string{"master-1 on host-1 at 10.0.0.1 is Ready", "workers-1 on host-2 at 10.0.0.2 is Ready", "workers-2 on host-3 at 10.0.0.3 is Ready",
				"workers-3 on host-4 at 10.0.0.4 is Standby"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if runs := w.runs(t); len(runs) != 1 || len(site.released) > 0 {
				t.Errorf("runs %q, released %q", runs, site.released)
			}
			site.all = slices.Delete(site.all, 2, 3) // host-3, of workers-2
			if err := w.visit(t, at); err != nil {
				t.Fatal(err)
			}
			if w.runNamed(t, "edge-1-add-nodes-2") == nil {
				t.Errorf("the standby does not replace the lost node; calls: %q", w.calls())
			}
		})
	}
}

// TestRumoursReplaceNothing: if a host is missing only in the cache but exists at the API server,
// nothing starts.
func TestRumoursReplaceNothing(t *testing.T) {
	site, nodes := fleet()
	site.live, _ = fleet()
	w := installedEdge(t, site, nodes)
	site.all = slices.Delete(site.all, 2, 3)
	if err := w.visit(t, at); err != nil {
		if again, _ := controller.IsRequeueKey(err); !again {
			t.Fatal(err)
		}
	}
	if pr := w.runNamed(t, "edge-1-add-nodes-2"); pr != nil {
		t.Errorf("run %s was started", pr.Name)
	}
	if !slices.Contains(site.asked, "host-3") {
		t.Error("the API server was not asked")
	}
}

// TestNoRunOnAnOldRecord: the cache can show the end of a run before the record that the run has written. Then no run
// starts, which would take the nodes that have just joined for the rest of a failed run.
func TestNoRunOnAnOldRecord(t *testing.T) {
	site, nodes := fleet()
	fewer := func(p *v1alpha1.Provisioning) { p.Spec.NodeSets[0].Count.Active = 1 }
	w := installedEdge(t, site, nodes)
	request, err := from.Provisioning(w.stored(t), settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	record := contract.Installed{Request: request.Spec, Nodes: nodes[:3], EtcdNext: 2}
	cm := written(contract.InstalledName(name), contract.KeyInstalled, asJSON(t, record), contract.KeyClaimed, asJSON(t, nodes))
	cm.Data[contract.KeyHosts] = `{"u1":"used","u2":"used","u3":"used"}`
	w.record(t, cm)
	w.change(t, fewer)
	record.EtcdNext++
	newer := cm.DeepCopy()
	newer.Data[contract.KeyInstalled] = asJSON(t, record)
	if _, err := w.kube.CoreV1().ConfigMaps(cm.Namespace).Update(t.Context(), newer, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, synced := range []bool{false, true} {
		if err := w.visit(t, at); err != nil {
			if again, _ := controller.IsRequeueKey(err); !again {
				t.Fatal(err)
			}
		}
		if started := w.runNamed(t, "edge-1-remove-nodes-2") != nil; started != synced {
			t.Errorf("the cache is up to date: %t; a run was started: %t", synced, started)
		}
		w.sync(t)
	}
}

// TestNoRemovalWithAnOldClaim: the cache can show the end of a run before the claims of its hosts. A run that has failed has
// left a node on such a host. Then no run removes other nodes: it would leave this one in the cluster.
func TestNoRemovalWithAnOldClaim(t *testing.T) {
	site, nodes := fleet()
	site.live, _ = fleet()
	site.live.all[4].Holder = site.live.all[0].Holder
	left := nodes[2]
	left.Name, left.Host, left.HostUID, left.Address = "workers-4", "host-5", "u5", "10.0.0.5"
	w := installedEdge(t, site, append(slices.Clone(nodes), left))
	request, err := from.Provisioning(w.stored(t), settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	cm := written(contract.InstalledName(name), contract.KeyInstalled, asJSON(t, contract.Installed{Request: request.Spec, Nodes: nodes[:3], EtcdNext: 2}),
		contract.KeyClaimed, asJSON(t, append(slices.Clone(nodes), left)))
	cm.Data[contract.KeyHosts] = `{"u1":"used","u2":"used","u3":"used","u5":"used"}`
	w.record(t, cm)
	w.change(t, func(p *v1alpha1.Provisioning) { p.Spec.NodeSets[0].Count.Active = 1 })
	_ = w.visit(t, at) // comes back
	if w.runNamed(t, "edge-1-remove-nodes-2") != nil {
		t.Error("a run was started while the cache does not show the claim of host-5")
	}
	site.all, site.live = site.live.all, nil
	w.sync(t)
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	if w.runNamed(t, "edge-1-remove-nodes-2") == nil {
		t.Fatalf("no run; calls: %q", w.calls())
	}
	if r := w.request(t).Remove; !slices.Contains(r.Nodes, left.Name) {
		t.Errorf("the run removes %q, want %s among them", r.Nodes, left.Name)
	}
}

// TestLeftoverKeepsItsName: the rest of a failed addition is removed by the name of its node also if the list of nodes lacks
// it, because a later run has chosen hosts while this one was in quarantine. By the name of the host, the task
// would find no Node to delete.
func TestLeftoverKeepsItsName(t *testing.T) {
	site, nodes := fleet()
	site.all[4].Holder, site.all[4].Labels = site.all[0].Holder, map[string]string{contract.LabelNode: "workers-4"}
	w := installedEdge(t, site, nodes[:3])
	request, err := from.Provisioning(w.stored(t), settings.Depot{})
	if err != nil {
		t.Fatal(err)
	}
	cm := written(contract.InstalledName(name), contract.KeyInstalled, asJSON(t, contract.Installed{Request: request.Spec, Nodes: nodes[:3], EtcdNext: 2}),
		contract.KeyClaimed, asJSON(t, nodes[:3]))
	cm.Data[contract.KeyHosts] = `{"u1":"used","u2":"used","u3":"used","u5":"used"}`
	w.record(t, cm)
	w.settle(t)
	if w.runNamed(t, "edge-1-remove-nodes-2") == nil {
		t.Fatalf("no run; calls: %q", w.calls())
	}
	if r := w.request(t).Remove; r == nil || !slices.Equal(r.Nodes, []string{"workers-4"}) {
		t.Errorf("the run removes %+v, want workers-4", r)
	}
}

// TestFault_SIP_4_5_2_CompleteClusterStaysReady: if there was no free host, SIP reported even a
// complete cluster as unschedulable in its next reconcile.
func TestFault_SIP_4_5_2_CompleteClusterStaysReady(t *testing.T) {
	site, nodes := fleet()
	site.all = site.all[:4]
	w := installedEdge(t, site, nodes)
	w.settle(t)
	for _, c := range []string{"HostsClaimed", "ClusterInstalled"} {
		for _, got := range w.stored(t).Status.Conditions {
			if string(got.Type) == c && !got.IsTrue() {
				t.Errorf("%s is %s: %s", c, got.Status, got.Message)
			}
		}
	}
	if len(site.released) > 0 || w.runNamed(t, "edge-1-add-nodes-2") != nil {
		t.Errorf("released %q, or a run was started", site.released)
	}
}

// TestFault_SIP_4_5_1_ScaleDownTakesNoHosts: when a request was changed to fewer hosts than it
// already had, SIP claimed all suitable hosts. In this test a node set becomes smaller, and the
// Provisioning claims no host. It keeps the hosts of its cluster, because this version of BPA
// cannot remove them from the cluster.
func TestFault_SIP_4_5_1_ScaleDownTakesNoHosts(t *testing.T) {
	site, nodes := fleet()
	w := installedEdge(t, site, nodes)
	w.settle(t)
	smaller := w.stored(t)
	smaller.Spec.NodeSets[0].Count.Active = 1
	if _, err := w.bpa.BpaV1alpha1().Provisionings("site").Update(t.Context(), smaller, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	w.settle(t)
	held, _ := site.Held(t.Context(), hosts.Owner{Namespace: "site", Name: name})
	if len(held) != 4 || len(site.released) > 0 || w.runNamed(t, "edge-1-add-nodes-2") != nil {
		t.Errorf("%d hosts held, released %q", len(held), site.released)
	}
}

// TestFault_ICN_1_7_8_NothingWithoutMasters: if a request had workers but no masters, the original
// wrote an inventory with empty groups and started a job.
func TestFault_ICN_1_7_8_NothingWithoutMasters(t *testing.T) {
	site, _ := fleet()
	w := newFixture(t, site, []runtime.Object{sshKey(), edge(func(p *v1alpha1.Provisioning) {
		p.Spec.Masters, p.Spec.Workers = nil, []map[string]v1alpha1.Worker{{"worker-1": {}}}
	})}, nil)
	w.settle(t)
	if w.runNamed(t, "edge-1-install-1") != nil {
		t.Error("a run was started for workers without a control plane")
	}
	if ready := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady); !ready.IsFalse() || ready.Reason != "InvalidSpec" {
		t.Errorf("Ready is %+v", ready)
	}
}

// TestFault_ICN_1_7_10_OthersHostsAreLeftAlone: the original gave hosts of one cluster to another
// cluster, and ignored the state of hosts. In this test a run does not start if the only host
// belongs to another cluster or is in a bad state.
func TestFault_ICN_1_7_10_OthersHostsAreLeftAlone(t *testing.T) {
	for what, change := range map[string]func(*hosts.Host){
		"held by another Provisioning": func(h *hosts.Host) {
			h.Holder = &hosts.Holder{Group: hosts.Group, Kind: hosts.Kind, Namespace: "site", Name: "edge-2"}
		},
		"in error state": func(h *hosts.Host) { h.Unusable = "in error state" },
		"paused":         func(h *hosts.Host) { h.Unusable = "paused" },
	} {
		site := fitting()
		change(&site.all[0])
		w := newFixture(t, site, []runtime.Object{edge(), sshKey()}, nil)
		w.settle(t)
		ready := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady)
		if w.runNamed(t, "edge-1-install-1") != nil || ready.Reason != "HostsNotAvailable" {
			t.Errorf("%s: a run was started, or Ready is %+v", what, ready)
		}
	}
}

// TestSecretsOfTheTask: select-hosts may read exactly two kinds of Secrets: those that its hosts
// can receive, and those that contain the addresses of hosts.
func TestSecretsOfTheTask(t *testing.T) {
	site, _ := fleet()
	bare := hosts.Host{Name: "host-6", Bare: true}
	foreign := hosts.Host{Name: "host-7", Bare: true, Holder: &hosts.Holder{Kind: "Machine", Name: "m"}}
	site.all = append(site.all, bare, foreign)
	site.all[4].NetworkUnread = true
	image := func(user, network string) func(*v1alpha1.Provisioning) {
		return func(p *v1alpha1.Provisioning) {
			p.Spec.OSImage = &v1alpha1.OSImageSpec{URL: "http://site/os.raw", UserData: user, NetworkData: network}
		}
	}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Provisioning)
		want   []string
	}{
		"nothing":            {func(*v1alpha1.Provisioning) {}, nil},
		"one for all":        {image("user-data", ""), []string{"user-data"}},
		"one a host":         {image("user-data", "net-$(host)"), []string{"net-host-6", "user-data"}},
		"one a node":         {image("u-$(node)", ""), []string{"u-master-1", "u-workers-1", "u-workers-2", "u-workers-3", "u-workers-4", "u-workers-5", "u-workers-6"}},
		"addresses by an id": {func(p *v1alpha1.Provisioning) { p.Spec.Access.Interface = "eth0" }, []string{"host-5-network"}},
	} {
		p := edge(withWorkers, tc.change)
		request, err := from.Provisioning(p, settings.Depot{})
		if err != nil {
			t.Fatal(err)
		}
		given, addresses, err := (&Reconciler{hosts: site}).secretsOfTask(t.Context(), p, request)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, sorted(append(given, addresses...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for n := range 6000 {
		site.all = append(site.all, hosts.Host{Name: fmt.Sprintf("server-%d", n), Bare: true})
	}
	for _, template := range []string{"$(host)-$(node)", strings.Repeat("n", 200) + "$(host)"} { // the first gives too many names, the second gives names that are too long for one Role
		p := edge(withWorkers, image(template, ""))
		request, err := from.Provisioning(p, settings.Depot{})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := (&Reconciler{hosts: site}).secretsOfTask(t.Context(), p, request); err == nil || !strings.Contains(err.Error(), "remove $(host) or $(node)") {
			t.Errorf("error %.200v: want one that says what to do", err)
		}
	}
}

// TestRetryWithoutAHost: what a user requests with a retry does not wait for a host that it does not need. A run
// that can claim nothing does not start if another run has something to do.
func TestRetryWithoutAHost(t *testing.T) {
	for title, tc := range map[string]struct {
		gone, free int // the host that is gone, as an index, and the number of free hosts
		standby    int
		plugins    []string
		kubeconfig bool
		want       string
	}{
		"no kubeconfig, a standby is gone": {gone: 3, standby: 1, want: "edge-1-collect-2"},
		"no kubeconfig, a worker is lost":  {gone: 2, want: "edge-1-collect-2"},
		"no kubeconfig, with a free host":  {gone: 2, free: 1, want: "edge-1-collect-2"},
		"plugins, a standby is gone":       {gone: 3, standby: 1, plugins: []string{"multus"}, kubeconfig: true, want: "edge-1-plugins-2"},
		"plugins, a worker is lost":        {gone: 2, plugins: []string{"multus"}, kubeconfig: true, want: "edge-1-plugins-2"},
		"a free host for a standby":        {gone: 3, free: 1, standby: 1, kubeconfig: true, want: "edge-1-add-nodes-2"},
		"a free host for a worker":         {gone: 2, free: 1, kubeconfig: true, want: "edge-1-add-nodes-2"},
		"only a standby is gone":           {gone: 3, standby: 1, kubeconfig: true, want: "edge-1-add-nodes-2"},
		"only a worker is lost":            {gone: 2, kubeconfig: true},
	} {
		t.Run(title, func(t *testing.T) {
			all, nodes := fleet()
			nodes = nodes[:3+tc.standby]
			all.all = slices.Concat(all.all[:3+tc.standby], all.all[4:4+tc.free])
			all.all = slices.Delete(all.all, tc.gone, tc.gone+1)
			list, err := json.Marshal(nodes)
			if err != nil {
				t.Fatal(err)
			}
			spec := func(p *v1alpha1.Provisioning) {
				withWorkers(p)
				p.Spec.NodeSets[0].Count.Standby, p.Spec.KUDPlugins = int32(tc.standby), tc.plugins
			}
			before := edge(spec)
			pr := run(before, 1, ended(corev1.ConditionTrue, "Succeeded"))
			objects := []runtime.Object{edge(spec, func(p *v1alpha1.Provisioning) { p.Annotations = map[string]string{contract.AnnotationRetry: "now"} }), sshKey(),
				pr, requestOf(t, pr, before, settings.Depot{}), written(contract.InstalledName(name), contract.KeyClaimed, string(list))}
			if tc.kubeconfig {
				objects = append(objects, usableKubeconfig(t, before))
			}
			w := newFixture(t, all, objects, nil)
			w.settle(t)
			runs := slices.DeleteFunc(w.runs(t), func(name string) bool { return name == "edge-1-install-1" })
			if got := strings.Join(runs, " "); got != tc.want {
				t.Errorf("run %q, want %q; Ready: %+v", got, tc.want, w.stored(t).Status.GetCondition(v1alpha1.ConditionReady))
			}
		})
	}
}
