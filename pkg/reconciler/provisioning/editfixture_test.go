package provisioning

import (
	"encoding/json"
	"errors"
	"testing"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

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
