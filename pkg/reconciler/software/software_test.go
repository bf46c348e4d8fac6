package software

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"knative.dev/pkg/logging"
	logtesting "knative.dev/pkg/logging/testing"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	fakebpa "github.com/akraino-icn/bpa/pkg/client/clientset/versioned/fake"
	softwarereconciler "github.com/akraino-icn/bpa/pkg/client/injection/reconciler/bpa/v1alpha1/software"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/settings"
)

const (
	site = "site"
	url  = "https://10.60.0.1:5443"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// world is what the reconciler sees.
type world struct {
	software, other *v1alpha1.Software
	cluster         *v1alpha1.Provisioning
	more            *v1alpha1.Provisioning // another one
	record          contract.SoftwareRecord
	nodes           []contract.Node
	list            *protocol.PackageList
	problem         string

	bpa      *fakebpa.Clientset
	recorder *record.FakeRecorder
}

// curlOnWorkers is a world in which everything is installed.
func curlOnWorkers() *world {
	w := &world{
		software: &v1alpha1.Software{
			ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "tools", Generation: 2, UID: "uid-s"},
			Spec:       v1alpha1.SoftwareSpec{Cluster: "edge", WorkerSoftware: []v1alpha1.SoftwareEntry{{Name: "curl"}}},
		},
		cluster: &v1alpha1.Provisioning{
			ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "edge-1", UID: "uid-p", Labels: map[string]string{v1alpha1.LabelCluster: "edge"}},
			Spec:       v1alpha1.ProvisioningSpec{Masters: []map[string]v1alpha1.Master{{"m-1": {}}}, Workers: []map[string]v1alpha1.Worker{{"w-1": {}}, {"w-2": {}}}},
			Status:     v1alpha1.ProvisioningStatus{InstalledDigest: "one"},
		},
		list:     &protocol.PackageList{Packages: []protocol.Package{{Name: "curl", Version: "8.5", Format: protocol.FormatDeb, Owner: site, Cluster: "all", Path: "/files/curl.deb", SHA256: "aa"}}},
		recorder: record.NewFakeRecorder(99),
	}
	w.nodes = []contract.Node{
		{Name: "m-1", HostUID: "u1", Roles: []string{contract.RoleControlPlane}},
		{Name: "w-1", HostUID: "u2", Roles: []string{contract.RoleWorker}},
		{Name: "w-2", HostUID: "u3", Roles: []string{contract.RoleWorker}},
	}
	for _, n := range w.nodes {
		w.cluster.Status.Nodes = append(w.cluster.Status.Nodes, v1alpha1.NodeStatus{Name: n.Name, State: v1alpha1.NodeReady})
	}
	w.row("w-1", contract.SoftwareInstalled, "")
	w.row("w-2", contract.SoftwareInstalled, "")
	return w
}

// row sets the record of curl on a node.
func (w *world) row(node string, state contract.SoftwareState, message string) {
	p := contract.SoftwarePackage{Name: "curl", Wanted: "8.5", State: state, Message: message, Ours: true, Since: noon, Intent: contract.SoftwareIntent(contract.Software{
		Version: "8.5", Files: []contract.SoftwareFile{{SHA256: "aa"}},
	})}
	if state != contract.SoftwareFailed {
		p.Installed = "8.5"
	}
	for i, n := range w.record.Nodes {
		if n.Node == node {
			w.record.Nodes[i].Packages = []contract.SoftwarePackage{p}
			return
		}
	}
	for _, n := range w.nodes {
		if n.Name == node {
			w.record.Nodes = append(w.record.Nodes, contract.SoftwareNode{Node: node, Host: n.HostUID, Checked: noon, Packages: []contract.SoftwarePackage{p}})
		}
	}
}

func indexer(t *testing.T, objects ...any) cache.Indexer {
	t.Helper()
	all := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := caches.IndexClusters(all); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if err := all.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func configMap(t *testing.T, name, key string, content any) *corev1.ConfigMap {
	t.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	controls := true
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: name, OwnerReferences: []metav1.OwnerReference{{UID: "uid-p", Controller: &controls}}},
		Data:       map[string]string{key: string(text)},
	}
}

// visit reconciles the Software with the generated reconciler, and returns the object as it is stored then and
// the number of writes.
func (w *world) visit(t *testing.T) (*v1alpha1.Software, int) {
	t.Helper()
	w.bpa = fakebpa.NewSimpleClientset(w.software.DeepCopy())
	softwares, provisionings, configMaps := indexer(t, w.software.DeepCopy()), indexer(t), indexer(t, configMap(t, contract.SoftwareName("edge-1"), contract.KeySoftware, w.record))
	if w.other != nil {
		_ = softwares.Add(w.other)
	}
	if w.cluster != nil {
		_ = provisionings.Add(w.cluster)
	}
	if w.more != nil {
		_ = provisionings.Add(w.more)
	}
	if len(w.nodes) > 0 {
		_ = configMaps.Add(configMap(t, contract.InstalledName("edge-1"), contract.KeyInstalled, contract.Installed{Nodes: w.nodes}))
	}
	r := &Reconciler{
		clusters: caches.NewClusters(provisionings, softwares), configMaps: corelisters.NewConfigMapLister(configMaps),
		settings: func() caches.Settings {
			s := caches.Settings{Settings: settings.Default()}
			s.Depot.URL = url
			return s
		},
		packages: func() (*protocol.PackageList, string) { return w.list, w.problem },
	}
	ctx := logging.WithLogger(context.Background(), logtesting.TestLogger(t))
	impl := softwarereconciler.NewReconciler(ctx, logtesting.TestLogger(t), w.bpa, listers.NewSoftwareLister(softwares), w.recorder, r)
	if err := impl.(reconciler.LeaderAware).Promote(reconciler.UniversalBucket(), func(reconciler.Bucket, types.NamespacedName) {}); err != nil {
		t.Fatal(err)
	}
	if err := impl.Reconcile(ctx, site+"/tools"); err != nil {
		t.Fatal(err)
	}
	writes := 0
	for _, a := range w.bpa.Actions() {
		if a.GetVerb() != "get" {
			writes++
		}
	}
	stored, err := w.bpa.BpaV1alpha1().Softwares(site).Get(ctx, "tools", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return stored, writes
}

func (w *world) events() (all []string) {
	for {
		select {
		case e := <-w.recorder.Events:
			all = append(all, e)
		default:
			return all
		}
	}
}

// TestStatus: the conditions say what there is to do, the next visit writes nothing, and tools that use
// kstatus can wait for a Software.
func TestStatus(t *testing.T) {
	later := metav1.NewTime(noon.Add(time.Minute))
	for name, test := range map[string]struct {
		change             func(*world)
		accepted, reason   string
		installed, because string // status and reason
		says               string
		computed           status.Status
		event              string
		summary            string
	}{
		"installed":        {func(*world) {}, "True", "Accepted", "True", "Installed", "2/2 packages", status.CurrentStatus, "Normal Installed", "2/2"},
		"no such cluster":  {func(w *world) { w.cluster = nil }, "False", "ClusterNotFound", "Unknown", "Waiting", "does not exist", status.FailedStatus, "Warning ClusterNotFound", ""},
		"names no cluster": {func(w *world) { w.software.Spec.Cluster = "" }, "False", "ClusterNotFound", "Unknown", "Waiting", "", status.FailedStatus, "Warning ClusterNotFound", ""},
		"ambiguous": {func(w *world) {
			w.more = w.cluster.DeepCopy()
			w.more.Name = "edge-2"
		}, "False", "Ambiguous", "Unknown", "Waiting", "Provisionings edge-1 and edge-2", status.FailedStatus, "Warning Ambiguous", ""},
		"its label is on another cluster": {func(w *world) {
			w.software.Status.Cluster, w.more = "edge-2", w.cluster.DeepCopy()
			w.more.Name, w.more.Labels = "edge-2", nil
		}, "False", "ClusterChanged", "Unknown", "Waiting", "write spec.cluster: edge-1 to confirm", status.FailedStatus, "Warning ClusterChanged", ""},
		"label of ICN":       {func(w *world) { w.software.Spec.Cluster, w.software.Labels = "", map[string]string{"cluster": "edge"} }, "True", "Accepted", "True", "Installed", "2/2", status.CurrentStatus, "Normal Installed", "2/2"},
		"not a worker's own": {func(w *world) { w.software.Spec.WorkerSoftware = nil }, "True", "Accepted", "True", "Installed", "no node", status.CurrentStatus, "Normal Installed", "0/0"},
		"conflict": {func(w *world) {
			w.software.Spec.WorkerSoftware[0].Version = "8.5"
			w.other = w.software.DeepCopy()
			w.other.Name, w.other.Spec.WorkerSoftware[0].Version = "others", "8.6"
		}, "False", "Conflict", "True", "Installed", "", status.FailedStatus, "Warning Conflict", "2/2"},
		"failed": {func(w *world) { w.row("w-2", contract.SoftwareFailed, "E: no such package") }, "True", "Accepted", "False", "Failed",
			"curl on w-2 is Failed: E: no such package. What to do: correct the cause, then `kubectl bpa software edge-1 -n site --retry`", status.FailedStatus, "Warning Failed", "1/2"},
		"drifted": {func(w *world) { w.row("w-1", contract.SoftwareDrifted, "somebody removed it") }, "True", "Accepted", "False", "Drifted", "--retry", status.FailedStatus, "Warning Drifted", "1/2"},
		"outdated": {func(w *world) {
			no := false
			w.software.Spec.AutoUpdate = &no
			w.list.Packages[0].Version = "8.6"
		}, "True", "Accepted", "True", "Outdated", "--update", status.CurrentStatus, "Normal Outdated", "2/2"},
		"a newer version waits for a run": {func(w *world) {
			w.list.Packages[0].Version, w.list.Packages[0].SHA256 = "8.6", "bb"
			w.cluster.Status.Software = &v1alpha1.SoftwareRunStatus{Next: "update curl on 2 nodes", Waiting: "spec.paused is set: no new work is started"}
		}, "True", "Accepted", "Unknown", "Waiting", "spec.paused", status.InProgressStatus, "", "0/2"},
		"a run is active": {func(w *world) {
			w.row("w-2", contract.SoftwareInstalling, "")
			w.cluster.Status.Run = &v1alpha1.RunStatus{Name: "edge-1-software-3", Operation: contract.OperationSoftware}
		}, "True", "Accepted", "Unknown", "Installing", "edge-1-software-3 is running: 1/2", status.InProgressStatus, "", "1/2"},
		"a run is repeated": {func(w *world) {
			w.row("w-2", contract.SoftwarePending, "")
			w.cluster.Status.Software = &v1alpha1.SoftwareRunStatus{Run: "r-3", Failure: &v1alpha1.FailureStatus{Reason: "APIUnavailable", Message: "no answer", NextAttempt: &later}}
		}, "True", "Accepted", "Unknown", "Waiting", "run r-3 failed: no answer. The next run starts automatically", status.InProgressStatus, "", "1/2"},
		"a run failed for good": {func(w *world) {
			w.row("w-2", contract.SoftwarePending, "")
			w.cluster.Status.Software = &v1alpha1.SoftwareRunStatus{Run: "r-3", Failure: &v1alpha1.FailureStatus{Reason: "SSHDenied", Host: "w-2", Message: "denied", Hint: "store a key"}}
		}, "True", "Accepted", "False", "RunFailed", "w-2: denied. What to do: store a key", status.FailedStatus, "Warning RunFailed", "1/2"},
		"a node is down": {func(w *world) {
			w.row("w-2", contract.SoftwarePending, "")
			w.cluster.Status.Nodes[2].State = v1alpha1.NodeNotReady
		}, "True", "Accepted", "Unknown", "Waiting", "node w-2 is NotReady", status.InProgressStatus, "", "1/2"},
		"a lost node does not count": {func(w *world) {
			w.row("w-2", contract.SoftwarePending, "")
			w.cluster.Status.Nodes[2].State = v1alpha1.NodeLost
		}, "True", "Accepted", "True", "Installed", "1/1", status.CurrentStatus, "Normal Installed", "1/1"},
		"the depot does not answer": {func(w *world) { w.list, w.problem = nil, "the list of the depot's packages cannot be read: refused" }, "True", "Accepted", "Unknown", "DepotUnreachable",
			"refused", status.InProgressStatus, "", "2/2"},
		"a pinned version needs no list": {func(w *world) {
			w.software.Spec.WorkerSoftware[0].Version = "8.5"
			w.list, w.problem = nil, "refused"
		}, "True", "Accepted", "True", "Installed", "2/2", status.CurrentStatus, "Normal Installed", "2/2"},
		"the cluster is not installed": {func(w *world) {
			w.cluster.Status.InstalledDigest, w.nodes, w.record = "", nil, contract.SoftwareRecord{}
		}, "True", "Accepted", "Unknown", "Waiting", "not installed yet", status.InProgressStatus, "", "0/0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := curlOnWorkers()
			test.change(w)
			got, _ := w.visit(t)
			for _, c := range []struct{ kind, status, reason string }{{"Accepted", test.accepted, test.reason}, {"Installed", test.installed, test.because}} {
				for _, is := range got.Status.Conditions {
					if string(is.Type) == c.kind && (string(is.Status) != c.status || is.Reason != c.reason || c.kind == "Installed" && !strings.Contains(is.Message, test.says)) {
						t.Errorf("%s is %s %s: %s; want %s %s ...%s", c.kind, is.Status, is.Reason, is.Message, c.status, c.reason, test.says)
					}
				}
			}
			if len(got.Status.Conditions) < 3 || got.Status.ObservedGeneration != 2 || got.Status.Summary != test.summary {
				t.Errorf("status %+v, want summary %s", got.Status, test.summary)
			}
			if computed := compute(t, got); computed != test.computed {
				t.Errorf("kstatus is %s, want %s", computed, test.computed)
			}
			if events := strings.Join(w.events(), "\n"); !strings.HasPrefix(events, test.event) || test.event == "" && events != "" {
				t.Errorf("events %q, want %q", events, test.event)
			}
			w.software = got
			if again, writes := w.visit(t); writes > 0 {
				t.Errorf("the second visit writes %+v after %+v", again.Status, got.Status)
			}
			if events := w.events(); len(events) > 0 {
				t.Errorf("the second visit records %q", events)
			}
		})
	}
}

func compute(t *testing.T, s *v1alpha1.Software) status.Status {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}
