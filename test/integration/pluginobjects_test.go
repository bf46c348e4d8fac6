//go:build integration

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/plugin/cluster"
)

const pluginWait = 4 * time.Minute

// pluginLimits are for objects that become ready and are deleted at once. A deletion in the foreground of an
// object whose kind is new may take 30 seconds more: Kubernetes' garbage collector looks for new kinds that often.
var pluginLimits = cluster.Limits{Ready: 30 * time.Second, Gone: 90 * time.Second}

// application is a real API server as the application cluster, with the controllers that delete objects and
// make pods of Jobs. It has no nodes: tests write what a kubelet would write.
type application struct {
	t    *testing.T
	ctx  context.Context
	kube kubernetes.Interface
	c    *cluster.Client
	log  bytes.Buffer
}

func newApplication(t *testing.T) *application {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), pluginWait)
	t.Cleanup(stop)
	startControllers(t, "certificatesigningrequest-signing-controller", "namespace-controller", "garbage-collector-controller",
		"job-controller", "serviceaccount-controller", "root-ca-certificate-publisher-controller")
	config, err := clientcmd.BuildConfigFromFlags("", shared.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	// Unlike the bootstrap machine, an application cluster restricts no namespace by itself.
	must(t, "", "label", "namespace", "default", "pod-security.kubernetes.io/enforce=privileged", "--overwrite")
	a := &application{t: t, ctx: ctx, kube: kubernetes.NewForConfigOrDie(config)}
	if a.c, err = cluster.New(config, &a.log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the client:\n%s", a.log.String())
		}
	})
	return a
}

func set(t *testing.T, name, text string) cluster.Set {
	t.Helper()
	s := cluster.Set{Plugin: name, Namespace: "default"}
	for _, document := range strings.Split(text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		s.Objects = append(s.Objects, o)
	}
	return s
}

func (a *application) apply(s cluster.Set) {
	a.t.Helper()
	if err := a.c.Apply(a.ctx, s, pluginLimits); err != nil {
		a.t.Fatal(err)
	}
}

func (a *application) inventory(name string) string {
	a.t.Helper()
	m, err := a.kube.CoreV1().ConfigMaps(contract.NamespacePlugins).Get(a.ctx, contract.PluginInventoryName(name), metav1.GetOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	var refs []cluster.Ref
	if err := json.Unmarshal([]byte(m.Data["objects.json"]), &refs); err != nil {
		a.t.Fatal(err)
	}
	var texts []string
	for _, r := range refs {
		texts = append(texts, r.String())
	}
	return strings.Join(texts, ", ")
}

// exists reports whether kubectl finds an object.
func (a *application) exists(args ...string) bool {
	a.t.Helper()
	return strings.TrimSpace(must(a.t, "", append([]string{"get", "--ignore-not-found", "-o", "name"}, args...)...)) != ""
}

const bundle = `apiVersion: v1
kind: Namespace
metadata: {name: shelf}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: books.library.example.com}
spec:
  group: library.example.com
  scope: Namespaced
  names: {kind: Book, plural: books, singular: book, listKind: BookList}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: rules, namespace: shelf}
data: {limit: "3"}
---
apiVersion: library.example.com/v1
kind: Book
metadata: {name: first, namespace: shelf}
spec: {title: one}`

const oneMore = `
---
apiVersion: v1
kind: ConfigMap
metadata: {name: more, namespace: shelf}
data: {a: b}`

// TestPluginObjects: objects are applied once, repaired, pruned and removed, and nothing else is.
func TestPluginObjects(t *testing.T) {
	a := newApplication(t)
	a.apply(set(t, "library", bundle+oneMore))
	if want := "Namespace shelf, CustomResourceDefinition books.library.example.com, ConfigMap shelf/rules, Book shelf/first, ConfigMap shelf/more"; a.inventory("library") != want {
		t.Errorf("the inventory has %s, want %s", a.inventory("library"), want)
	}
	version := func() string {
		return must(t, "", "get", "configmap/rules", "book/first", "-n", "shelf", "-o", "jsonpath={.items[*].metadata.resourceVersion}")
	}
	before := version()
	a.apply(set(t, "library", bundle+oneMore))
	if after := version(); after != before {
		t.Errorf("a second time changes the objects: %s, then %s", before, after)
	}

	must(t, "", "patch", "configmap", "rules", "-n", "shelf", "--type=merge", "-p", `{"data": {"limit": "99", "own": "x"}}`)
	must(t, "", "create", "configmap", "own", "-n", "shelf")
	a.apply(set(t, "library", bundle))
	if got := must(t, "", "get", "configmap", "rules", "-n", "shelf", "-o", "jsonpath={.data.limit} {.data.own}"); got != "3 x" {
		t.Errorf("after a repair the data are %q: want the plugin's value, and the field of another manager as it was", got)
	}
	if a.exists("configmap/more", "-n", "shelf") || !a.exists("configmap/own", "-n", "shelf") {
		t.Error("what the plugin does not have any more is deleted, and nothing else")
	}

	must(t, "apiVersion: library.example.com/v1\nkind: Book\nmetadata: {name: second, namespace: shelf}\n", "apply", "-n", "shelf", "-f", "-")
	kept, err := a.c.Remove(a.ctx, "library", pluginLimits)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(kept, "\n")
	if len(kept) != 2 || !strings.Contains(text, "CustomResourceDefinition books.library.example.com stays, because BPA has not applied Book shelf/second") ||
		!strings.Contains(text, "Namespace shelf stays") || !strings.Contains(text, "ConfigMap shelf/own") {
		t.Errorf("kept: %s", text)
	}
	if a.exists("configmap/rules", "-n", "shelf") || a.exists("book/first", "-n", "shelf") || !a.exists("book/second", "-n", "shelf") || !a.exists("configmap/own", "-n", "shelf") {
		t.Error("exactly the objects of the plugin are deleted")
	}

	must(t, "", "delete", "book/second", "configmap/own", "-n", "shelf")
	a.apply(set(t, "library", bundle))
	if kept, err := a.c.Remove(a.ctx, "library", pluginLimits); err != nil || len(kept) != 0 {
		t.Errorf("kept %v, %v", kept, err)
	}
	if a.exists("namespace/shelf") || a.exists("crd/books.library.example.com") || a.exists("configmap/"+contract.PluginInventoryName("library"), "-n", contract.NamespacePlugins) {
		t.Error("something of the plugin is left")
	}
}

// TestPluginObjectsOfOthers: an object of somebody else stops the plugin before anything is applied, and an
// object without the label is not deleted.
func TestPluginObjectsOfOthers(t *testing.T) {
	a := newApplication(t)
	must(t, "", "create", "namespace", "taken")
	must(t, "", "create", "configmap", "rules", "-n", "taken", "--from-literal=limit=1")
	text := strings.ReplaceAll(bundle, "shelf", "taken")
	err := a.c.Apply(a.ctx, set(t, "library", text), pluginLimits)
	if err == nil || !strings.Contains(err.Error(), "ConfigMap taken/rules exists already and is managed by kubectl-create") {
		t.Errorf("the error is %v", err)
	}
	if a.exists("crd/books.library.example.com") {
		t.Error("a part of the plugin was applied")
	}
	must(t, "", "delete", "configmap", "rules", "-n", "taken")
	library := set(t, "library", text)
	a.apply(library)
	if err := a.c.Ready(a.ctx, "library", library.Objects, pluginLimits.Ready); err != nil {
		t.Errorf("in a namespace that is not the plugin's: %v", err)
	}
	other := set(t, "other", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: rules, namespace: taken}\n")
	if err := a.c.Apply(a.ctx, other, pluginLimits); err == nil || !strings.Contains(err.Error(), "belongs to plugin library") {
		t.Errorf("an object of another plugin: %v", err)
	}
	must(t, "", "label", "configmap", "rules", "-n", "taken", contract.LabelPlugin+"-")
	if kept, err := a.c.Remove(a.ctx, "library", pluginLimits); err != nil || len(kept) != 0 {
		t.Errorf("kept %v, %v", kept, err)
	}
	if !a.exists("configmap/rules", "-n", "taken") || !a.exists("namespace/taken") || a.exists("crd/books.library.example.com") {
		t.Error("objects that are not the plugin's any more, and its namespace that was there before, must stay")
	}
	must(t, "", "delete", "namespace", "taken", "--wait=false")
}

const agents = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: default}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: main, image: "registry.example/agent:v1"}]}`

// TestPluginIsReady: a plugin is ready when its workloads are. If they are not, the error says what a person
// needs to know.
func TestPluginIsReady(t *testing.T) {
	a := newApplication(t)
	s := set(t, "agent", agents)
	a.apply(s)
	defer func() { _, _ = a.c.Remove(a.ctx, "agent", pluginLimits) }()
	pod := must(t, `{apiVersion: v1, kind: Pod, metadata: {name: agent-1, namespace: default, labels: {app: agent}}, spec: {containers: [{name: main, image: "registry.example/agent:v1"}]}}`,
		"create", "-n", "default", "-f", "-")
	defer must(t, "", "delete", "pod", "agent-1", "-n", "default", "--grace-period=0", "--force")
	must(t, "", "patch", "pod", "agent-1", "-n", "default", "--subresource=status", "--type=merge", "-p", `{"status": {"phase": "Pending", "containerStatuses": [{"name": "main",
		"image": "registry.example/agent:v1", "imageID": "", "ready": false, "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}}]}}`)
	status := func(ready string) {
		must(t, "", "patch", "daemonset", "agent", "-n", "default", "--subresource=status", "--type=merge", "-p",
			`{"status": {"observedGeneration": 1, "desiredNumberScheduled": 2, "currentNumberScheduled": 2, "numberMisscheduled": 0, "updatedNumberScheduled": 2, "numberAvailable": `+ready+`, "numberReady": `+ready+`}}`)
	}
	status("1")
	err := a.c.Ready(a.ctx, "agent", s.Objects, 2*time.Second)
	if !cluster.IsNotReady(err) {
		t.Fatalf("%s with one of two pods: %v", pod, err)
	}
	for _, want := range []string{"DaemonSet default/agent", "1/2", "pod agent-1", "container main waits: ImagePullBackOff of registry.example/agent:v1: not found"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not have %q: %v", want, err)
		}
	}
	ready := make(chan error, 1)
	go func() { ready <- a.c.Ready(a.ctx, "agent", s.Objects, time.Minute) }()
	status("2")
	if err := <-ready; err != nil {
		t.Errorf("with both pods: %v", err)
	}
}

// kubelet lets the pods of a namespace succeed or fail, until the test ends.
func (a *application) kubelet(namespace string, phase corev1.PodPhase) {
	a.t.Helper()
	changes, err := a.kube.CoreV1().Pods("").Watch(a.ctx, metav1.ListOptions{FieldSelector: "metadata.namespace=" + namespace})
	if err != nil {
		a.t.Fatal(err)
	}
	go func() {
		for change := range changes.ResultChan() {
			pod, ok := change.Object.(*corev1.Pod)
			if !ok || pod.Namespace != namespace {
				continue
			}
			if pod.DeletionTimestamp != nil {
				now := int64(0)
				_ = a.kube.CoreV1().Pods(namespace).Delete(a.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
				continue
			}
			if pod.Status.Phase == corev1.PodPending {
				pod.Status.Phase = phase
				_, _ = a.kube.CoreV1().Pods(namespace).UpdateStatus(a.ctx, pod, metav1.UpdateOptions{})
			}
		}
	}()
	a.t.Cleanup(changes.Stop)
}

const pluginTest = `apiVersion: batch/v1
kind: Job
metadata: {name: check}
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: check, image: "registry.example/check:v1"}]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: plugin-check}
rules: []`

// TestPluginTests: a test passes or fails with its Jobs, and nothing of it is left.
func TestPluginTests(t *testing.T) {
	a := newApplication(t)
	for name, phase := range map[string]corev1.PodPhase{"good": corev1.PodSucceeded, "bad": corev1.PodFailed} {
		namespace := plugin.TestNamespace(name)
		must(t, "", "create", "namespace", namespace) // of a run that was killed
		must(t, "", "label", "namespace", namespace, contract.LabelPlugin+"="+name)
		a.kubelet(namespace, phase)
		result, err := a.c.Test(a.ctx, name, set(t, name, pluginTest).Objects, time.Minute, pluginLimits)
		if err != nil {
			t.Fatal(err)
		}
		want := contract.TestPassed
		if phase == corev1.PodFailed {
			want = contract.TestFailed
		}
		if result.State != want || want == contract.TestFailed && !strings.Contains(result.Message, "Job "+namespace+"/check has failed") {
			t.Errorf("%s: %+v", name, result)
		}
		if a.exists("namespace/"+namespace) || a.exists("clusterrole/plugin-check") {
			t.Errorf("something of the test %s is left", name)
		}
	}
	slow, err := a.c.Test(a.ctx, "slow", set(t, "slow", pluginTest).Objects, time.Second, pluginLimits)
	if err != nil || slow.State != contract.TestFailed || !strings.Contains(slow.Message, "the Job has not ended") {
		t.Errorf("a test that does not end: %+v, %v", slow, err)
	}
	if jobs, err := a.kube.BatchV1().Jobs("").List(a.ctx, metav1.ListOptions{}); err != nil || len(jobs.Items) > 0 {
		t.Errorf("Jobs are left: %v, %v", names(jobs), err)
	}
}

func names(jobs *batchv1.JobList) (all []string) {
	for _, j := range jobs.Items {
		all = append(all, j.Name)
	}
	return all
}
