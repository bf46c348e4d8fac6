package provisioning

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/observe"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
)

// TestWaker: a change of a host or a Secret enqueues the affected Provisionings. It does not
// enqueue Provisionings that need nothing.
func TestWaker(t *testing.T) {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := indexer.AddIndexers(waitingIndex); err != nil {
		t.Fatal(err)
	}
	add := func(namespace, name, secret string, ready bool) {
		p := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		p.Spec.SSH.SecretName = secret
		if ready {
			p.Status.InitializeConditions()
			p.Status.MarkHostsClaimed(corev1.ConditionTrue, "x", "")
			p.Status.MarkArtifactsAvailable(corev1.ConditionTrue, "x", "")
			p.Status.MarkClusterInstalled(corev1.ConditionTrue, "x", "")
			p.Status.MarkKubeconfigReady(corev1.ConditionTrue, "x", "")
		}
		if err := indexer.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	add("site", "waiting", "key", false)
	add("site", "undefaulted", "", false)
	add("site", "ready", "key", true)
	add("elsewhere", "waiting", "key", false)
	unhealthy := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "site", Name: "unhealthy"}}
	unhealthy.Status.MarkHostsClaimed(corev1.ConditionTrue, "x", "")
	unhealthy.Status.MarkArtifactsAvailable(corev1.ConditionTrue, "x", "")
	unhealthy.Status.MarkClusterInstalled(corev1.ConditionTrue, "x", "")
	unhealthy.Status.MarkKubeconfigReady(corev1.ConditionTrue, "x", "")
	unhealthy.Status.MarkPluginsInstalled(corev1.ConditionTrue, "x", "")
	unhealthy.Status.MarkClusterHealthy(corev1.ConditionFalse, v1alpha1.ReasonNodesNotReady, "worker-1")
	if err := indexer.Add(unhealthy); err != nil {
		t.Fatal(err)
	}
	lacking := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "third", Name: "ready-but-lacking"}}
	lacking.Status.MarkHostsClaimed(corev1.ConditionTrue, "x", "")
	lacking.Status.MarkArtifactsAvailable(corev1.ConditionTrue, "x", "")
	lacking.Status.MarkClusterInstalled(corev1.ConditionTrue, "x", "")
	lacking.Status.MarkKubeconfigReady(corev1.ConditionTrue, "x", "")
	lacking.Status.MarkPluginsInstalled(corev1.ConditionTrue, "x", "")
	lacking.Status.MarkHostsHealthy(corev1.ConditionFalse, "HostProblems", "w-1: host-1 is in quarantine")
	if err := indexer.Add(lacking); err != nil {
		t.Fatal(err)
	}

	restoring := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "fourth", Name: "restoring", Annotations: map[string]string{contract.AnnotationRestore: "b-1 now"}}}
	if err := indexer.Add(restoring); err != nil {
		t.Fatal(err)
	}

	unkeyed := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "fifth", Name: "ready-with-software"}}
	unkeyed.Spec.SSH.SecretName = "key"
	unkeyed.Status.MarkHostsClaimed(corev1.ConditionTrue, "x", "")
	unkeyed.Status.MarkArtifactsAvailable(corev1.ConditionTrue, "x", "")
	unkeyed.Status.MarkClusterInstalled(corev1.ConditionTrue, "x", "")
	unkeyed.Status.MarkKubeconfigReady(corev1.ConditionTrue, "x", "")
	unkeyed.Status.Software = &v1alpha1.SoftwareRunStatus{Next: "install curl on master-1", Waiting: "Secret key does not exist"}
	if err := indexer.Add(unkeyed); err != nil {
		t.Fatal(err)
	}

	running := &v1alpha1.Provisioning{ObjectMeta: metav1.ObjectMeta{Namespace: "seventh", Name: "running"}}
	if err := indexer.Add(running); err != nil {
		t.Fatal(err)
	}

	hasVars := unkeyed.DeepCopy()
	hasVars.Namespace, hasVars.Name, hasVars.Status.Software = "sixth", "ready-with-variables", nil
	hasVars.Spec.Kubespray.VarsFrom = []v1alpha1.VarsSource{{SecretRef: v1alpha1.SecretKeyRef{Name: "registry"}}}
	if err := indexer.Add(hasVars); err != nil {
		t.Fatal(err)
	}

	for _, tenant := range []string{"tenant-a", "tenant-b"} { // two clusters of one name, with hosts in one pool
		add(tenant, "edge", "key", true)
		edge, _, _ := indexer.GetByKey(tenant + "/edge")
		edge.(*v1alpha1.Provisioning).Spec.HostNamespace = "pool"
	}

	for name, test := range map[string]struct {
		change func(waker)
		want   []string
	}{
		"a host nobody holds":                         {func(w waker) { w.hostChanged("site", "host-1", types.NamespacedName{}) }, []string{"site/undefaulted", "site/waiting"}},
		"a host where a lost one is not replaced yet": {func(w waker) { w.hostChanged("third", "host-9", types.NamespacedName{}) }, []string{"third/ready-but-lacking"}},
		"a host that a ready one held": {func(w waker) {
			w.hostChanged("site", "host-1", types.NamespacedName{Namespace: "site", Name: "ready"}, types.NamespacedName{})
		}, []string{"site/ready", "site/undefaulted", "site/waiting"}},
		"a host of an unhealthy one": {func(w waker) {
			w.hostChanged("site", "host-2", types.NamespacedName{Namespace: "site", Name: "unhealthy"})
		}, []string{"site/undefaulted", "site/unhealthy", "site/waiting"}},
		"a host of a namesake in another namespace": {func(w waker) {
			w.hostChanged("third", "host-9", types.NamespacedName{Namespace: "site", Name: "ready"})
		}, []string{"third/ready-but-lacking"}},
		"a host of a pool that a tenant's cluster held": {func(w waker) {
			w.hostChanged("pool", "host-1", types.NamespacedName{Namespace: "tenant-a", Name: "edge"})
		}, []string{"tenant-a/edge"}},
		"a host nobody holds, during a run": {func(w waker) { w.hostChanged("seventh", "host-1", types.NamespacedName{}) }, nil},
		"a host that a run claims": {func(w waker) {
			w.hostChanged("seventh", "host-1", types.NamespacedName{Namespace: "seventh", Name: "running"})
		}, []string{"seventh/running"}},
		"a free host of a pool":                           {func(w waker) { w.hostChanged("pool", "host-1", types.NamespacedName{}) }, nil},
		"the key that only a run for Softwares waits for": {func(w waker) { w.secretChanged("fifth", "key") }, []string{"fifth/ready-with-software"}},
		"a Secret with variables of a ready one":          {func(w waker) { w.secretChanged("sixth", "registry") }, []string{"sixth/ready-with-variables"}},
		"a key":                                           {func(w waker) { w.secretChanged("site", "key") }, []string{"site/waiting"}},
		"the key that is there unasked":                   {func(w waker) { w.secretChanged("site", v1alpha1.DefaultSSHSecret) }, []string{"site/undefaulted"}},
		"the key of the backups that a restore waits for": {func(w waker) { w.secretChanged("fourth", "restoring-backup-key") }, []string{"fourth/restoring"}},
		"the key of the backups of another one":           {func(w waker) { w.secretChanged("site", "waiting-backup-key") }, nil},
		"a Backup that a restore waits for":               {func(w waker) { w.backupChanged(backupIn("fourth", "b-1", "other")) }, []string{"fourth/restoring"}},
		"a Backup of one with lost hosts":                 {func(w waker) { w.backupChanged(backupIn("third", "b-2", "ready-but-lacking")) }, []string{"third/ready-but-lacking"}},
		"a deleted Backup": {func(w waker) {
			w.backupChanged(cache.DeletedFinalStateUnknown{Obj: backupIn("site", "b-3", "waiting")})
		}, []string{"site/waiting"}},
		"a Backup of a ready one": {func(w waker) { w.backupChanged(backupIn("site", "b-3", "ready")) }, nil},
		"any other Secret":        {func(w waker) { w.secretChanged("site", "password") }, nil},
	} {
		var got []string
		busy := func(k key) bool { return k.Name == "running" }
		test.change(waker{lister: listers.NewProvisioningLister(indexer), pools: indexer, busy: busy, enqueue: func(k key) { got = append(got, k.String()) }})
		slices.Sort(got)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s wakes (-want +got):\n%s", name, diff)
		}
	}
}

// countingIndexer counts the objects that are read from a cache.
type countingIndexer struct {
	cache.Indexer
	read int
}

func (c *countingIndexer) List() []any {
	all := c.Indexer.List()
	c.read += len(all)
	return all
}

func (c *countingIndexer) ByIndex(index, value string) ([]any, error) {
	all, err := c.Indexer.ByIndex(index, value)
	c.read += len(all)
	return all, err
}

func (c *countingIndexer) GetByKey(key string) (any, bool, error) {
	c.read++
	return c.Indexer.GetByKey(key)
}

// TestHostsWakeWithoutASearch: a change of a host reads its holders and those that may wait for it, and none of the other
// clusters of the site.
func TestHostsWakeWithoutASearch(t *testing.T) {
	in := &countingIndexer{Indexer: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})}
	if err := in.AddIndexers(waitingIndex); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		p := edge(inPool, func(p *v1alpha1.Provisioning) { p.Name = fmt.Sprintf("edge-%d", i+1) })
		if i >= 2 {
			p.Status.InitializeConditions()
			p.Status.MarkHostsClaimed(corev1.ConditionTrue, "x", "")
			p.Status.MarkArtifactsAvailable(corev1.ConditionTrue, "x", "")
			p.Status.MarkClusterInstalled(corev1.ConditionTrue, "x", "")
			p.Status.MarkKubeconfigReady(corev1.ConditionTrue, "x", "")
		}
		if err := in.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	woken := 0
	w := waker{lister: listers.NewProvisioningLister(in), pools: in, busy: func(key) bool { return false }, enqueue: func(key) { woken++ }}
	w.hostChanged("pool", "host-1", types.NamespacedName{Namespace: site, Name: "edge-500"}, types.NamespacedName{})
	if woken != 3 || in.read > 4 {
		t.Errorf("%d are woken, want 3, and %d are read", woken, in.read)
	}
}

func backupIn(namespace, name, provisioning string) *v1alpha1.Backup {
	return &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.BackupSpec{Provisioning: provisioning}}
}

// TestStrip: a run and its tasks have the same meaning to the controller before and after Strip
// removes fields.
func TestStrip(t *testing.T) {
	pr := run(edge(), 1, ended(corev1.ConditionFalse, "Failed"))
	pr.Status.PipelineSpec = &tekton.PipelineSpec{Description: "long"}
	pr.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "x"}}
	tr := child(pr, "kubespray", corev1.ConditionFalse, map[string]string{"failure": `{"reason":"HostUnreachable","host":"master-1"}`})
	tr.Status.TaskSpec = &tekton.TaskSpec{Description: "long"}
	tr.Status.Steps = []tekton.StepState{{Name: "x"}}

	want := observe.MakeRun(convert.Run(pr.DeepCopy()), convert.TaskRuns([]*tekton.TaskRun{tr.DeepCopy()}))
	for _, o := range []any{pr, tr} {
		if _, err := caches.Strip(o); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, observe.MakeRun(convert.Run(pr), convert.TaskRuns([]*tekton.TaskRun{tr}))); diff != "" {
		t.Errorf("(-whole +stripped):\n%s", diff)
	}
	if want.Tasks[0].Failure == nil || want.Tasks[0].Failure.Host != "master-1" {
		t.Errorf("the failure was not read: %+v", want.Tasks)
	}
	if pr.Status.PipelineSpec != nil || tr.Status.TaskSpec != nil || pr.ManagedFields != nil {
		t.Error("nothing was dropped")
	}
}

// TestStripOutcome: of the outcome of a run, the cache holds only what its checks have found, and it holds the whole request.
func TestStripOutcome(t *testing.T) {
	for object, kept := range map[string]bool{"edge-1-run-1": true, "edge-1-run-1-out": false, "edge-1-installed": true} {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: object}, Data: map[string]string{contract.KeyHostsINI: "[all]"}}
		if _, err := caches.Strip(cm); err != nil {
			t.Fatal(err)
		}
		if got := len(cm.Data) > 0; got != kept {
			t.Errorf("the data of %s is kept: %t", object, got)
		}
		cm.Data = map[string]string{contract.KeyHostsINI: "[all]", contract.KeyChecks: "{}"}
		if _, err := caches.Strip(cm); err != nil || cm.Data[contract.KeyChecks] != "{}" || len(cm.Data) == 1 == kept {
			t.Errorf("%v: of %s, the cache holds %v", err, object, cm.Data)
		}
	}
}
