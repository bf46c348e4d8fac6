package provisioning

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	faketekton "github.com/tektoncd/pipeline/pkg/client/clientset/versioned/fake"
	tektonlisters "github.com/tektoncd/pipeline/pkg/client/listers/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	rbaclisters "k8s.io/client-go/listers/rbac/v1"
	clientgotesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	clock "k8s.io/utils/clock/testing"
	"knative.dev/pkg/apis"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/logging"
	logtesting "knative.dev/pkg/logging/testing"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	fakebpa "github.com/akraino-icn/bpa/pkg/client/clientset/versioned/fake"
	provisioningreconciler "github.com/akraino-icn/bpa/pkg/client/injection/reconciler/bpa/v1alpha1/provisioning"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
	"github.com/akraino-icn/bpa/pkg/settings"
)

const (
	site = "site"
	name = "edge-1"
	at   = site + "/" + name
	fin  = "bpa.akraino.org/provisioning"
)

var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// edge returns a Provisioning that already has its finalizer. The given functions change it.
func edge(changes ...func(*v1alpha1.Provisioning)) *v1alpha1.Provisioning {
	p := &v1alpha1.Provisioning{
		ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: name, UID: "uid-1", Generation: 1, Finalizers: []string{fin}},
		Spec:       v1alpha1.ProvisioningSpec{Masters: []map[string]v1alpha1.Master{{"master-1": {HostRequirements: v1alpha1.HostRequirements{CPU: 8}}}}},
	}
	p.SetDefaults(context.Background())
	for _, change := range changes {
		change(p)
	}
	return p
}

func deleting(p *v1alpha1.Provisioning) { p.DeletionTimestamp = &metav1.Time{Time: now} }

// run returns a run of p as the controller creates it.
func run(p *v1alpha1.Provisioning, n int32, changes ...func(*tekton.PipelineRun)) *tekton.PipelineRun {
	request, err := from.Provisioning(p, settings.Depot{})
	if err != nil {
		panic(err)
	}
	digest, _ := from.Digest(request)
	inputs, _ := from.Inputs(p, request)
	pr := convert.ToTekton(resources.MakePipelineRun(p, resources.Run{Number: n, Attempt: n, Digest: digest, Inputs: inputs, CSR: "csr", Enroll: true}))
	pr.UID = "uid-run"
	pr.Status.StartTime = &metav1.Time{Time: now.Add(-time.Minute)}
	for _, change := range changes {
		change(pr)
	}
	return pr
}

func ended(status corev1.ConditionStatus, reason string) func(*tekton.PipelineRun) {
	return func(pr *tekton.PipelineRun) {
		pr.Status.CompletionTime = &metav1.Time{Time: now}
		pr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionStatus(status), Reason: reason})
	}
}

// child returns a TaskRun of a run, and adds a reference to it to the run.
func child(pr *tekton.PipelineRun, task string, status corev1.ConditionStatus, results map[string]string) *tekton.TaskRun {
	tr := &tekton.TaskRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: pr.Namespace, Name: pr.Name + "-" + task,
		Labels: map[string]string{contract.LabelCluster: name, "tekton.dev/pipelineTask": task},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: pr.Name, UID: pr.UID, Controller: new(true),
		}},
	}}
	tr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: status, Reason: "Failed"})
	for key, value := range results {
		tr.Status.Results = append(tr.Status.Results, tekton.TaskRunResult{Name: key, Value: *tekton.NewStructuredValues(value)})
	}
	pr.Status.ChildReferences = append(pr.Status.ChildReferences, tekton.ChildStatusReference{Name: tr.Name, PipelineTaskName: task})
	return tr
}

func sshKey() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: v1alpha1.DefaultSSHSecret},
		Data:       map[string][]byte{corev1.SSHAuthPrivateKey: firstKey},
	}
}

// fakeHosts implements Hosts in memory.
type fakeHosts struct {
	all      []hosts.Host
	live     *fakeHosts // the answers of the API server itself; nil: equal to the cache
	asked    []string   // the hosts that were read from the API server itself
	givenUp  []string   // the names in calls of ReleaseGivenUp
	released []string
	marked   []string // "host=namespace/name uid" for each change of a mark
	imaged   []string // "host=node" and the checksum of the image
	leaving  string   // the name of a host whose image Metal3 cannot remove; empty: there is none
	// poweredOn are the names of the hosts that were switched on, fenced those that were switched off.
	tenancy           hosts.Tenancy
	poweredOn, fenced []string
	err               error
}

func fitting() *fakeHosts {
	ip := hosts.NIC{Name: "eth0", MAC: "00:c6:14:04:61:b2", Boot: true}
	ip.IPs = append(ip.IPs, netip.MustParseAddr("10.0.0.1"))
	return &fakeHosts{all: []hosts.Host{{Name: "host-1", CPU: 8, Memory: 1 << 34, NICs: []hosts.NIC{ip}}}}
}

func held() *fakeHosts {
	f := fitting()
	f.all[0].Holder = &hosts.Holder{Group: hosts.Group, Kind: hosts.Kind, Namespace: site, Name: name, UID: "uid-1"}
	return f
}

func (f *fakeHosts) All(context.Context, string) ([]hosts.Host, error) {
	return slices.Clone(f.all), f.err
}

func (f *fakeHosts) Tenancy(context.Context, hosts.Owner) (hosts.Tenancy, error) {
	return f.tenancy, nil
}

func (f *fakeHosts) Held(_ context.Context, owner hosts.Owner) ([]hosts.Host, error) {
	return slices.DeleteFunc(slices.Clone(f.all), func(h hosts.Host) bool { return !owner.Holds(h) }), nil
}

func (f *fakeHosts) Named(_ context.Context, _ string, names []string) ([]hosts.Host, error) {
	return slices.DeleteFunc(slices.Clone(f.all), func(h hosts.Host) bool { return !slices.Contains(names, h.Name) }), nil
}

func (f *fakeHosts) NamedLive(ctx context.Context, namespace string, names []string) ([]hosts.Host, error) {
	f.asked = append(f.asked, names...)
	if f.live == nil {
		return f.Named(ctx, namespace, names)
	}
	return f.live.Named(ctx, namespace, names)
}

func (f *fakeHosts) NetworkDataSecrets(_ context.Context, _ string, names []string) ([]string, error) {
	var secrets []string
	for _, name := range names {
		secrets = append(secrets, name+"-network")
	}
	return secrets, nil
}

func (f *fakeHosts) Release(ctx context.Context, owner hosts.Owner) ([]string, []hosts.Leaving, error) {
	held, _ := f.Held(ctx, owner)
	return f.GiveBack(ctx, owner, hostNames(held))
}

func (f *fakeHosts) Retain(ctx context.Context, owner hosts.Owner) ([]string, error) {
	f.leaving = ""
	released, _, err := f.Release(ctx, owner)
	return released, err
}

func (f *fakeHosts) GiveBack(_ context.Context, owner hosts.Owner, names []string) (released []string, leaves []hosts.Leaving, err error) {
	if f.err != nil {
		return nil, nil, f.err
	}
	for i, h := range f.all {
		switch {
		case !owner.Holds(h) || !slices.Contains(names, h.Name):
		case h.Name == f.leaving:
			leaves = append(leaves, hosts.Leaving{Host: h.Name, State: "deprovisioning", Error: "in error state (provisioning error): no agent"})
			f.all[i].Leaving = true
		default:
			f.released = append(f.released, h.Name)
			f.all[i].Holder = nil
		}
	}
	return f.released, leaves, nil
}

func (f *fakeHosts) ReleaseGivenUp(ctx context.Context, owner hosts.Owner, names []string) ([]string, error) {
	f.givenUp = append(f.givenUp, names...)
	released, _, err := f.GiveBack(ctx, owner, slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return !slices.ContainsFunc(f.all, func(h hosts.Host) bool { return h.Name == name && h.Labels[contract.LabelRelease] != "" })
	}))
	return released, err
}

func (f *fakeHosts) PowerOn(_ context.Context, owner hosts.Owner, names []string) (changed []string, err error) {
	for i, h := range f.all {
		if owner.Holds(h) && slices.Contains(names, h.Name) && h.Offline {
			f.all[i].Offline = false
			f.poweredOn, changed = append(f.poweredOn, h.Name), append(changed, h.Name)
		}
	}
	return changed, f.err
}

// Fence and Unfence behave like those of package claim.
func (f *fakeHosts) Fence(_ context.Context, owner hosts.Owner, user contract.User, names []string, at time.Time) (changed []string, err error) {
	for i, h := range f.all {
		if owner.Holds(h) && h.Holder.UID == user.UID && h.Lost && h.PowerManaged && slices.Contains(names, h.Name) {
			f.all[i].Fence = hosts.Fence{At: at, By: user}
			f.fenced, changed = append(f.fenced, h.Name), append(changed, h.Name)
		}
	}
	return changed, f.err
}

func (f *fakeHosts) Unfence(_ context.Context, owner hosts.Owner, names []string) (changed []string, err error) {
	for i, h := range f.all {
		if owner.Holds(h) && !h.Lost && slices.Contains(names, h.Name) {
			f.all[i].Fence, f.all[i].SwitchedOff = hosts.Fence{}, false
			f.poweredOn, changed = append(f.poweredOn, h.Name), append(changed, h.Name)
		}
	}
	return changed, f.err
}

func (f *fakeHosts) HeldLive(ctx context.Context, owner hosts.Owner) ([]hosts.Host, error) {
	if f.live == nil {
		return f.Held(ctx, owner)
	}
	return f.live.Held(ctx, owner)
}

func (f *fakeHosts) Mark(_ context.Context, owner hosts.Owner, user contract.User, names []string) ([]string, error) {
	return f.mark(owner, user, names)
}

func (f *fakeHosts) Unmark(_ context.Context, owner hosts.Owner, names []string) ([]string, error) {
	return f.mark(owner, contract.User{}, names)
}

func (f *fakeHosts) mark(owner hosts.Owner, user contract.User, names []string) (changed []string, err error) {
	for i, h := range f.all {
		if owner.Holds(h) && slices.Contains(names, h.Name) {
			f.all[i].UsedBy = user
			f.marked, changed = append(f.marked, h.Name+"="+user.String()), append(changed, h.Name)
		}
	}
	return changed, f.err
}

func (f *fakeHosts) Image(_ context.Context, owner hosts.Owner, image contract.OSImage, nodes map[string]string) (given []string, err error) {
	for i, h := range f.all {
		if node := nodes[h.Name]; node != "" && h.Bare && h.Node == node && owner.Holds(h) {
			f.all[i].Imaged = true
			f.imaged, given = append(f.imaged, h.Name+"="+node+" "+image.Checksum), append(given, h.Name)
		}
	}
	return given, f.err
}

func hostNames(all []hosts.Host) []string {
	var names []string
	for _, h := range all {
		names = append(names, h.Name)
	}
	return names
}

// fixture contains the API server and the caches of one test case. All objects in the caches are
// also at the API server.
type fixture struct {
	kube     *fake.Clientset
	tekton   *faketekton.Clientset
	bpa      *fakebpa.Clientset
	recorder *record.FakeRecorder
	caches   map[string]cache.Indexer
	hosts    *fakeHosts
	health   *fakeMonitor
	queue    *queue // what the controller holds in memory, until restart
	mu       sync.Mutex
	woken    []key // by the queue
	settings caches.Settings
	packages *protocol.PackageList // of the site's depot; nil: not known
	vars     *varsCache
	puts     int // number of calls of put
}

func newFixture(t *testing.T, site *fakeHosts, cached, live []runtime.Object) *fixture {
	t.Helper()
	w := &fixture{
		kube: fake.NewClientset(), tekton: faketekton.NewSimpleClientset(), bpa: fakebpa.NewSimpleClientset(),
		recorder: record.NewFakeRecorder(100), caches: map[string]cache.Indexer{}, hosts: site, health: &fakeMonitor{},
		settings: caches.Settings{Settings: settings.Default()},
	}
	w.giveUIDs(t)
	for _, kind := range []string{"provisioning", "run", "task", "configmap", "secret", "rolebinding", "backup", "software"} {
		w.caches[kind] = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	if err := errors.Join(w.caches["run"].AddIndexers(runIndex), w.caches["provisioning"].AddIndexers(waitingIndex), caches.IndexClusters(w.caches["provisioning"]), caches.IndexClusters(w.caches["software"])); err != nil {
		t.Fatal(err)
	}
	w.restart(t)
	for _, o := range cached {
		w.add(t, o, true)
	}
	for _, o := range live {
		w.add(t, o, false)
	}
	return w
}

// giveUIDs gives each ConfigMap a UID when it is created, as an API server does.
func (w *fixture) giveUIDs(t *testing.T) {
	made := 0
	w.kube.PrependReactor("create", "configmaps", func(action clientgotesting.Action) (bool, runtime.Object, error) {
		cm := action.(clientgotesting.CreateAction).GetObject().(*corev1.ConfigMap).DeepCopy()
		if made++; cm.UID == "" {
			cm.UID = types.UID(fmt.Sprintf("uid-%s-%d", cm.Name, made))
		}
		err := w.kube.Tracker().Create(action.GetResource(), cm, cm.Namespace)
		return true, cm, err
	})
}

// record replaces the record of the cluster.
func (w *fixture) record(t *testing.T, cm *corev1.ConfigMap) {
	t.Helper()
	if err := w.kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), cm, cm.Namespace); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
}

func (w *fixture) add(t *testing.T, o runtime.Object, inCache bool) {
	t.Helper()
	tracker, kind := w.kube.Tracker(), ""
	switch o.(type) {
	case *v1alpha1.Provisioning:
		tracker, kind = w.bpa.Tracker(), "provisioning"
	case *v1alpha1.Backup:
		tracker, kind = w.bpa.Tracker(), "backup"
	case *v1alpha1.Software:
		tracker, kind = w.bpa.Tracker(), "software"
	case *tekton.PipelineRun:
		tracker, kind = w.tekton.Tracker(), "run"
	case *tekton.TaskRun:
		tracker, kind = w.tekton.Tracker(), "task"
	case *corev1.ConfigMap:
		kind = "configmap"
	case *corev1.Secret:
		kind = "secret"
	case *rbacv1.RoleBinding:
		kind = "rolebinding"
	}
	if err := tracker.Add(o); err != nil {
		t.Fatal(err)
	}
	if inCache && kind != "" {
		if err := w.caches[kind].Add(o); err != nil {
			t.Fatal(err)
		}
	}
}

// restart forgets what the controller holds in memory.
func (w *fixture) restart(t *testing.T) {
	t.Helper()
	w.vars = &varsCache{}
	w.queue = newQueue(w.caches["run"], w.caches["provisioning"], func(first, others []key) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.woken = append(append(w.woken, first...), others...)
	})
}

// visit reconciles once with the generated reconciler, as the leader.
func (w *fixture) visit(t *testing.T, key string) error {
	t.Helper()
	return w.reconciler(t).Reconcile(logging.WithLogger(context.Background(), logtesting.TestLogger(t)), key)
}

// controller returns the reconciler of this package.
func (w *fixture) controller() *Reconciler {
	return &Reconciler{
		kube:        w.kube,
		tekton:      w.tekton,
		runs:        tektonlisters.NewPipelineRunLister(w.caches["run"]),
		taskRuns:    tektonlisters.NewTaskRunLister(w.caches["task"]),
		configMaps:  corelisters.NewConfigMapLister(w.caches["configmap"]),
		secrets:     corelisters.NewSecretLister(w.caches["secret"]),
		bindings:    rbaclisters.NewRoleBindingLister(w.caches["rolebinding"]),
		backups:     listers.NewBackupLister(w.caches["backup"]),
		clusters:    caches.NewClusters(w.caches["provisioning"], w.caches["software"]),
		packages:    func() (*protocol.PackageList, string) { return w.packages, "" },
		newPackages: func() (*protocol.PackageList, string) { return w.packages, "" },
		hosts:       w.hosts,
		health:      w.health,
		queue:       w.queue,
		settings:    func() caches.Settings { return w.settings },
		clock:       clock.NewFakePassiveClock(now),
		random:      rand.Reader,
		vars:        w.vars,
		secretVersion: func(namespace, name string) string {
			o, err := w.kube.Tracker().Get(corev1.SchemeGroupVersion.WithResource("secrets"), namespace, name)
			if err != nil {
				return ""
			}
			return o.(*corev1.Secret).ResourceVersion
		},
	}
}

// reconciler returns the generated reconciler, as the leader. Several goroutines may use it.
func (w *fixture) reconciler(t *testing.T) controller.Reconciler {
	t.Helper()
	ctx := logging.WithLogger(context.Background(), logtesting.TestLogger(t))
	lister := listers.NewProvisioningLister(w.caches["provisioning"])
	impl := provisioningreconciler.NewReconciler(ctx, logtesting.TestLogger(t), w.bpa, lister, w.recorder, w.controller(), options)
	if leader, ok := impl.(reconciler.LeaderAware); ok {
		if err := leader.Promote(reconciler.UniversalBucket(), func(reconciler.Bucket, types.NamespacedName) {}); err != nil {
			t.Fatal(err)
		}
	}
	return impl
}

// calls returns all calls to the API server, including reads, such as "create pipelineruns
// edge-1-install-1".
func (w *fixture) calls() []string {
	var calls []string
	actions := append(append(append([]clientgotesting.Action{}, w.kube.Actions()...), w.tekton.Actions()...), w.bpa.Actions()...)
	for _, a := range actions {
		call := a.GetVerb() + " " + a.GetResource().Resource
		if a.GetSubresource() != "" {
			call += "/" + a.GetSubresource()
		}
		switch a := a.(type) {
		case clientgotesting.CreateAction: // updates too
			call += " " + a.GetObject().(metav1.Object).GetName()
		case clientgotesting.PatchAction:
			call += " " + a.GetName() + " " + string(a.GetPatch())
		case interface{ GetName() string }:
			call += " " + a.GetName()
		}
		calls = append(calls, call)
	}
	return calls
}

// stored returns the Provisioning as the API server stores it.
func (w *fixture) stored(t *testing.T) *v1alpha1.Provisioning {
	t.Helper()
	p, err := w.bpa.BpaV1alpha1().Provisionings(site).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// settle reconciles until a reconcile writes nothing. After every reconcile it updates the caches,
// as informers would.
func (w *fixture) settle(t *testing.T) {
	t.Helper()
	for range 10 {
		w.kube.ClearActions()
		w.tekton.ClearActions()
		w.bpa.ClearActions()
		if err := w.visit(t, at); err != nil {
			if again, _ := controller.IsRequeueKey(err); !again {
				t.Fatal(err)
			}
		}
		quiet := len(w.calls()) == 0
		w.sync(t)
		if quiet {
			return
		}
	}
	t.Fatalf("never at rest; last calls: %q", w.calls())
}

// sync updates the caches.
func (w *fixture) sync(t *testing.T) {
	t.Helper()
	ctx, all := context.Background(), metav1.ListOptions{LabelSelector: contract.LabelCluster}
	provisionings, err1 := w.bpa.BpaV1alpha1().Provisionings("").List(ctx, metav1.ListOptions{})
	runs, err2 := w.tekton.TektonV1().PipelineRuns("").List(ctx, all)
	configMaps, err3 := w.kube.CoreV1().ConfigMaps("").List(ctx, all)
	secrets, err4 := w.kube.CoreV1().Secrets("").List(ctx, all)
	bindings, err5 := w.kube.RbacV1().RoleBindings("").List(ctx, all)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	replace(t, w.caches["provisioning"], provisionings.Items)
	replace(t, w.caches["run"], runs.Items)
	replace(t, w.caches["configmap"], configMaps.Items)
	replace(t, w.caches["secret"], secrets.Items)
	replace(t, w.caches["rolebinding"], bindings.Items)
}

func replace[T any](t *testing.T, indexer cache.Indexer, items []T) {
	t.Helper()
	var all []any
	for i := range items {
		all = append(all, &items[i])
	}
	if err := indexer.Replace(all, ""); err != nil {
		t.Fatal(err)
	}
}
