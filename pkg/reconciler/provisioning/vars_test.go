package provisioning

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/secretvars"
)

const varsSecret, canary = "registry", "correct-horse-battery"

func varsFrom(p *v1alpha1.Provisioning) {
	p.Spec.Kubespray.VarsFrom = []v1alpha1.VarsSource{
		{SecretRef: v1alpha1.SecretKeyRef{Name: varsSecret}},
		{SecretRef: v1alpha1.SecretKeyRef{Name: varsSecret, Key: "password"}, Variable: "registry_password"},
	}
}

// secretWith returns the Secret of varsFrom with this password.
func secretWith(password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: site, Name: varsSecret, Labels: map[string]string{contract.LabelVars: "true"}},
		Data:       map[string][]byte{"vars.yaml": []byte("oidc_secret: " + password + "\nregistry_password: overridden\n"), "password": []byte(password + "\n")},
	}
}

// put creates or replaces a Secret.
func (w *fixture) put(t *testing.T, s *corev1.Secret) {
	t.Helper()
	w.puts++
	s.ResourceVersion = strconv.Itoa(w.puts)
	_, err := w.kube.CoreV1().Secrets(site).Create(t.Context(), s, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = w.kube.CoreV1().Secrets(site).Update(t.Context(), s, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestRunWaitsForVariables: without the Secret, without its label or with a wrong content, no run starts, and the
// condition says what to do. It never says what is in the Secret.
func TestRunWaitsForVariables(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Secret)
		says   string
	}{
		"no Secret":      {nil, "spec.kubespray.varsFrom[0]: Secret registry does not exist: create it with `kubectl create secret generic -n " + site + " registry --from-file=vars.yaml=FILE; kubectl label secret -n " + site + " registry bpa.akraino.org/vars=true`"},
		"no label":       {func(s *corev1.Secret) { s.Labels = nil }, "run `kubectl label secret -n " + site + " registry bpa.akraino.org/vars=true`"},
		"no key":         {func(s *corev1.Secret) { delete(s.Data, "password") }, `varsFrom[1]: Secret registry has no key password (it has ["vars.yaml"])`},
		"no mapping":     {func(s *corev1.Secret) { s.Data["vars.yaml"] = []byte(canary) }, "key vars.yaml of Secret registry is not a YAML mapping"},
		"BPA's variable": {func(s *corev1.Secret) { s.Data["vars.yaml"] = []byte("kube_version: " + canary) }, "kube_version cannot be set from a Secret: set spec.kubernetes.version"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, fitting(), []runtime.Object{edge(varsFrom), sshKey()}, nil)
			if test.change != nil {
				s := secretWith(canary)
				test.change(s)
				w.put(t, s)
			}
			w.settle(t)
			ready := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady)
			if w.runNamed(t, "edge-1-install-1") != nil || !ready.IsFalse() || ready.Reason != "VarsMissing" || !strings.Contains(ready.Message, test.says) || strings.Contains(ready.Message, canary) {
				t.Errorf("Ready: %+v, want %q", ready, test.says)
			}
			w.put(t, secretWith(canary))
			w.settle(t)
			if w.runNamed(t, "edge-1-install-1") == nil {
				t.Errorf("no run, although the Secret is right now: %+v", w.stored(t).Status.GetCondition(v1alpha1.ConditionReady))
			}
		})
	}
}

// TestRunHasVariables: the run has the files for the task kubespray, and its request has the digests. No object but the
// Secret has a value.
func TestRunHasVariables(t *testing.T) {
	w := newFixture(t, fitting(), []runtime.Object{edge(varsFrom), sshKey()}, nil)
	w.put(t, secretWith(canary))
	w.settle(t)
	run := w.runNamed(t, "edge-1-install-1")
	if run == nil {
		t.Fatalf("no run: %+v", w.stored(t).Status.GetCondition(v1alpha1.ConditionReady))
	}
	if diff := cmp.Diff([]string{"edge-1-vars-key/key -> digest-key", "registry/vars.yaml -> 000", "registry/password -> 001.registry_password"}, filesOf(run)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	key, err := w.kube.CoreV1().Secrets(site).Get(t.Context(), "edge-1-vars-key", metav1.GetOptions{})
	if err != nil || !metav1.IsControlledBy(key, w.stored(t)) {
		t.Fatalf("the key of the digests: %+v, %v", key, err)
	}
	value, _ := json.Marshal(canary)
	want := secretvars.Digests(key.Data["key"], map[string]json.RawMessage{"oidc_secret": value, "registry_password": value})
	if diff := cmp.Diff(want, w.request(t).SecretVars); diff != "" {
		t.Errorf("digests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, w.stored(t).Status.SecretVars); diff != "" {
		t.Errorf("digests in the status (-want +got):\n%s", diff)
	}
	cms, _ := w.kube.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	runs, _ := w.tekton.TektonV1().PipelineRuns("").List(t.Context(), metav1.ListOptions{})
	for _, o := range []any{cms, runs, w.stored(t)} {
		if text, _ := json.Marshal(o); strings.Contains(string(text), canary) {
			t.Errorf("an object has the value: %s", text)
		}
	}
	for len(w.recorder.Events) > 0 {
		if e := <-w.recorder.Events; strings.Contains(e, canary) {
			t.Errorf("an event has the value: %s", e)
		}
	}
}

// filesOf returns the files of the workspace vars of a run, as "secret/key -> file".
func filesOf(run *tekton.PipelineRun) (files []string) {
	for _, ws := range run.Spec.Workspaces {
		if ws.Name != contract.WorkspaceVars {
			continue
		}
		for _, source := range ws.Projected.Sources {
			files = append(files, fmt.Sprintf("%s/%s -> %s", source.Secret.Name, source.Secret.Items[0].Key, source.Secret.Items[0].Path))
		}
	}
	return files
}

// TestVarsWin: a variable that is also in spec.kubespray.vars has no digest: its value is not that of the Secret.
func TestVarsWin(t *testing.T) {
	p := edge(varsFrom)
	p.Spec.Kubespray.Vars = map[string]apiextensionsv1.JSON{"registry_password": {Raw: []byte(`"plain"`)}}
	w := newFixture(t, fitting(), []runtime.Object{p, sshKey()}, nil)
	w.put(t, secretWith(canary))
	w.settle(t)
	r := w.request(t)
	if len(r.SecretVars) != 1 || r.SecretVars["oidc_secret"] == "" || string(r.Vars["registry_password"]) != `"plain"` {
		t.Errorf("variables %s and %v", r.Vars, r.SecretVars)
	}
}

// TestOtherValueStopsARunThatTouchedNoHost: another value in a Secret counts as an edit of the spec, whose generation it
// does not change.
func TestOtherValueStopsARunThatTouchedNoHost(t *testing.T) {
	w := newFixture(t, fitting(), []runtime.Object{edge(varsFrom), sshKey()}, nil)
	w.put(t, secretWith(canary))
	w.settle(t)
	labelled := secretWith(canary)
	labelled.Labels["note"] = "other"
	w.put(t, labelled)
	w.settle(t)
	if run := w.runNamed(t, "edge-1-install-1"); run.Spec.Status != "" {
		t.Errorf("another label stops the run: %s", run.Spec.Status)
	}
	w.put(t, secretWith("another-value"))
	w.kube.ClearActions()
	w.tekton.ClearActions()
	if err := w.visit(t, at); err != nil {
		t.Fatal(err)
	}
	if run := w.runNamed(t, "edge-1-install-1"); run.Spec.Status == "" || run.Annotations["bpa.akraino.org/superseded"] != "true" {
		t.Errorf("another value does not stop the run: %+v", w.stored(t).Status.GetCondition(v1alpha1.ConditionReady))
	}
	message := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady).Message
	if !strings.Contains(message, "(variable oidc_secret in a Secret, variable registry_password in a Secret)") {
		t.Errorf("Ready says %q", message)
	}
}

// TestValuesAreAppliedToAnInstalledCluster: the nodes are upgraded to them. A Secret that disappears changes nothing.
func TestValuesAreAppliedToAnInstalledCluster(t *testing.T) {
	w, _ := upgrading(t, varsFrom, func(p *v1alpha1.Provisioning) { p.Spec.Kubernetes.Version = "1.34.3" })
	w.settle(t)
	ready := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady)
	if w.runNamed(t, "edge-1-upgrade-control-plane-2") != nil {
		t.Errorf("a run starts without the Secret; Ready: %+v", ready)
	}
	w.put(t, secretWith(canary))
	w.settle(t)
	run := w.runNamed(t, "edge-1-upgrade-control-plane-2")
	if run == nil {
		t.Fatalf("no run; Ready: %+v", w.stored(t).Status.GetCondition(v1alpha1.ConditionReady))
	}
	if r := w.request(t); len(r.SecretVars) != 2 || r.Upgrade == nil || len(filesOf(run)) != 3 {
		t.Errorf("request %+v", r)
	}
}

// TestSecretsAreReadOnlyIfTheyChange: a visit of a Provisioning whose Secrets have the same versions asks for none of them.
func TestSecretsAreReadOnlyIfTheyChange(t *testing.T) {
	p := edge(varsFrom)
	w := newFixture(t, fitting(), []runtime.Object{p, sshKey()}, nil)
	w.put(t, secretWith(canary))
	r := w.controller()
	seen := w.observed(t, r, p)
	w.sync(t)
	first := w.observed(t, r, p) // with the key in the cache
	w.kube.ClearActions()
	again := w.observed(t, r, p)
	if calls := w.kube.Actions(); len(calls) > 0 {
		t.Errorf("calls %v", calls)
	}
	w.put(t, secretWith("another-value"))
	changed := w.observed(t, r, p)
	if !cmp.Equal(seen, first) || !cmp.Equal(first, again) || cmp.Equal(again, changed) || len(changed) != 2 {
		t.Errorf("digests %v, %v, %v, then %v", seen, first, again, changed)
	}
}

func (w *fixture) observed(t *testing.T, r *Reconciler, p *v1alpha1.Provisioning) map[string]string {
	t.Helper()
	digests, problem, err := r.observeVars(t.Context(), p, false)
	if err != nil || problem != "" {
		t.Fatalf("%q, %v", problem, err)
	}
	return digests
}
