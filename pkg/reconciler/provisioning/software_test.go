package provisioning

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/settings"
	"github.com/akraino-icn/bpa/pkg/software"
)

// depot is that of the site.
var depot = settings.Depot{URL: "https://10.60.0.1:5443"}

func tools(changes ...func(*v1alpha1.Software)) *v1alpha1.Software {
	s := &v1alpha1.Software{
		ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "tools", Generation: 1},
		Spec:       v1alpha1.SoftwareSpec{Cluster: name, MasterSoftware: []v1alpha1.SoftwareEntry{{Name: "curl"}}},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

// curl is the list of a depot with this version of curl.
func curl(version string) *protocol.PackageList {
	return &protocol.PackageList{Packages: []protocol.Package{{Name: "curl", Version: version, Format: protocol.FormatDeb, Owner: site, Cluster: protocol.ClusterAll, Path: "/files/curl.deb", SHA256: version}}}
}

// withTools returns an installed cluster with one node, and the Software tools.
func withTools(t *testing.T) *fixture {
	t.Helper()
	all := held()
	all.all[0].UID, all.all[0].Node = "u1", "master-1"
	node := contract.Node{Name: "master-1", Host: "host-1", HostUID: "u1", Address: "10.0.0.1", Roles: []string{contract.RoleControlPlane, contract.RoleWorker}}
	p := edge()
	request, err1 := from.Provisioning(p, depot)
	record, err2 := json.Marshal(contract.Installed{Request: request.Spec, Nodes: []contract.Node{node}})
	list, err3 := json.Marshal([]contract.Node{node})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	pr := run(p, 1, ended(corev1.ConditionTrue, "Succeeded"))
	w := newFixture(t, all, []runtime.Object{p, tools(), sshKey(), pr, requestOf(t, pr, p, depot),
		written(contract.InstalledName(name), contract.KeyClaimed, string(list), contract.KeyInstalled, string(record))}, nil)
	w.settings.Depot, w.packages = depot, curl("8.5")
	return w
}

// software returns the request of the newest run for Softwares.
func (w *fixture) softwareRequest(t *testing.T) contract.Request {
	t.Helper()
	return w.newestRequest(t, true)
}

// finishSoftware ends the newest run for Softwares. With installed, its task has stored the record.
func (w *fixture) finishSoftware(t *testing.T, runName string, installed bool) {
	t.Helper()
	run := w.runNamed(t, runName)
	if run == nil {
		t.Fatalf("no run %s; status.software is %+v", runName, w.stored(t).Status.Software)
	}
	how := corev1.ConditionFalse
	if installed {
		how = corev1.ConditionTrue
		request := w.softwareRequest(t)
		row := contract.SoftwareNode{Node: "master-1", Host: "u1", Checked: now, Tried: now}
		for _, p := range request.Software.Packages {
			row.Packages = append(row.Packages, contract.SoftwarePackage{Name: p.Name, Installed: p.Version, State: contract.SoftwareInstalled, Ours: true, Since: now, Intent: contract.SoftwareIntent(p)})
		}
		text, _ := json.Marshal(contract.SoftwareRecord{Nodes: []contract.SoftwareNode{row}})
		cm, err := w.kube.CoreV1().ConfigMaps(site).Get(t.Context(), contract.SoftwareName(name), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		cm.Data = map[string]string{contract.KeySoftware: string(text)}
		if _, err := w.kube.CoreV1().ConfigMaps(site).Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	run.UID, run.Status.StartTime = types.UID(runName), &metav1.Time{Time: now}
	ended(how, "Failed")(run)
	if _, err := w.tekton.TektonV1().PipelineRuns(site).Update(t.Context(), run, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
}

// TestSoftwareRun: the run has a request and a Pipeline of its own, the request of the installation stays as it
// is, and after the run nothing is written until the depot has a newer version.
func TestSoftwareRun(t *testing.T) {
	w := withTools(t)
	before, err := w.kube.CoreV1().ConfigMaps(site).Get(t.Context(), contract.RunRequestName(name, 1), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.settle(t)
	run := w.runNamed(t, "edge-1-software-2")
	if run == nil {
		t.Fatalf("no run; status.software is %+v", w.stored(t).Status.Software)
	}
	i := slices.IndexFunc(run.Spec.Workspaces, func(b tekton.WorkspaceBinding) bool { return b.Name == contract.WorkspaceRequest })
	if got := run.Spec.Workspaces[i].ConfigMap.Name; got != contract.RunRequestName(name, 2) || run.Labels["tekton.dev/pipeline"] != contract.PipelineSoftware {
		t.Errorf("the run reads %s and has the labels %v", got, run.Labels)
	}
	want := &contract.SoftwareRun{
		Packages: []contract.Software{{Name: "curl", Version: "8.5", ControlPlanes: true, Disruption: contract.DisruptionNone, Files: []contract.SoftwareFile{{Format: "deb", Path: "/files/curl.deb", SHA256: "8.5"}}}},
		Nodes:    []string{"master-1"}, Batch: 1, DrainSeconds: 600,
	}
	request := w.softwareRequest(t)
	if diff := cmp.Diff(want, request.Software); diff != "" || request.Operation != contract.OperationSoftware || len(request.Members) != 1 {
		t.Errorf("operation %s, %d members (-want +got):\n%s", request.Operation, len(request.Members), diff)
	}
	after, err := w.kube.CoreV1().ConfigMaps(site).Get(t.Context(), contract.RunRequestName(name, 1), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Data, after.Data); diff != "" {
		t.Errorf("the request of the installation (-before +after):\n%s", diff)
	}

	w.finishSoftware(t, run.Name, true)
	w.settle(t)
	if w.runNamed(t, "edge-1-software-3") != nil {
		t.Error("another run starts although nothing is left to do")
	}
	w.packages = curl("8.6")
	w.settle(t)
	if got := w.softwareRequest(t).Software.Packages[0].Version; w.runNamed(t, "edge-1-software-3") == nil || got != "8.6" {
		t.Errorf("version %s is installed", got)
	}
}

// TestSoftwareRunFails: the failure is in status.software and not in status.failure. The conditions are those
// of before.
func TestSoftwareRunFails(t *testing.T) {
	w := withTools(t)
	w.settle(t)
	before := w.stored(t).Status
	w.finishSoftware(t, "edge-1-software-2", false)
	w.settle(t)
	after := w.stored(t).Status
	if diff := cmp.Diff(before.Conditions, after.Conditions); diff != "" {
		t.Errorf("conditions (-before +after):\n%s", diff)
	}
	if after.Failure != nil || after.Software == nil || after.Software.Failure == nil || after.Run.Name != "edge-1-install-1" {
		t.Errorf("run %+v, failure %+v, software %+v", after.Run, after.Failure, after.Software)
	}
}

// TestUnknownPackages: while the depot's list is not known, nothing is installed, also no package with a version.
func TestUnknownPackages(t *testing.T) {
	w := withTools(t)
	w.packages = nil
	w.add(t, tools(func(s *v1alpha1.Software) {
		s.Name, s.Spec.MasterSoftware = "pinned", []v1alpha1.SoftwareEntry{{Name: "jq", SoftwareOptions: v1alpha1.SoftwareOptions{Version: "1.7"}}}
	}), true)
	w.settle(t)
	if w.runNamed(t, "edge-1-software-2") != nil {
		t.Fatal("a run starts although the packages of the depot are not known")
	}
	w.packages = curl("8.5")
	w.settle(t)
	if w.runNamed(t, "edge-1-software-2") == nil {
		t.Fatalf("no run; status.software is %+v", w.stored(t).Status.Software)
	}
	for _, p := range w.softwareRequest(t).Software.Packages {
		if p.Problem != "" {
			t.Errorf("package %s has the problem %q", p.Name, p.Problem)
		}
	}
}

// TestNoSecondSoftwareRunOnAnOldRecord: the controller was killed during a run that reboots a node, and does not know the
// depot's packages yet. Its cache shows the end of the run before what the run has recorded. Then no run reboots the node again.
func TestNoSecondSoftwareRunOnAnOldRecord(t *testing.T) {
	w := withTools(t)
	w.settle(t)
	begun := contract.SoftwareNode{Node: "master-1", Host: "u1", Checked: now.Add(-5 * time.Minute), Tried: now.Add(-5 * time.Minute), Reboot: true,
		Packages: []contract.SoftwarePackage{{Name: "curl", State: contract.SoftwareInstalling, Since: now.Add(-5 * time.Minute)}}}
	cm, err := w.kube.CoreV1().ConfigMaps(site).Get(t.Context(), contract.SoftwareName(name), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	old := cm.DeepCopy()
	old.Data = map[string]string{contract.KeySoftware: asJSON(t, contract.SoftwareRecord{Nodes: []contract.SoftwareNode{begun}})}
	w.finishSoftware(t, "edge-1-software-2", true)
	if err := w.caches["configmap"].Update(old); err != nil {
		t.Fatal(err)
	}
	w.restart(t)
	w.packages = nil
	_ = w.visit(t, at) // comes back
	if w.runNamed(t, "edge-1-software-3") != nil {
		t.Errorf("a second run starts: %+v", w.softwareRequest(t).Software)
	}
	w.sync(t)
	w.packages = curl("8.5")
	w.settle(t)
	if w.runNamed(t, "edge-1-software-3") != nil {
		t.Error("a second run starts although the node has its packages")
	}
}

// TestInstallationWithSoftware: the run that installs the cluster gets the packages, and the ConfigMap for
// their record exists.
func TestInstallationWithSoftware(t *testing.T) {
	w := newFixture(t, fitting(), nil, nil)
	w.settings.Depot = depot
	w.add(t, edge(), true)
	w.add(t, sshKey(), true)
	w.add(t, tools(), true)
	w.packages = curl("8.5")
	w.settle(t)
	request := w.request(t)
	if s := request.Software; s == nil || len(s.Packages) != 1 || s.Packages[0].Version != "8.5" || len(s.Nodes) > 0 {
		t.Errorf("software %+v", request.Software)
	}
	if _, err := w.kube.CoreV1().ConfigMaps(site).Get(t.Context(), contract.SoftwareName(name), metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// TestClusterOf: a Software has one Provisioning at most. Two with the label are none.
func TestClusterOf(t *testing.T) {
	p := func(name, label string) *v1alpha1.Provisioning {
		return &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: name, Labels: map[string]string{v1alpha1.LabelCluster: label}}}
	}
	all := []*v1alpha1.Provisioning{p("b", "x"), p("a", "x"), p("x-2", "x-2"), p("c", "a")}
	for cluster, want := range map[string]string{"x": "", "a": "a", "x-2": "x-2", "none": "", "": ""} {
		got := ""
		if found := software.ClusterOf(tools(func(s *v1alpha1.Software) { s.Spec.Cluster = cluster }), all); found != nil {
			got = found.Name
		}
		if got != want {
			t.Errorf("cluster %q is that of Provisioning %q, want %q", cluster, got, want)
		}
	}
	elsewhere := tools(func(s *v1alpha1.Software) { s.Namespace = "other" })
	if software.ClusterOf(elsewhere, []*v1alpha1.Provisioning{p(name, name)}) != nil {
		t.Error("a Software selects a cluster of another namespace")
	}
}

// TestSoftwareWaker: an edit wakes the clusters of a Software before and after it, and its status wakes none.
func TestSoftwareWaker(t *testing.T) {
	all := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	softwares := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := errors.Join(caches.IndexClusters(all), caches.IndexClusters(softwares)); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{name, "edge-2", "edge-3"} {
		_ = all.Add(edge(func(p *v1alpha1.Provisioning) { p.Name = n }))
	}
	_ = softwares.Add(tools())
	moved := tools(func(s *v1alpha1.Software) { s.Generation, s.Spec.Cluster = 2, "edge-2" })
	reported := tools(func(s *v1alpha1.Software) { s.Status.Summary = "1/1" })
	for what, test := range map[string]struct {
		happens func(softwareWaker)
		want    []string
	}{
		"a new one":             {func(w softwareWaker) { w.handler().OnAdd(tools(), false) }, []string{"site/edge-1"}},
		"it moves":              {func(w softwareWaker) { w.handler().OnUpdate(tools(), moved) }, []string{"site/edge-1", "site/edge-2"}},
		"its status":            {func(w softwareWaker) { w.handler().OnUpdate(tools(), reported) }, nil},
		"it is deleted":         {func(w softwareWaker) { w.handler().OnDelete(cache.DeletedFinalStateUnknown{Obj: tools()}) }, []string{"site/edge-1"}},
		"the packages' list":    {func(w softwareWaker) { w.packagesChanged() }, []string{"site/edge-1"}},
		"one without a cluster": {func(w softwareWaker) { w.changed(tools(func(s *v1alpha1.Software) { s.Spec.Cluster = "none" })) }, nil},
	} {
		var got []string
		test.happens(softwareWaker{caches.NewClusters(all, softwares), listers.NewSoftwareLister(softwares), func(k key) { got = append(got, k.String()) }})
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// TestSoftwareRunEndsForAnEdit: a run for Softwares is asked once to end when another change waits, which then starts.
func TestSoftwareRunEndsForAnEdit(t *testing.T) {
	w := withTools(t)
	w.settle(t)
	const run = "edge-1-software-2"
	ends := func() string {
		cm, err := w.kube.CoreV1().ConfigMaps(site).Get(t.Context(), contract.SoftwareName(name), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return cm.Data[contract.KeyEnds]
	}
	if w.runNamed(t, run) == nil || ends() != "" {
		t.Fatalf("no run, or %q is to end", ends())
	}
	w.change(t, func(p *v1alpha1.Provisioning) {
		p.Spec.Kubespray.Vars = map[string]apiextensionsv1.JSON{"kubelet_max_pods": {Raw: []byte("99")}}
	})
	w.settle(t)
	if ends() != run {
		t.Fatalf("%q is to end; conditions: %+v", ends(), w.stored(t).Status.Conditions)
	}
	w.tekton.ClearActions()
	w.kube.ClearActions()
	w.settle(t)
	if calls := w.writes(); len(calls) > 0 {
		t.Errorf("it is asked again: %v", calls)
	}
	w.finishSoftware(t, run, true)
	w.settle(t)
	if w.runNamed(t, "edge-1-upgrade-control-plane-3") == nil {
		t.Errorf("the edit waits: %+v", w.stored(t).Status.Conditions)
	}
}
