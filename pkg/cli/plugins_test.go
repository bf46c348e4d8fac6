package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/depot/client"
	"github.com/akraino-icn/bpa/pkg/depot/depottest"
	"github.com/akraino-icn/bpa/pkg/plugin"
)

const (
	ownPlugin = `name: tuner
version: v1.0.0
description: Tunes the kernel of nodes.
upstream: https://tuner.example
license: Apache-2.0
needs: [nfd]
nodes: {sriov: true}
drains: true
images: [registry.example/tuner:v1]
parameters:
  type: object
  required: [profile]
  properties:
    profile: {type: string, description: What the nodes are tuned for., enum: [latency, throughput]}
    swap: {type: boolean, description: Nodes keep their swap space., default: false}
kubespray: {vars: {kubelet_fail_swap_on: false}}
`
	ownObject = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tuner}\ndata: {profile: $(params.profile)}\n"
)

// catalog has one plugin of each kind.
func catalog(t *testing.T) plugin.Catalog {
	t.Helper()
	all, err := plugin.LoadAll(fstest.MapFS{
		"tuner/plugin.yaml":       {Data: []byte(ownPlugin)},
		"tuner/manifests/cm.yaml": {Data: []byte(ownObject)},
		"tuner/configure.yml":     {Data: []byte("- {hosts: all, tasks: []}\n")},
		"olden/plugin.yaml":       {Data: []byte("name: olden\ndescription: Tuned nodes.\nstatus: retired\nsuccessor: tuner\nreason: its author has retired.\n")},
		"alone/plugin.yaml":       {Data: []byte("name: alone\ndescription: Did much.\nstatus: retired\nreason: nobody needs it\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestPluginPages(t *testing.T) {
	all := catalog(t)
	golden(t, "testdata/plugins/list.txt", pluginList(all))
	for _, name := range all.Names() {
		text, err := pluginPage(all[name])
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/plugins/show-"+name+".txt", text)
	}
	for _, name := range plugin.Shipped().Names() {
		if _, err := pluginPage(plugin.Shipped()[name]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPluginsCommand(t *testing.T) {
	w := newStopped(t)
	w.expect(w.run(t.Context(), "plugins"), codeDone, "NAME", "multus", "qat", "retired")
	w.expect(w.run(t.Context(), "plugins", "show", "multus"), codeDone, "PARAMETER", "logLevel")
	w.expect(w.run(t.Context(), "plugins", "show", "mutlus"), codeFailed, "did you mean multus?")
	w.expect(w.run(t.Context(), "plugins", "show"), codeUsage, "expected NAME, got 0 arguments")
	w.expect(w.run(t.Context(), "plugins", "test", "edge-1"), codeUsage, "expected CLUSTER and NAME, got 1 arguments")
}

// written writes a plugin's directory.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const pushable = "name: tuner\nversion: v1.0.0\ndescription: Tunes nodes.\nneeds: [nfd]\nimages: [registry.example/tuner:v1]\n"

const pushableObject = "apiVersion: v1\nkind: Pod\nmetadata: {name: tuner}\nspec: {containers: [{name: a, image: registry.example/tuner:v1}]}\n"

// TestPushPlugin pushes a plugin twice to a depot, which then has it by its tag.
func TestPushPlugin(t *testing.T) {
	depot := depottest.Start(t)
	dir := written(t, map[string]string{"plugin.yaml": pushable, "manifests/pod.yaml": pushableObject})
	var out, errOut bytes.Buffer
	run := func(args ...string) int {
		out.Reset()
		errOut.Reset()
		return Run(t.Context(), append([]string{"plugins", "push"}, args...), genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut})
	}
	if code := run(dir, "--check"); code != codeDone || out.String() != "plugin tuner v1.0.0 is valid\n" {
		t.Errorf("check: code %d: %s%s", code, out.String(), errOut.String())
	}
	if code := run(dir); code != codeUsage {
		t.Errorf("without a depot: code %d: %s", code, errOut.String())
	}
	for range 2 {
		if code := run(dir, "--depot", depot.URL); code != codeDone {
			t.Fatalf("code %d: %s", code, errOut.String())
		}
	}
	text := bytes.ReplaceAll(out.Bytes(), []byte(depot.URL), []byte("DEPOT"))
	golden(t, "testdata/plugins/push.txt", string(text))
	there, err := client.Connect(t.Context(), depot.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	place, err := artifacts.Image{Ref: "depot.invalid/plugins/tuner:v1.0.0"}.Place()
	if err != nil {
		t.Fatal(err)
	}
	if found, err := there.Describe(t.Context(), place); err != nil || found == nil {
		t.Errorf("the depot has %v, %v", found, err)
	}
}

func TestPushRefuses(t *testing.T) {
	w := newStopped(t)
	for says, files := range map[string]map[string]string{
		"the plugin has no such file":  {"README.md": "x"},
		"BPA ships a plugin multus":    {"plugin.yaml": "name: multus\nversion: v1\ndescription: Ours.\n", "manifests/pod.yaml": pushableObject},
		"is retired: there is nothing": {"plugin.yaml": "name: olden\ndescription: Old.\nstatus: retired\nreason: old\n"},
		"unknown field":                {"plugin.yaml": pushable + "colour: red\n"},
		"registry.example/tuner:v1":    {"plugin.yaml": "name: tuner\nversion: v1\ndescription: Ours.\n", "manifests/pod.yaml": pushableObject},
		"nodes: a plugin of a site":    {"plugin.yaml": pushable + "nodes: {sriov: true}\n", "manifests/pod.yaml": pushableObject},
		"kubespray.vars: a plugin of":  {"plugin.yaml": pushable + "kubespray: {vars: {kubelet_fail_swap_on: false}}\n", "manifests/pod.yaml": pushableObject},
		"kubespray.groups: a plugin":   {"plugin.yaml": pushable + "kubespray: {groups: {tuned: workers}}\n", "manifests/pod.yaml": pushableObject},
		"the plugin does nothing":      {"plugin.yaml": "name: tuner\nversion: v1\ndescription: Ours.\n"},
	} {
		w.errOut.Reset()
		w.expect(w.run(t.Context(), "plugins", "push", written(t, files), "--depot", "https://depot.invalid"), codeFailed, says)
	}
}

// withPlugins gives an installed cluster plugins in every state.
func withPlugins(p *v1alpha1.Provisioning) {
	isReady(p)
	p.Status.InstalledDigest = "v3:sha256:1"
	p.Status.Run = &v1alpha1.RunStatus{Name: "edge-1-install-1", Operation: "install", Attempt: 1, StartTime: &metav1.Time{Time: created}, CompletionTime: &metav1.Time{Time: noon}}
	p.Status.Plugins = []v1alpha1.PluginStatus{
		{Name: "multus", Version: "v4.2.2", State: v1alpha1.PluginInstalled, Test: &v1alpha1.PluginTestStatus{State: "passed", Message: "net1: 2 packets"}},
		{Name: "nfd", Version: "v0.17.3", State: v1alpha1.PluginFailed, Message: "Deployment nfd-master: 0 of 1 pods are ready", NeededBy: []string{"qat"}},
		{Name: "qat", Version: "0.34.1", State: v1alpha1.PluginSkipped, Message: "no node has QAT, x86_64"},
	}
	p.Status.MarkPluginsInstalled(corev1.ConditionFalse, string(contract.ReasonPluginFailed), "run edge-1-install-1 failed in install-plugins (PluginFailed): see status.failure")
}

func TestStatusShowsPlugins(t *testing.T) {
	p := provisioning("edge-1")
	withPlugins(p)
	w := newStopped(t, p)
	w.expect(w.run(t.Context(), "status", "edge-1"), codeDone,
		"PLUGIN  VERSION  STATE      TEST    MESSAGE\nmultus  v4.2.2   Installed  passed\nnfd     v0.17.3  Failed     -       Deployment nfd-master: 0 of 1 pods are ready; needed by qat\n"+
			"qat     0.34.1   Skipped    -       no node has QAT, x86_64\n", "PluginsInstalled")
}

// TestPluginTest requests a run, waits for its end, and reports the result of the test.
func TestPluginTest(t *testing.T) {
	for name, r := range map[string]struct {
		plugin string
		test   v1alpha1.PluginTestStatus
		code   int
		says   string
	}{
		"passed": {"multus", v1alpha1.PluginTestStatus{State: "passed", Message: "net1: 3 packets"}, codeDone, "plugin multus v4.2.2 in cluster edge-1 is Installed; test: passed\nnet1: 3 packets"},
		"failed": {"nfd", v1alpha1.PluginTestStatus{State: "failed", Message: "no label"}, codeFailed, "plugin nfd v0.17.3 in cluster edge-1 is Failed; test: failed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := provisioning("edge-1")
			withPlugins(p)
			w := newTerminal(t, p)
			code := w.start("plugins", "test", "edge-1", r.plugin)
			w.awaitWatch()
			w.change(p, func(p *v1alpha1.Provisioning) {
				if p.Annotations[contract.AnnotationRetry] == "" {
					t.Error("no run was requested")
				}
				p.Status.Run = &v1alpha1.RunStatus{Name: "edge-1-plugins-2", Operation: contract.OperationPlugins, Attempt: 1, StartTime: &metav1.Time{Time: time.Now()}}
			})
			w.change(p, func(p *v1alpha1.Provisioning) {
				p.Status.Run.CompletionTime = &metav1.Time{Time: time.Now()}
				for i := range p.Status.Plugins {
					if p.Status.Plugins[i].Name == r.plugin {
						p.Status.Plugins[i].Test = ptr.To(r.test)
					}
				}
			})
			w.expect(<-code, r.code, r.says)
		})
	}
}

func TestPluginTestThatCannotStart(t *testing.T) {
	for says, r := range map[string]struct {
		plugin string
		change func(*v1alpha1.Provisioning)
		code   int
	}{
		"cluster edge-1 has no plugins":                              {"multus", func(p *v1alpha1.Provisioning) { p.Status.Plugins = nil }, codeFailed},
		"cluster edge-1 has no plugin kata; it has multus, nfd, qat": {"kata", func(*v1alpha1.Provisioning) {}, codeFailed},
		"plugin qat is skipped in cluster edge-1: no node has QAT":   {"qat", func(*v1alpha1.Provisioning) {}, codeNotYet},
		"kubectl bpa resume edge-1":                                  {"multus", func(p *v1alpha1.Provisioning) { p.Spec.Paused = true }, codeFailed},
		"run edge-1-install-1 is active":                             {"multus", func(p *v1alpha1.Provisioning) { p.Status.Run.CompletionTime = nil }, codeFailed},
		"cluster edge-1 is not installed yet":                        {"multus", func(p *v1alpha1.Provisioning) { p.Status.InstalledDigest = "" }, codeNotYet},
	} {
		p := provisioning("edge-1")
		withPlugins(p)
		r.change(p)
		w := newStopped(t, p)
		w.expect(w.run(t.Context(), "plugins", "test", "edge-1", r.plugin), r.code, says)
		set(w, p, func(p *v1alpha1.Provisioning) {
			if p.Annotations[contract.AnnotationRetry] != "" {
				t.Errorf("%s: a run was requested", says)
			}
		})
	}
}

// TestPlanWithPlugins: the plugins are the last operation, and those without a host are skipped.
func TestPlanWithPlugins(t *testing.T) {
	p, objects := changing(t)
	p.Spec.KUDPlugins, p.Spec.NodeSets[0].Count.Active = []string{"multus", "sriov-network", "qat"}, 1
	w := newStopped(t, objects...)
	w.golden("plan/plugins", w.run(t.Context(), "plan", "edge-1"))
}

// TestPlanWithPluginsAndNewNodes: the run that adds nodes also installs the plugins.
func TestPlanWithPluginsAndNewNodes(t *testing.T) {
	p, objects := changing(t)
	p.Spec.KUDPlugins, p.Spec.NodeSets[0].Count.Active = []string{"multus"}, 3
	w := newStopped(t, objects...)
	w.golden("plan/plugins-nodes", w.run(t.Context(), "plan", "edge-1"))
}
