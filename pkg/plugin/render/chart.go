package render

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/third_party/helm/engine"
)

// chartObjects renders a plugin's chart as "helm template" does for a release with the plugin's name
// in the plugin's namespace. It returns the objects and those of the chart's test hooks. The chart's own schema of values is not used: the plugin's applies, and
// Helm would follow references in it over the network.
func chartObjects(p plugin.Plugin, values map[string]any, cluster Cluster) (objects, tests []*unstructured.Unstructured, err error) {
	c, err := loadChart(p)
	if err != nil {
		return nil, nil, err
	}
	capabilities, err := capabilitiesOf(cluster)
	if err != nil {
		return nil, nil, err
	}
	if want := c.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, capabilities.KubeVersion.String()) {
		return nil, nil, fmt.Errorf("%s: it needs Kubernetes %s, and the cluster has %s", plugin.ChartDir, want, capabilities.KubeVersion.Version)
	}
	if err := chartutil.ProcessDependenciesWithMerge(c, values); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", plugin.ChartDir, err)
	}
	release := chartutil.ReleaseOptions{Name: p.Name, Namespace: NamespaceOf(p), Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValuesWithSchemaValidation(c, values, release, capabilities, true)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", plugin.ChartDir, err)
	}
	files, err := engine.Engine{Strict: false, EnableDNS: false}.Render(c, all)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", plugin.ChartDir, err)
	}
	for _, crd := range c.CRDObjects() {
		files[path.Join(c.Name(), crd.Filename)] = string(crd.File.Data)
	}
	return objectsOfFiles(files, release.Namespace)
}

// NamespaceOf returns the namespace of a plugin's objects that name none.
func NamespaceOf(p plugin.Plugin) string {
	if p.Namespace == "" {
		return plugin.DefaultNamespace
	}
	return p.Namespace
}

func loadChart(p plugin.Plugin) (*chart.Chart, error) {
	var files []*loader.BufferedFile
	for _, name := range p.Paths() {
		if inner, ok := strings.CutPrefix(name, plugin.ChartDir+"/"); ok {
			files = append(files, &loader.BufferedFile{Name: inner, Data: p.Content[name]})
		}
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", plugin.ChartDir, err)
	}
	if c.Metadata.Type == "library" {
		return nil, fmt.Errorf("%s: a library chart has no objects", plugin.ChartDir)
	}
	for _, d := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(c.Dependencies(), func(has *chart.Chart) bool { return has.Name() == d.Name }) {
			return nil, fmt.Errorf("%s: the chart %s, on which it depends, is not in %s/charts: run \"helm dependency update\"", plugin.ChartDir, d.Name, plugin.ChartDir)
		}
	}
	return c, nil
}

func capabilitiesOf(cluster Cluster) (*chartutil.Capabilities, error) {
	out := chartutil.DefaultCapabilities.Copy()
	out.APIVersions = append(slices.Clone(out.APIVersions), cluster.APIVersions...)
	if cluster.KubernetesVersion == "" {
		return out, nil
	}
	version, err := chartutil.ParseKubeVersion("v" + strings.TrimPrefix(cluster.KubernetesVersion, "v"))
	if err != nil {
		return nil, fmt.Errorf("version of Kubernetes %q: %w", cluster.KubernetesVersion, err)
	}
	out.KubeVersion = *version
	return out, nil
}

func objectsOfFiles(files map[string]string, namespace string) (objects, tests []*unstructured.Unstructured, err error) {
	size := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if size += len(files[name]); size > maxYAML {
			return nil, nil, fmt.Errorf("%s: the rendered files have more than %d bytes", plugin.ChartDir, maxYAML)
		}
		base := path.Base(name)
		if base == "NOTES.txt" || strings.HasPrefix(base, "_") || strings.TrimSpace(files[name]) == "" {
			continue
		}
		all, err := decode(name, []byte(files[name]), false)
		if err != nil {
			return nil, nil, err
		}
		for _, o := range all {
			switch partOf(o) {
			case ofInstallation:
				objects = append(objects, o)
			case ofTest:
				if o.GetNamespace() == namespace {
					o.SetNamespace("") // the test has a namespace of its own
				}
				tests = append(tests, o)
			}
		}
	}
	if !slices.ContainsFunc(tests, isJob) {
		tests = nil // Pods, as many charts have them, tell nobody when a test is over
	}
	return objects, tests, nil
}

type part int

const (
	ofNothing part = iota
	ofInstallation
	ofTest
)

// partOf returns what an object is for. Hooks of an installation are plain objects here: nothing waits
// for them and nothing deletes them. Hooks of tests belong to the plugin's test. Other hooks, such as
// those before a deletion, have no place.
func partOf(o *unstructured.Unstructured) part {
	hooks := o.GetAnnotations()["helm.sh/hook"]
	if hooks == "" {
		return ofInstallation
	}
	found := ofNothing
	for hook := range strings.SplitSeq(hooks, ",") {
		switch strings.TrimSpace(hook) {
		case "pre-install", "post-install", "crd-install":
			return ofInstallation
		case "test", "test-success":
			found = ofTest
		}
	}
	return found
}
