package provisioning

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/logging"
	logtesting "knative.dev/pkg/logging/testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/knowndefect"
)

// The stories in this file are those of docs/known-defects.md that need the controller's writes and caches.

// change edits the stored Provisioning and updates the caches.
func (w *fixture) change(t *testing.T, edit func(*v1alpha1.Provisioning)) {
	t.Helper()
	p := w.stored(t)
	edit(p)
	if _, err := w.bpa.BpaV1alpha1().Provisionings(site).Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
}

// wantPlugins is an edit of spec.KUDPlugins.
func wantPlugins(names ...string) func(*v1alpha1.Provisioning) {
	return func(p *v1alpha1.Provisioning) {
		p.Generation++
		p.Spec.KUDPlugins = names
	}
}

// installPlugins lets the task install-plugins of this run install the plugins of the newest request. The run
// itself goes on.
func (w *fixture) installPlugins(t *testing.T, run *tekton.PipelineRun) {
	t.Helper()
	var rows []contract.PluginStatus
	for _, p := range w.request(t).Plugins {
		rows = append(rows, contract.PluginStatus{Name: p.Name, Version: p.Version, Intent: p.Intent, State: contract.PluginInstalled, Since: now})
	}
	text, err1 := json.Marshal(rows)
	cm, err2 := w.kube.CoreV1().ConfigMaps(site).Get(t.Context(), contract.PluginsName(name), metav1.GetOptions{})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	cm.Data = map[string]string{contract.KeyPlugins: string(text)}
	if _, err := w.kube.CoreV1().ConfigMaps(site).Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	run.UID = "uid-" + run.UID + "-of-plugins"
	w.add(t, child(run, contract.TaskInstallPlugins, corev1.ConditionTrue, nil), true)
}

// finishPlugins plays a run that only installs plugins to its end.
func (w *fixture) finishPlugins(t *testing.T, runName string) {
	t.Helper()
	run := w.runNamed(t, runName)
	if run == nil {
		t.Fatalf("no run %s; Ready: %+v", runName, w.stored(t).Status.GetCondition(v1alpha1.ConditionReady))
	}
	w.installPlugins(t, run)
	run.Status.StartTime = &metav1.Time{Time: now}
	ended(corev1.ConditionTrue, "Succeeded")(run)
	if _, err := w.tekton.TektonV1().PipelineRuns(site).Update(t.Context(), run, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	w.settle(t)
}

// counted counts the objects that a cache returns in lists.
type counted struct {
	cache.Indexer
	objects int
}

func (c *counted) count(all []any, err error) ([]any, error) {
	c.objects += len(all)
	return all, err
}

func (c *counted) Index(name string, o any) ([]any, error) { return c.count(c.Indexer.Index(name, o)) }
func (c *counted) ByIndex(name, value string) ([]any, error) {
	return c.count(c.Indexer.ByIndex(name, value))
}
func (c *counted) List() []any { all, _ := c.count(c.Indexer.List(), nil); return all }

// TestKnownDefectL17: what a visit reads does not grow with the Softwares and the Provisionings of other
// clusters.
func TestKnownDefectL17(t *testing.T) {
	visit := func(namespace string, others int) int {
		t.Helper()
		w := installedCluster(t)
		for n := range others {
			other := fmt.Sprintf("other-%d", n)
			w.add(t, edge(func(p *v1alpha1.Provisioning) {
				p.Namespace, p.Name, p.Labels, p.UID = namespace, other, map[string]string{v1alpha1.LabelCluster: other}, "uid-of-other"
			}), true)
			w.add(t, tools(func(s *v1alpha1.Software) { s.Namespace, s.Name, s.Spec.Cluster = namespace, "tools-of-"+other, other }), true)
		}
		provisionings, softwares := &counted{Indexer: w.caches["provisioning"]}, &counted{Indexer: w.caches["software"]}
		w.caches["provisioning"], w.caches["software"] = provisionings, softwares
		visitor := w.reconciler(t)
		provisionings.objects, softwares.objects = 0, 0 // a new leader reads all
		ctx := logging.WithLogger(t.Context(), logtesting.TestLogger(t))
		if again, _ := controller.IsRequeueKey(visitor.Reconcile(ctx, at)); !again { // when the kubeconfig expires
			t.Fatal("the cluster is not at rest")
		}
		return provisionings.objects + softwares.objects
	}
	knowndefect.Expect(t, "L17", func(should testing.TB) {
		if few, many := visit(site, 2), visit(site, 40); many > few {
			should.Errorf("a visit of a cluster without Softwares reads %d objects beside 2 other clusters, and %d beside 40", few, many)
		}
	})
	if few, many := visit("elsewhere", 2), visit("elsewhere", 40); many > few {
		t.Errorf("the workaround: a visit reads %d objects beside 2 clusters of another namespace, and %d beside 40", few, many)
	}
}
