//go:build e2e

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"knative.dev/pkg/apis"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/test/site"
)

// pluginLimit is the time limit of one run for plugins. Those of the test need seconds.
const pluginLimit = 5 * time.Minute

// Plugins of the site. greeter has an image that the depot has, stranger one that no depot has. The test of
// liar fails.
var ownPlugins = map[string]map[string]string{
	"greeter": {
		"plugin.yaml": "name: greeter\nversion: v1\ndescription: Greets.\nnamespace: greeter\n" +
			"parameters: {type: object, properties: {name: {type: string, description: Who is greeted., default: nobody}}}\n",
		"manifests/greeting.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: greeting}\ndata: {text: hello $(params.name)}\n",
	},
	"stranger": {
		"plugin.yaml":        "name: stranger\nversion: v1\ndescription: Cannot run.\nimages: [registry.invalid/e2e/stranger:v1]\n",
		"manifests/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: stranger}\nspec: {containers: [{name: a, image: 'registry.invalid/e2e/stranger:v1'}]}\n",
	},
	"liar": {
		"plugin.yaml":       "name: liar\nversion: v1\ndescription: Its test fails.\nimages: [docker.io/library/busybox:1.35]\n",
		"manifests/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: liar}\n",
		"test.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: liar}\nspec:\n  backoffLimit: 0\n  template:\n    spec:\n      restartPolicy: Never\n" +
			"      containers:\n      - {name: a, image: 'docker.io/library/busybox:1.35', command: [sh, -c, 'echo I have lied; exit 1']}\n",
	},
}

// TestPlugins follows the plugins of one cluster. The missing image of a plugin keeps hosts from being
// claimed. Then two plugins are installed and tested, and two are skipped. An edit removes one, adds one of
// the site, and adds one that fails, which leaves the others as they are.
func TestPlugins(t *testing.T) {
	s := site.NewTenant(t, "e2e-plugins", 1, 0)
	pushPlugins(t, s, ownPlugins)
	p := s.Apply(s.Provisioning("edge-41", masters(1),
		withPluginsOf("multus", "nfd", "sriov-network", "qat", "stranger")))

	refused := site.Await(s, &v1alpha1.ProvisioningList{}, "the missing image to be found", pluginLimit, site.NotReady(string(contract.ReasonArtifactsMissing)))
	if f := refused.Status.Failure; f == nil || !strings.Contains(f.Message, "e2e/stranger:v1") {
		t.Errorf("status.failure is %+v, want a message with the image", f)
	}
	if held := s.Holders(); len(held) > 0 {
		t.Errorf("hosts are claimed: %v", held)
	}

	s.Change(p, withPluginsOf("multus", "nfd", "sriov-network", "qat"))
	early := site.Await(s, &v1alpha1.ProvisioningList{}, "the kubeconfig, before the plugins are installed", installLimit, func(p *v1alpha1.Provisioning) bool {
		return p.Status.GetCondition(v1alpha1.ConditionKubeconfigReady).IsTrue()
	})
	if early.Status.Run.CompletionTime != nil {
		t.Error("the kubeconfig was stored after the run")
	}
	ready := site.Await(s, &v1alpha1.ProvisioningList{}, "edge-41 to be Ready", pluginLimit, site.Ready)
	checkPlugins(t, ready, map[string]string{
		"multus": "Installed passed", "nfd": "Installed passed", "sriov-network": "Skipped", "qat": "Skipped",
	})
	if text := ready.Status.GetCondition(v1alpha1.ConditionPluginsInstalled).Message; !strings.Contains(text, "2 installed, 2 skipped") {
		t.Errorf("PluginsInstalled says %q", text)
	}
	kubeconfig := kubeconfigOf(t, s, ready)

	s.Change(p, withPluginsOf("multus", "sriov-network", "qat", "greeter", "liar"))
	failed := site.Await(s, &v1alpha1.ProvisioningList{}, "the plugin that fails", pluginLimit, site.NotReady(string(contract.ReasonPluginFailed)))
	checkPlugins(t, failed, map[string]string{
		"multus": "Installed passed", "greeter": "Installed none", "liar": "Failed failed", "sriov-network": "Skipped", "qat": "Skipped",
	})
	if test := pluginOf(failed, "liar").Test; test == nil || !strings.Contains(test.Message, "I have lied") {
		t.Errorf("the output of the test is not kept: %+v", test)
	}
	for _, kind := range []apis.ConditionType{v1alpha1.ConditionClusterInstalled, v1alpha1.ConditionKubeconfigReady} {
		if c := failed.Status.GetCondition(kind); !c.IsTrue() {
			t.Errorf("%s is %s: %s", kind, c.Status, c.Message)
		}
	}
	if out, err := site.Kubectl(kubeconfig, "", "get", "configmap", "greeting", "-n", "greeter", "-o", "jsonpath={.data.text}"); err != nil || out != "hello Ada" {
		t.Errorf("greeting %q, %v", out, err)
	}
	if out, err := site.Kubectl(kubeconfig, "", "get", "namespace", "node-feature-discovery"); err == nil || !strings.Contains(out, "NotFound") {
		t.Errorf("nfd was not removed: %s, %v", out, err)
	}

	s.Change(p, withPluginsOf("multus", "sriov-network", "qat", "greeter"))
	again := site.Await(s, &v1alpha1.ProvisioningList{}, "edge-41 to be Ready again", pluginLimit, site.Ready)
	if run := again.Status.Run.Operation; run != contract.OperationPlugins {
		t.Errorf("the last run did %s", run)
	}
	if out, err := bpa(t, s, "plugins", "test", p.Name, "multus"); err != nil || !strings.Contains(out, "is Installed; test: passed") {
		t.Errorf("kubectl bpa plugins test: %v\n%s", err, out)
	}
	checkNoSecretShown(t, s, p.Name)
}

// withPluginsOf requests these plugins.
func withPluginsOf(names ...string) func(*v1alpha1.Provisioning) {
	return func(p *v1alpha1.Provisioning) {
		p.Spec.KUDPlugins, p.Spec.Plugins = names, map[string]v1alpha1.PluginSpec{}
		for _, name := range names {
			if ownPlugins[name] != nil {
				p.Spec.Plugins[name] = v1alpha1.PluginSpec{Version: "v1"}
			}
		}
		if greeter, ok := p.Spec.Plugins["greeter"]; ok {
			greeter.Parameters = map[string]apiextensionsv1.JSON{"name": {Raw: []byte(`"Ada"`)}}
			p.Spec.Plugins["greeter"] = greeter
		}
	}
}

func pluginOf(p *v1alpha1.Provisioning, name string) v1alpha1.PluginStatus {
	for _, row := range p.Status.Plugins {
		if row.Name == name {
			return row
		}
	}
	return v1alpha1.PluginStatus{}
}

// checkPlugins compares the plugins in the status with "STATE TEST". Skipped ones have a reason and no test.
func checkPlugins(t *testing.T, p *v1alpha1.Provisioning, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, row := range p.Status.Plugins {
		got[row.Name] = string(row.State)
		if row.State == v1alpha1.PluginSkipped {
			if !strings.Contains(row.Message, "no node has") {
				t.Errorf("%s is skipped for the reason %q", row.Name, row.Message)
			}
			continue
		}
		if row.Test != nil {
			got[row.Name] += " " + row.Test.State
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
}

// bpa runs kubectl-bpa as the user of the site.
func bpa(t *testing.T, s *site.Site, args ...string) (string, error) {
	t.Helper()
	return bpaWithin(t, s, pluginLimit, args...)
}

// bpaWithin is bpa with another time limit.
func bpaWithin(t *testing.T, s *site.Site, limit time.Duration, args ...string) (string, error) {
	t.Helper()
	return bpaIn(t, s, s.Namespace, limit, args...)
}

// bpaIn is bpaWithin in another namespace than that of the tenant.
func bpaIn(t *testing.T, s *site.Site, namespace string, limit time.Duration, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	args = append(args, "--namespace", namespace, "--kubeconfig", s.Kubeconfig())
	out, err := exec.CommandContext(ctx, filepath.Join(site.State(), "bin", "kubectl-bpa"), args...).CombinedOutput()
	return string(out), err
}

// pushPlugins uploads plugins of the site to its depot, with an account that may write. The files of a
// plugin have paths.
func pushPlugins(t *testing.T, s *site.Site, plugins map[string]map[string]string) {
	t.Helper()
	s = s.Admin()
	settings := &corev1.ConfigMap{}
	if err := s.Get(t.Context(), client.ObjectKey{Namespace: "bpa-system", Name: "config-bpa"}, settings); err != nil {
		t.Fatal(err)
	}
	keeper(t, s)
	files := map[string]string{
		"token":  strings.TrimSpace(s.Kubectl("create", "token", "keeper", "--audience=depot.bpa.akraino.org", "--duration=1h")),
		"ca.crt": settings.Data["depot-ca"],
	}
	for name, plugin := range plugins {
		for path, text := range plugin {
			files[name+"/"+path] = text
		}
	}
	dir := t.TempDir()
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name := range plugins {
		out, err := bpa(t, s, "plugins", "push", filepath.Join(dir, name), "--depot", settings.Data["depot-url"],
			"--depot-token-file", filepath.Join(dir, "token"), "--depot-ca", filepath.Join(dir, "ca.crt"))
		if err != nil || !strings.Contains(out, "pushed plugins/"+name+":v1") {
			t.Fatalf("push %s: %v\n%s", name, err, out)
		}
	}
}
