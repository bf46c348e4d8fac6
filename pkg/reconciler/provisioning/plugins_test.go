package provisioning

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgotesting "k8s.io/client-go/testing"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// pluginRun starts an installation with these plugins and returns its run and its request.
func pluginRun(t *testing.T, all *fakeHosts, plugins ...string) (*fixture, *tekton.PipelineRun, contract.Request) {
	t.Helper()
	w := newFixture(t, all, []runtime.Object{edge(func(p *v1alpha1.Provisioning) { p.Spec.KUDPlugins = plugins }), sshKey()}, nil)
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	w.sync(t)
	started, err := w.tekton.TektonV1().PipelineRuns(site).Get(t.Context(), "edge-1-install-1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return w, started, w.request(t)
}

// request returns the request of the newest run, except those for Softwares.
func (w *fixture) request(t *testing.T) contract.Request {
	t.Helper()
	return w.newestRequest(t, false)
}

// newestRequest returns the request of the newest run for Softwares, or of the newest other run.
func (w *fixture) newestRequest(t *testing.T, software bool) (request contract.Request) {
	t.Helper()
	newest := int32(0)
	for _, run := range w.runs(t) {
		if strings.Contains(run, "-software-") == software {
			newest = max(newest, resources.RunNumber(run))
		}
	}
	cm, err := w.kube.CoreV1().ConfigMaps(site).Get(t.Context(), contract.RunRequestName(name, newest), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(cm.Data[contract.KeyRequest]), &request); err != nil {
		t.Fatal(err)
	}
	return request
}

func asksForPlugins(run *tekton.PipelineRun) bool {
	return slices.ContainsFunc(run.Spec.Params, func(p tekton.Param) bool { return p.Name == contract.ParamPlugins && p.Value.StringVal == "true" })
}

// skips returns the plugins of a request: NAME, and why it is skipped.
func skips(r contract.Request) map[string]string {
	all := map[string]string{}
	for _, p := range r.Plugins {
		all[p.Name] = p.Skip
	}
	return all
}

// TestNoPlugins: a cluster without plugins has no ConfigMap for them, and its run leaves out their task.
func TestNoPlugins(t *testing.T) {
	w, started, request := pluginRun(t, fitting())
	if asksForPlugins(started) || len(request.Plugins) > 0 {
		t.Errorf("params %v, plugins %v", started.Spec.Params, request.Plugins)
	}
	if _, err := w.kube.CoreV1().ConfigMaps(site).Get(t.Context(), contract.PluginsName(name), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the ConfigMap of plugins: %v", err)
	}
}

// TestPluginsFollowTheHosts: the run gets the plugins for which one of the chosen hosts is, and the names of these
// hosts. What only skipped plugins need is left out.
func TestPluginsFollowTheHosts(t *testing.T) {
	w, started, request := pluginRun(t, fitting(), "multus", "qat")
	if diff := cmp.Diff(map[string]string{"multus": "", "qat": "no node has QAT, x86_64"}, skips(request)); diff != "" {
		t.Errorf("without QAT (-want +got):\n%s", diff)
	}
	if !asksForPlugins(started) {
		t.Errorf("params %v", started.Spec.Params)
	}
	if _, err := w.kube.CoreV1().ConfigMaps(site).Get(t.Context(), contract.PluginsName(name), metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	special := fitting()
	special.all[0].QAT, special.all[0].Architecture = true, "x86_64"
	_, _, request = pluginRun(t, special, "multus", "qat")
	if diff := cmp.Diff(map[string]string{"multus": "", "nfd": "", "qat": ""}, skips(request)); diff != "" {
		t.Errorf("with QAT (-want +got):\n%s", diff)
	}
	last := request.Plugins[len(request.Plugins)-1]
	if diff := cmp.Diff([]string{"qat", "host-1"}, append([]string{last.Name}, last.Hosts...)); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
}

// TestKubeconfigDuringPlugins: the kubeconfig is stored as soon as its task has ended, and stays as it is
// when the run ends, even after a crash in between.
func TestKubeconfigDuringPlugins(t *testing.T) {
	w, started, _ := pluginRun(t, fitting(), "multus")
	started.UID, started.Status.StartTime = "uid-run", &metav1.Time{Time: now}
	w.hosts.all = held().all
	csr := started.Spec.Params[slices.IndexFunc(started.Spec.Params, func(p tekton.Param) bool { return p.Name == contract.ParamCertificateRequest })]
	ca, certificate := sign(t, csr.Value.StringVal)
	w.add(t, child(started, contract.TaskKubespray, corev1.ConditionTrue, nil), true)
	w.add(t, child(started, contract.TaskCollectKubeconfig, corev1.ConditionTrue, map[string]string{
		contract.ResultCA: ca, contract.ResultCertificate: certificate, contract.ResultEndpoint: "https://10.0.0.1:6443",
	}), true)
	plugins := child(started, contract.TaskInstallPlugins, corev1.ConditionUnknown, nil)
	w.add(t, plugins, true)
	update := func() {
		t.Helper()
		if _, err := w.tekton.TektonV1().PipelineRuns(site).Update(t.Context(), started, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.sync(t)
		w.settle(t)
	}
	update()
	secret, err := w.kube.CoreV1().Secrets(site).Get(t.Context(), contract.KubeconfigName(name), metav1.GetOptions{})
	if err != nil {
		t.Fatalf("while plugins are installed: %v", err)
	}
	w.restart(t)
	ended(corev1.ConditionFalse, "Failed")(started)
	update()
	after, err := w.kube.CoreV1().Secrets(site).Get(t.Context(), contract.KubeconfigName(name), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(secret.Data, after.Data); diff != "" {
		t.Errorf("the kubeconfig has changed (-before +after):\n%s", diff)
	}
	if c := w.stored(t).Status.GetCondition(v1alpha1.ConditionKubeconfigReady); !c.IsTrue() {
		t.Errorf("KubeconfigReady is %s: %s", c.Status, c.Message)
	}
}

// TestPluginsOfARunThatWasNotCreated: an edit of the plugins is applied although the controller could store the
// request of its run, but could not create the run.
func TestPluginsOfARunThatWasNotCreated(t *testing.T) {
	w := installedCluster(t)
	w.change(t, wantPlugins("multus"))
	w.settle(t)
	w.finishPlugins(t, "edge-1-plugins-2")
	down := true
	w.tekton.PrependReactor("create", "pipelineruns", func(clientgotesting.Action) (bool, runtime.Object, error) {
		return down, nil, apierrors.NewInternalError(errors.New("failed calling webhook: no endpoints available"))
	})
	w.change(t, wantPlugins("multus", "nfd"))
	if err := w.visit(t, at); err == nil {
		t.Fatal("the run was created")
	}
	down = false
	w.restart(t)
	w.sync(t)
	w.settle(t)
	w.finishPlugins(t, "edge-1-plugins-3")
	if !w.stored(t).Status.IsReady() || len(w.request(t).Plugins) != 2 {
		t.Errorf("%+v", w.stored(t).Status)
	}
}
