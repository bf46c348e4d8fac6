package backup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	faketekton "github.com/tektoncd/pipeline/pkg/client/clientset/versioned/fake"
	tektonlisters "github.com/tektoncd/pipeline/pkg/client/listers/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
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
	"github.com/akraino-icn/bpa/pkg/artifacts"
	fakebpa "github.com/akraino-icn/bpa/pkg/client/clientset/versioned/fake"
	backupreconciler "github.com/akraino-icn/bpa/pkg/client/injection/reconciler/bpa/v1alpha1/backup"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/settings"
)

const (
	site = "site"
	at   = site + "/nightly"
	url  = "https://10.60.0.1:5443"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// nightly returns a Backup that already has its finalizer. The given functions change it.
func nightly(changes ...func(*v1alpha1.Backup)) *v1alpha1.Backup {
	b := &v1alpha1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "nightly", UID: "01234567-b", Generation: 1, Finalizers: []string{options.FinalizerName}, CreationTimestamp: metav1.Time{Time: noon}},
		Spec:       v1alpha1.BackupSpec{Provisioning: "edge-1"},
	}
	for _, change := range changes {
		change(b)
	}
	return b
}

func deleting(b *v1alpha1.Backup) { b.DeletionTimestamp = &metav1.Time{Time: noon} }

func started(b *v1alpha1.Backup) {
	b.Status.Run, b.Status.Depot, b.Status.Artifact = "nightly-backup", url, artifactOf(b).FilePath()
}

// edge returns a Provisioning whose cluster is installed.
func edge(changes ...func(*v1alpha1.Provisioning)) *v1alpha1.Provisioning {
	p := &v1alpha1.Provisioning{
		ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: "edge-1", UID: "uid-p"},
		Spec:       v1alpha1.ProvisioningSpec{Masters: []map[string]v1alpha1.Master{{"m-1": {}}}},
		Status:     v1alpha1.ProvisioningStatus{InstalledDigest: "v3:sha256:1"},
	}
	for _, change := range changes {
		change(p)
	}
	return p
}

// runOf returns the active run of a Backup.
func runOf(b *v1alpha1.Backup, changes ...func(*tekton.PipelineRun)) *tekton.PipelineRun {
	run := makePipelineRun(b, edge(), url, "age1recipient", "SHA256:key", false)
	run.UID = "uid-run"
	for _, change := range changes {
		change(run)
	}
	return run
}

func ended(status corev1.ConditionStatus) func(*tekton.PipelineRun) {
	return func(run *tekton.PipelineRun) {
		run.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: status, Reason: "Failed"})
		run.Status.StartTime, run.Status.CompletionTime = &metav1.Time{Time: noon}, &metav1.Time{Time: noon.Add(time.Minute)}
		run.Status.ChildReferences = []tekton.ChildStatusReference{{Name: run.Name + "-task", PipelineTaskName: contract.TaskBackup}}
	}
}

// taskOf returns the TaskRun of an ended run.
func taskOf(run *tekton.PipelineRun, results map[string]string) *tekton.TaskRun {
	tr := &tekton.TaskRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: run.Namespace, Name: run.Name + "-task",
		Labels: map[string]string{contract.LabelBackup: run.Labels[contract.LabelBackup], "tekton.dev/pipelineTask": contract.TaskBackup},
	}}
	tr.Status.SetCondition(run.Status.GetCondition(apis.ConditionSucceeded).DeepCopy())
	for name, value := range results {
		tr.Status.Results = append(tr.Status.Results, tekton.TaskRunResult{Name: name, Value: *tekton.NewStructuredValues(value)})
	}
	return tr
}

// fixture is an API server with caches that are up to date, and the site's depot.
type fixture struct {
	kube     *fake.Clientset
	tekton   *faketekton.Clientset
	bpa      *fakebpa.Clientset
	caches   map[string]cache.Indexer
	recorder *record.FakeRecorder
	settings caches.Settings
	deleted  []string          // artifacts
	files    map[string]string // of the depot: the digest of each path
	limited  bool              // the last call of the depot had a time limit
	broken   error             // of the depot
	busy     bool              // other deletions use all connections to the depot
	now      time.Time
	turns    *turns
}

func (w *fixture) FileState(_ context.Context, path string, _ bool) (artifacts.FileState, bool, error) {
	sum, there := w.files[path]
	return artifacts.FileState{SHA256: sum}, there, w.broken
}

func (w *fixture) DeleteArtifact(ctx context.Context, ref protocol.Ref) error {
	deadline, ok := ctx.Deadline()
	w.limited = ok && time.Until(deadline) <= finalizeLimit
	if w.broken == nil {
		w.deleted = append(w.deleted, ref.String())
	}
	return w.broken
}

func (w *fixture) Close() {}

func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	w := &fixture{
		kube: fake.NewSimpleClientset(), tekton: faketekton.NewSimpleClientset(), bpa: fakebpa.NewSimpleClientset(), caches: map[string]cache.Indexer{},
		recorder: record.NewFakeRecorder(1000), settings: caches.Settings{Settings: settings.Default()}, now: noon,
	}
	w.settings.Depot.URL = url
	for _, kind := range []string{"provisioning", "backup", "run", "task"} {
		w.caches[kind] = cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	w.turns = &turns{backups: listers.NewBackupLister(w.caches["backup"]), runs: tektonlisters.NewPipelineRunLister(w.caches["run"]), wake: func() {}}
	for _, o := range objects {
		tracker, kind := w.kube.Tracker(), ""
		switch o.(type) {
		case *v1alpha1.Provisioning:
			tracker, kind = w.bpa.Tracker(), "provisioning"
		case *v1alpha1.Backup:
			tracker, kind = w.bpa.Tracker(), "backup"
		case *tekton.PipelineRun:
			tracker, kind = w.tekton.Tracker(), "run"
		case *tekton.TaskRun:
			tracker, kind = w.tekton.Tracker(), "task"
		}
		if err := tracker.Add(o); err != nil {
			t.Fatal(err)
		}
		if kind != "" {
			if err := w.caches[kind].Add(o); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

// visit reconciles the Backup once with the generated reconciler, as the leader.
func (w *fixture) visit(t *testing.T) error { return w.visitKey(t, at) }

func (w *fixture) visitKey(t *testing.T, key string) error {
	t.Helper()
	deletions := make(chan struct{}, 1)
	if w.busy {
		deletions <- struct{}{}
	}
	r := &Reconciler{
		kube: w.kube, tekton: w.tekton,
		backups: listers.NewBackupLister(w.caches["backup"]), provisionings: listers.NewProvisioningLister(w.caches["provisioning"]),
		runs: tektonlisters.NewPipelineRunLister(w.caches["run"]), clusterRuns: tektonlisters.NewPipelineRunLister(w.caches["run"]),
		taskRuns: tektonlisters.NewTaskRunLister(w.caches["task"]),
		settings: func() caches.Settings { return w.settings },
		depot: func(_ context.Context, d settings.Depot) (Depot, error) {
			if d.URL == "" || d.URL != w.settings.Depot.URL {
				return nil, errors.New("connected to " + d.URL)
			}
			return w, nil
		},
		turns: w.turns, clock: clock.NewFakePassiveClock(w.now), deletions: deletions,
	}
	ctx := logging.WithLogger(context.Background(), logtesting.TestLogger(t))
	return w.lead(t, backupreconciler.NewReconciler(ctx, logtesting.TestLogger(t), w.bpa, r.backups, w.recorder, r, options)).Reconcile(ctx, key)
}

func (w *fixture) lead(t *testing.T, r controller.Reconciler) controller.Reconciler {
	t.Helper()
	if err := r.(reconciler.LeaderAware).Promote(reconciler.UniversalBucket(), func(reconciler.Bucket, types.NamespacedName) {}); err != nil {
		t.Fatal(err)
	}
	return r
}

// schedule reconciles the schedule of the Provisioning once.
func (w *fixture) schedule(t *testing.T) error {
	t.Helper()
	s := &Scheduler{
		settings: func() caches.Settings { return w.settings },
		bpa:      w.bpa, provisionings: listers.NewProvisioningLister(w.caches["provisioning"]), backups: listers.NewBackupLister(w.caches["backup"]),
		clock: clock.NewFakePassiveClock(w.now),
	}
	return w.lead(t, s).Reconcile(logging.WithLogger(context.Background(), logtesting.TestLogger(t)), site+"/edge-1")
}

// writes returns the writes of all clients, such as "create pipelineruns nightly-backup".
func (w *fixture) writes() (all []string) {
	for _, a := range append(append(append([]clientgotesting.Action{}, w.kube.Actions()...), w.tekton.Actions()...), w.bpa.Actions()...) {
		call := strings.TrimSuffix(a.GetVerb()+" "+a.GetResource().Resource+"/"+a.GetSubresource(), "/")
		switch a := a.(type) {
		case clientgotesting.CreateAction: // updates too
			call += " " + a.GetObject().(metav1.Object).GetName()
		case clientgotesting.PatchAction:
			call += " " + a.GetName() + " " + string(a.GetPatch())
		case clientgotesting.DeleteAction:
			call += " " + a.GetName()
		}
		if !strings.HasPrefix(call, "get ") && !strings.HasPrefix(call, "list ") {
			all = append(all, call)
		}
	}
	return all
}

// stored returns the Backup as the API server stores it.
func (w *fixture) stored(t *testing.T) *v1alpha1.Backup {
	t.Helper()
	b, err := w.bpa.BpaV1alpha1().Backups(site).Get(context.Background(), "nightly", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
