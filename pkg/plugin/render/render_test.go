package render

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const definition = `name: web
version: v1.0.0
description: A plugin.
namespace: web
images: [docker.io/library/nginx:1.29, docker.io/library/proxy:2, docker.io/library/proxy:2.1]
indirectImages: [docker.io/library/hidden:1]
parameters:
  type: object
  properties:
    replicas: {type: integer, default: 2}
    image: {type: string, default: docker.io/library/nginx:1.29}
    labels: {type: object, additionalProperties: {type: string}, default: {}}
`

// web returns the plugin with these files. The first is a path, the second its content, and so on.
func web(t testing.TB, files ...string) plugin.Plugin {
	t.Helper()
	dir := fstest.MapFS{"plugin.yaml": {Data: []byte(definition)}}
	for i := 0; i < len(files); i += 2 {
		dir[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	p, err := plugin.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// render renders with these parameters and their defaults.
func render(t testing.TB, p plugin.Plugin, parameters string) (Rendered, error) {
	t.Helper()
	complete, problems := p.Complete(json.RawMessage(parameters))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return Render(p, complete, Cluster{KubernetesVersion: "1.35.4"})
}

func list(objects []*unstructured.Unstructured) string {
	var names []string
	for _, o := range objects {
		names = append(names, nameOf(o))
	}
	return strings.Join(names, ", ")
}

const (
	deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: $(params.labels)}
spec:
  replicas: $(params.replicas)
  template:
    spec:
      initContainers: [{name: init, image: docker.io/library/nginx:1.29}]
      containers:
      - name: web
        image: $(params.image)
        args: [--proxy=docker.io/library/proxy:2, --replicas=$(params.replicas)]
      volumes: [{name: data, image: {reference: "docker.io/library/proxy:2.1"}}]
`
	chartFile = "apiVersion: v2\nname: web\nversion: 1.0.0\n"
)

func TestManifests(t *testing.T) {
	r, err := render(t, web(t,
		"manifests/b.yaml", deployment+"---\n# nothing\n---\napiVersion: web.example/v1\nkind: Page\nmetadata: {name: page}\n",
		"manifests/a.yaml", `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: web}}
- {apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: web}}
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: pages.web.example}}
`, "test.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: test}\nspec: {template: {spec: {containers: [{image: docker.io/library/nginx:1.29}]}}}\n"),
		`{"labels": {"a": "b"}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := "Namespace web, CustomResourceDefinition pages.web.example, Service web, Deployment web, ValidatingWebhookConfiguration web, Page page"
	if diff := cmp.Diff(want, list(r.Objects)); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("Job test", list(r.Test)); diff != "" {
		t.Errorf("test (-want +got):\n%s", diff)
	}
	images := []string{"docker.io/library/hidden:1", "docker.io/library/nginx:1.29", "docker.io/library/proxy:2", "docker.io/library/proxy:2.1"}
	if diff := cmp.Diff(images, r.Images); diff != "" || len(r.Unlisted) > 0 {
		t.Errorf("images, %v not listed (-want +got):\n%s", r.Unlisted, diff)
	}
	spec := r.Objects[3].Object["spec"].(map[string]any)
	if spec["replicas"] != int64(2) || r.Objects[3].GetLabels()["a"] != "b" {
		t.Errorf("parameters: %v", r.Objects[3].Object)
	}
}

func TestChart(t *testing.T) {
	p := web(t, "chart/Chart.yaml", chartFile, "chart/values.yaml", "port: 80\nreplicas: 7\n",
		"chart/crds/page.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: pages.web.example}\n",
		"chart/templates/_helpers.tpl", `{{ define "name" }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}`,
		"chart/templates/NOTES.txt", "not YAML: at: all",
		"chart/templates/config.yaml", `
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ include "name" . }}, namespace: {{ .Release.Namespace }}}
data: {replicas: "{{ .Values.replicas }}", port: "{{ .Values.port }}", version: {{ .Capabilities.KubeVersion.Version }}, again: a, again: b}
---
{{- if .Capabilities.APIVersions.Has "web.example/v1" }}
not: rendered
{{- end }}
`,
		"chart/templates/hooks.yaml", strings.Join([]string{
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: before, annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}}",
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: cleanup, annotations: {helm.sh/hook: pre-delete}}",
			"apiVersion: batch/v1\nkind: Job\nmetadata: {name: test, namespace: web, annotations: {helm.sh/hook: test}}",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: test, annotations: {helm.sh/hook: test}}",
		}, "\n---\n"))
	r, err := render(t, p, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("Namespace web, CustomResourceDefinition pages.web.example, ConfigMap web/web-web, Job before", list(r.Objects)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("Pod test, Job test", list(r.Test)); diff != "" {
		t.Errorf("test (-want +got):\n%s", diff)
	}
	want := map[string]any{"replicas": "2", "port": "80", "version": "v1.35.4", "again": "b"}
	if diff := cmp.Diff(want, r.Objects[2].Object["data"]); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestChartWithPodTests(t *testing.T) {
	r, err := render(t, web(t, "chart/Chart.yaml", chartFile, "chart/templates/test.yaml",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: test, annotations: {helm.sh/hook: test}}"), "")
	if err != nil || len(r.Test) > 0 {
		t.Errorf("test %v, error %v", list(r.Test), err)
	}
}

func TestImageByParameter(t *testing.T) {
	r, err := render(t, web(t, "manifests/a.yaml", deployment), `{"image": "registry.site.example/mine@sha256:`+strings.Repeat("a", 64)+`"}`)
	if err != nil || len(r.Unlisted) != 1 || !strings.HasPrefix(r.Unlisted[0], "registry.site.example/mine@") {
		t.Errorf("not listed %v, error %v", r.Unlisted, err)
	}
	if _, err := render(t, web(t, "manifests/a.yaml", deployment), `{"image": "nginx"}`); err == nil || !strings.Contains(err.Error(), "Deployment web: image \"nginx\" has neither a tag nor a digest") {
		t.Errorf("got %v", err)
	}
}

func TestRenderRefuses(t *testing.T) {
	one := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	chart := func(text string) []string {
		return []string{"chart/Chart.yaml", chartFile, "chart/templates/a.yaml", text}
	}
	manifest := func(text string) []string { return []string{"manifests/a.yaml", text} }
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"no name":                {manifest("apiVersion: v1\nkind: Pod\nmetadata: {generateName: a}\n"), "a Pod has no metadata.name"},
		"no kind":                {manifest("apiVersion: v1\nmetadata: {name: a}\n"), "manifests/a.yaml: document 1: an object has no kind"},
		"no metadata":            {manifest("apiVersion: v1\nkind: Pod\nmetadata: a\n"), "an object has no metadata"},
		"number as name":         {manifest("apiVersion: v1\nkind: Pod\nmetadata: {name: 1}\n"), "a Pod has no metadata.name"},
		"number as a label":      {manifest("apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {b: 1}}\n"), "metadata.labels has a value that is not a string"},
		"list of a list":         {manifest("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, metadata: {}, items: []}]\n"), "items[0]: a List has no metadata.name"},
		"text":                   {manifest("hello"), "document 1: it is not an object"},
		"key twice":              {manifest(one + "data: {a: b, a: c}\n"), `key "a" already set in map`},
		"aliases":                {manifest("a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n"), "excessive aliasing"},
		"object twice":           {manifest(one + "---\n" + one), "ConfigMap a occurs twice"},
		"unknown parameter":      {manifest(one + "data: {a: $(params.b)}\n"), "manifests/a.yaml: ConfigMap a: data: a: $(params.b): the parameter has no value"},
		"name by a parameter":    {manifest("apiVersion: v1\nkind: Pod\nmetadata: {name: $(params.replicas)}\n"), "a Pod has no metadata.name"},
		"file name":              {[]string{"manifests/a.txt", one}, "manifests/a.txt: a manifest's name ends with .yaml"},
		"many objects":           {manifest(strings.Repeat(one+"---\n", maxObjects+1)), "more than 1000 objects"},
		"test without a job":     {append(manifest(one), "test.yaml", one), "test.yaml: it has no Job"},
		"test with a namespace":  {append(manifest(one), "test.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: prod}\n"), "test.yaml: Namespace prod: a test has no Namespace"},
		"test elsewhere":         {append(manifest(one), "test.yaml", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, namespace: default}\n"), "Job default/a: it has the namespace default"},
		"template does not read": {chart("{{ .Values.a"), "unclosed action"},
		"template fails":         {chart(`{{ required "say replicas" .Values.missing }}`), "say replicas"},
		"template calls nothing": {chart(`{{ include "missing" . }}`), "no template"},
		"template has no end":    {chart(`{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}`), "nested reference name"},
		"environment":            {chart(`a: {{ env "HOME" }}`), `function "env" not defined`},
		"not YAML":               {chart("a: b: c"), "web/templates/a.yaml: document 1"},
		"no chart":               {[]string{"chart/templates/a.yaml", one}, "Chart.yaml file is missing"},
		"library chart":          {[]string{"chart/Chart.yaml", chartFile + "type: library\n"}, "a library chart has no objects"},
		"missing dependency":     {[]string{"chart/Chart.yaml", chartFile + "dependencies: [{name: redis, version: 1.0.0, repository: 'https://a.example'}]\n"}, "the chart redis, on which it depends, is not in chart/charts"},
		"other Kubernetes":       {[]string{"chart/Chart.yaml", chartFile + "kubeVersion: '>= 1.99.0'\n"}, "it needs Kubernetes >= 1.99.0, and the cluster has v1.35.4"},
		"much output":            {chart(`{{ range until 900 }}# {{ repeat 10000 "x" }}` + "\n{{ end }}"), "the rendered files have more than"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, web(t, c.files...), "")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant an error with %q", err, c.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	required := strings.Replace(definition, "type: object\n", "type: object\n  required: [host]\n", 1)
	required = strings.Replace(required, "properties:\n", "properties:\n    host: {type: string}\n", 1)
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"good":               {[]string{"manifests/a.yaml", deployment}, ""},
		"image not listed":   {[]string{"manifests/a.yaml", strings.ReplaceAll(deployment, "nginx:1.29", "other:1")}, "plugin.yaml: images: the objects also need docker.io/library/other:1"},
		"does not render":    {[]string{"chart/Chart.yaml", chartFile, "chart/templates/a.yaml", "{{"}, "chart: parse error"},
		"parameter required": {[]string{"plugin.yaml", required, "manifests/a.yaml", config + "data: {a: $(params.host)}\n"}, ""},
	} {
		err := Check(web(t, c.files...))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestNamespaces(t *testing.T) {
	for name, c := range map[string]struct{ namespace, want string }{
		"a standing namespace": {"default", "ConfigMap a"},
		"none":                 {"", "ConfigMap a"},
		"its own":              {"web", "Namespace web, ConfigMap a"},
	} {
		p := web(t, "manifests/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
		p.Namespace = c.namespace
		r, err := render(t, p, "")
		if err != nil || list(r.Objects) != c.want {
			t.Errorf("%s: got %s, %v, want %s", name, list(r.Objects), err, c.want)
		}
	}
	own := web(t, "manifests/a.yaml", "apiVersion: v1\nkind: Namespace\nmetadata: {name: web, labels: {a: b}}\n")
	if r, err := render(t, own, ""); err != nil || len(r.Objects) != 1 || r.Objects[0].GetLabels()["a"] != "b" {
		t.Errorf("the plugin's own namespace: %v, %v", list(r.Objects), err)
	}
}

func FuzzManifests(f *testing.F) {
	f.Add(deployment)
	f.Add("apiVersion: v1\nkind: List\nitems: [{}, 1, null]\n---\n")
	f.Add("apiVersion: 1\nkind: [a]\nmetadata: {name: {a: b}, annotations: [1]}")
	f.Add("a: &a [*a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		p := plugin.Plugin{Definition: plugin.Definition{Name: "a", Namespace: "a"}, Content: map[string][]byte{"manifests/a.yaml": []byte(text)}}
		r, err := Render(p, json.RawMessage(`{"replicas": 1, "labels": {}, "image": "docker.io/a/b:1"}`), Cluster{})
		if err != nil {
			return
		}
		for _, o := range r.Objects {
			if o.GetName() == "" || o.GetKind() == "" || o.GetAPIVersion() == "" {
				t.Errorf("object %v", o.Object)
			}
			if _, err := o.MarshalJSON(); err != nil {
				t.Error(err)
			}
			o.DeepCopy() // panics for a value that objects cannot have
		}
	})
}

func FuzzChart(f *testing.F) {
	f.Add("apiVersion: v1\nkind: Pod\nmetadata: {name: {{ .Values.a }}}")
	f.Add(`{{ tpl "{{ .Values.a }}" . }}`)
	f.Add(`{{ lookup "v1" "Pod" "" "" }}{{ getHostByName "example.com" }}`)
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "range") || strings.Contains(text, "gen") || strings.Contains(text, "repeat") || strings.Contains(text, "until") {
			t.Skip("a template may use much time")
		}
		p := plugin.Plugin{Definition: plugin.Definition{Name: "a"}, Content: map[string][]byte{"chart/Chart.yaml": []byte(chartFile), "chart/templates/a.yaml": []byte(text)}}
		r, err := Render(p, json.RawMessage(`{"a": "b"}`), Cluster{})
		if err == nil {
			for _, o := range r.Objects {
				o.DeepCopy()
			}
		}
	})
}
