package provisioning

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// edited returns a Provisioning whose spec a user has edited once.
func edited(p *v1alpha1.Provisioning) {
	p.Generation = 2
	p.Spec.PodSubnet = "10.9.0.0/16"
}

// writes returns the calls to the API server so far, except reads.
func (w *fixture) writes() (calls []string) {
	for _, call := range w.calls() {
		if !strings.HasPrefix(call, "get ") && !strings.HasPrefix(call, "list ") {
			calls = append(calls, call)
		}
	}
	return calls
}

// TestEditStopsARunThatTouchedNoHost: the controller cancels the run and records this on the run.
// It does not cancel the run if the API server reports that a playbook was started meanwhile.
func TestEditStopsARunThatTouchedNoHost(t *testing.T) {
	cached := run(edge(), 1)
	w := newFixture(t, held(), []runtime.Object{edge(edited), sshKey(), cached, requestOf(t, cached, edge(), settings.Depot{})}, nil)
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	want := `patch pipelineruns edge-1-install-1 {"metadata":{"annotations":{"bpa.akraino.org/superseded":"true"}},"spec":{"status":"Cancelled"}}`
	if calls := w.writes(); len(calls) == 0 || calls[0] != want {
		t.Errorf("calls %q, want %s", calls, want)
	}

	cached, live := run(edge(), 1), run(edge(), 1)
	w = newFixture(t, held(), []runtime.Object{edge(edited), sshKey(), requestOf(t, cached, edge(), settings.Depot{})}, nil)
	w.add(t, child(live, contract.TaskKubespray, corev1.ConditionUnknown, nil), false)
	w.add(t, live, false)
	if err := w.caches["run"].Add(cached); err != nil {
		t.Fatal(err)
	}
	checkError(t, w.visit(t, at), "again")
	for _, call := range w.writes() {
		if strings.HasPrefix(call, "patch pipelineruns") {
			t.Errorf("%s, although its playbook was started", call)
		}
	}
}

// TestNotEveryEditStopsARun: a run that touched no host continues in three cases: the edit does not
// require another run, no field was edited, or the next run could not start.
func TestNotEveryEditStopsARun(t *testing.T) {
	workers := func(standby int32) func(*v1alpha1.Provisioning) {
		return func(p *v1alpha1.Provisioning) {
			p.Spec.NodeSets = []v1alpha1.NodeSet{{Name: "w", Count: v1alpha1.NodeCount{Active: 1, Standby: standby}}}
		}
	}
	good := caches.Settings{Settings: settings.Default()}
	moved, wrong := good, good
	moved.Depot.URL, wrong.Invalid = "https://other", "depot-connected: maybe"
	for _, row := range []struct {
		name     string
		edit     func(*v1alpha1.Provisioning)
		settings caches.Settings
		stops    bool
	}{
		{"another network", edited, good, true},
		{"another number of active workers", func(p *v1alpha1.Provisioning) { workers(1)(p); p.Spec.NodeSets[0].Count.Active = 2 }, good, true},
		{"another Secret with the key", func(p *v1alpha1.Provisioning) { p.Spec.SSH.SecretName = "other" }, good, true},
		{"a longer time-out", func(p *v1alpha1.Provisioning) { p.Spec.Timeouts.Install.Duration *= 2 }, good, false},
		{"another number of standbys", workers(2), good, false},
		{"the site's settings are wrong", edited, wrong, false},
		{"the depot is refused", func(p *v1alpha1.Provisioning) { p.Spec.Depot.URL = "http://plain" }, good, false},
		{"only the site's depot moved, and a user paused and resumed", func(*v1alpha1.Provisioning) {}, moved, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := edge(workers(1))
			after := edge(workers(1), row.edit)
			after.Generation = 3
			pr := run(before, 1)
			w := newFixture(t, held(), []runtime.Object{after, sshKey(), pr, requestOf(t, pr, before, settings.Depot{})}, nil)
			w.settings = row.settings
			if err := w.visit(t, at); err != nil {
				t.Fatal(err)
			}
			stops := slices.ContainsFunc(w.writes(), func(call string) bool { return strings.HasPrefix(call, "patch pipelineruns") })
			if stops != row.stops {
				t.Errorf("the run is stopped: %t, want %t: %q", stops, row.stops, w.writes())
			}
		})
	}
}

// TestEditedImageTakesHostsBack: hosts that received the old image from the stopped run are
// released, so that the next run can install the new image on them. Hosts without the old image
// stay claimed. If a playbook was started, all hosts stay claimed.
func TestEditedImageTakesHostsBack(t *testing.T) {
	const image = "o/c/other.raw"
	for name, test := range map[string]struct {
		edit    func(*v1alpha1.Provisioning)
		touched bool
		want    []string
	}{
		"another image":                       {func(p *v1alpha1.Provisioning) { p.Spec.OSImage.Upload = image }, false, []string{"host-1"}},
		"no image":                            {func(p *v1alpha1.Provisioning) { p.Spec.OSImage = nil }, false, []string{"host-1"}},
		"the same image":                      {func(*v1alpha1.Provisioning) {}, false, nil},
		"another image, a playbook has begun": {func(p *v1alpha1.Provisioning) { p.Spec.OSImage.Upload = image }, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			insecure := func(p *v1alpha1.Provisioning) { p.Spec.Depot.Insecure = true }
			before, after := edge(wantsUpload, insecure), edge(wantsUpload, insecure, test.edit)
			after.Generation = 2
			pr := run(before, 1, ended(corev1.ConditionFalse, "Cancelled"))
			pr.Annotations[runs.AnnotationSuperseded] = "true"
			world := []runtime.Object{after, pr, requestOf(t, pr, before, settings.Depot{}), child(pr, contract.TaskSelectHosts, corev1.ConditionTrue, nil)}
			if test.touched {
				world = append(world, child(pr, contract.TaskKubespray, corev1.ConditionFalse, nil))
			}
			site := held()
			site.all = append(site.all, site.all[0])
			site.all[0].Node, site.all[0].Imaged = "master-1", true
			site.all[1].Name = "host-2"
			w := newFixture(t, site, world, nil)
			_ = w.visit(t, at) // comes back
			if diff := cmp.Diff(test.want, site.released); diff != "" {
				t.Errorf("released (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRevertRecovers: if an edit comes too late, the condition names the changed fields and a
// command that reverts the edit. The command works.
func TestRevertRecovers(t *testing.T) {
	w := newFixture(t, fitting(), []runtime.Object{edge(), sshKey()}, nil)
	w.settle(t)
	started, err := w.tekton.TektonV1().PipelineRuns(site).Get(t.Context(), "edge-1-install-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	succeed(t, w, started)
	if !w.stored(t).Status.IsReady() {
		t.Fatalf("not Ready after the installation: %+v", w.stored(t).Status)
	}

	p := w.stored(t)
	edited(p)
	p.Spec.SSH.User = "admin" // this field does not define another cluster
	if _, err := w.bpa.BpaV1alpha1().Provisionings(site).Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	w.settle(t)
	condition := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady)
	for _, want := range []string{
		"(spec.PodSubnet: 10.233.64.0/18 -> 10.9.0.0/16)", "kubectl patch bpa -n site edge-1 --type=json",
		`kubectl get configmap -n site edge-1-run-1 -o jsonpath='{.data.revert\.json}'`, "delete the Provisioning",
	} {
		if condition.Reason != "SpecChanged" || !strings.Contains(condition.Message, want) {
			t.Errorf("Ready %s: %s\nwant SpecChanged with %s", condition.Reason, condition.Message, want)
		}
	}

	request, err := w.kube.CoreV1().ConfigMaps(site).Get(t.Context(), "edge-1-run-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.bpa.BpaV1alpha1().Provisionings(site).Patch(t.Context(), name, types.JSONPatchType, []byte(request.Data["revert.json"]), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	w.settle(t)
	if p := w.stored(t); !p.Status.IsReady() || p.Spec.PodSubnet != "10.233.64.0/18" {
		t.Errorf("after the command: spec %+v, status %+v; want it Ready with the spec of before", p.Spec, p.Status)
	}
}

// older reads an object from testdata that the build of commit 6c7cc09 wrote.
func older[T any](t *testing.T, file string, into *T) *T {
	t.Helper()
	text, err := os.ReadFile("testdata/build-6c7cc09/" + file)
	if err == nil {
		err = yaml.UnmarshalStrict(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
	return into
}

// TestRunOfAnOlderBuildIsAdopted: a controller that is upgraded while a run is active continues
// with that run. It starts no second run, cancels nothing, and accepts the resulting cluster, of which the task has
// written the record, as the cluster that the spec requests. It does not read the request of the run.
func TestRunOfAnOlderBuildIsAdopted(t *testing.T) {
	objects := func() (*tekton.PipelineRun, []runtime.Object) {
		pr := older(t, "pipelinerun.yaml", &tekton.PipelineRun{})
		pr.Status.StartTime = &metav1.Time{Time: now}
		return pr, []runtime.Object{sshKey(), pr, older(t, "request.yaml", &corev1.ConfigMap{})}
	}
	checkOne := func(t *testing.T, w *fixture, when string) {
		t.Helper()
		for _, call := range w.writes() {
			if !strings.HasPrefix(call, "update provisionings/status") && call != setFinalizer {
				t.Errorf("%s: %s", when, call)
			}
		}
		if runs := w.runs(t); len(runs) != 1 {
			t.Errorf("%s: runs %q", when, runs)
		}
	}
	for when, p := range map[string]*v1alpha1.Provisioning{"while it works": edge(), "while it works, and the spec was edited": edge(edited)} {
		_, world := objects()
		w := newFixture(t, held(), append(world, p), nil)
		if err := w.visit(t, at); err != nil {
			t.Fatal(err)
		}
		checkOne(t, w, when)
		if ready := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady); ready.Reason == "SpecChanged" {
			t.Errorf("%s: %s", when, ready.Message)
		}
	}

	pr, world := objects()
	ended(corev1.ConditionTrue, "Succeeded")(pr)
	w := newFixture(t, holding("master-1"), append(world, edge(), recordOf(t, edge())), nil)
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	checkOne(t, w, "after it succeeded")
	if installed := w.stored(t).Status.GetCondition(v1alpha1.ConditionClusterInstalled); !installed.IsTrue() {
		t.Errorf("after it succeeded: ClusterInstalled %s %s: %s", installed.Status, installed.Reason, installed.Message)
	}

	pr, world = objects()
	tr := child(pr, contract.TaskKubespray, corev1.ConditionFalse, map[string]string{contract.ResultFailure: `{"reason":"PlaybookFailed"}`})
	ended(corev1.ConditionFalse, "Failed")(pr)
	w = newFixture(t, held(), append(world, edge(), tr), nil)
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	checkOne(t, w, "after it failed permanently")
}

// TestOtherDigestOfTheSameSpec: a build whose digests differ from those of the build that installed
// the cluster still recognizes the cluster as unchanged.
func TestOtherDigestOfTheSameSpec(t *testing.T) {
	p := edge()
	p.Status.InstalledDigest = "sha256:computed-otherwise"
	pr := run(p, 1, ended(corev1.ConditionTrue, "Succeeded"))
	pr.Annotations[contract.AnnotationRequestDigest] = p.Status.InstalledDigest
	for _, row := range []struct {
		hosts *fakeHosts
		world []runtime.Object
	}{
		{held(), []runtime.Object{p, requestOf(t, pr, p, settings.Depot{}), pr}},
		{holding("master-1"), []runtime.Object{p, recordOf(t, p)}}, // the run was deleted
	} {
		w := newFixture(t, row.hosts, row.world, nil)
		if err := w.visit(t, at); err != nil {
			t.Fatal(err)
		}
		if installed := w.stored(t).Status.GetCondition(v1alpha1.ConditionClusterInstalled); !installed.IsTrue() {
			t.Errorf("ClusterInstalled %s %s: %s", installed.Status, installed.Reason, installed.Message)
		}
	}
}

// TestMoveNeedsItsHost: a node that is pinned to another host is removed only if it can be installed
// there. It stays if the MAC address is that of a new network card in its own host.
func TestMoveNeedsItsHost(t *testing.T) {
	for name, test := range map[string]struct {
		pin, exchanged string // exchanged is the present MAC address of host-2, on which worker-1 is; empty: as it was
		forgotten      bool   // the record of the cluster is missing
		starts, waits  bool
	}{
		"a free host":              {pin: "02:00:00:00:00:05", starts: true},
		"a free host, no record":   {pin: "02:00:00:00:00:05", forgotten: true},
		"a typing error":           {pin: "02:00:00:00:00:55", waits: true},
		"the host of another node": {pin: "02:00:00:00:00:01", waits: true},
		"an exchanged card":        {pin: "02:00:00:00:00:55", exchanged: "02:00:00:00:00:55"},
	} {
		t.Run(name, func(t *testing.T) {
			pinned := func(mac v1alpha1.MAC) func(*v1alpha1.Provisioning) {
				return func(p *v1alpha1.Provisioning) {
					p.Spec.Workers = []map[string]v1alpha1.Worker{{"worker-1": {MACAddress: &mac}}, {"worker-2": {}}}
				}
			}
			hosts, nodes := fleet()
			for i, node := range []string{"master-1", "worker-1", "worker-2"} {
				nodes[i].Name, nodes[i].Set, nodes[i].MACs = node, "", hosts.all[i].MACs
				hosts.all[i].Node, hosts.all[i].Set = node, ""
			}
			hosts.all[3].Holder, hosts.all[3].Node, hosts.all[3].Set, hosts.all[3].Standby = nil, "", "", false
			if test.exchanged != "" {
				hosts.all[1].MACs, hosts.all[1].NICs[0].MAC = []string{test.exchanged}, test.exchanged
			}
			list, err := json.Marshal(nodes[:3])
			if err != nil {
				t.Fatal(err)
			}
			before, after := edge(pinned("02:00:00:00:00:02")), edge(pinned(v1alpha1.MAC(test.pin)))
			after.Generation = 2
			pr := run(before, 1, ended(corev1.ConditionTrue, "Succeeded"))
			record := written(contract.InstalledName(after.Name), contract.KeyClaimed, string(list))
			if request, err := from.Provisioning(before, settings.Depot{}); err == nil && !test.forgotten {
				record.Data[contract.KeyInstalled] = asJSON(t, contract.Installed{Request: request.Spec, Nodes: nodes[:3]})
			}
			w := newFixture(t, hosts, []runtime.Object{after, sshKey(), pr, requestOf(t, pr, before, settings.Depot{}), record}, nil)
			w.settle(t)
			if starts := w.runNamed(t, "edge-1-remove-nodes-2") != nil; starts != test.starts {
				t.Errorf("the node is removed: %t, want %t", starts, test.starts)
			}
			ready := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady)
			if waits := ready.Reason == "HostsNotAvailable" && strings.Contains(ready.Message, "correct the mac-address"); waits != test.waits {
				t.Errorf("Ready %s: %s", ready.Reason, ready.Message)
			}
		})
	}
}
