package render

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/plugin"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Cluster are the facts about the application cluster that a chart can read.
type Cluster struct {
	KubernetesVersion string   // such as 1.35.4, without a leading v; empty: that of Helm's library
	APIVersions       []string // further APIs of the cluster, such as monitoring.coreos.com/v1
}

// Rendered is a plugin with its parameters.
type Rendered struct {
	// Objects are the plugin's objects in the order in which they are applied: namespaces, CRDs, then
	// the others, with webhooks and custom resources last. No two of them are the same object. An
	// object without a namespace belongs into plugin.Definition.Namespace if its kind has namespaces:
	// only the cluster's API can tell for all kinds.
	Objects []*unstructured.Unstructured
	// Test are the objects of the test, in the same order; nil: the plugin has no test. None of them
	// names another namespace than plugin.TestNamespace.
	Test []*unstructured.Unstructured
	// Images are the images that the cluster needs for the objects and the test, sorted: those that
	// containers name, those of the definition that occur in any other text of the objects, and the
	// definition's indirect images.
	Images []string
	// Unlisted are those of Images that the definition does not list. Only a parameter can cause them.
	Unlisted []string
}

const (
	maxObjects = 1000
	maxYAML    = 8 << 20 // bytes of all rendered files
)

// Render makes the objects of a plugin. The parameters are complete: see plugin.Plugin.Complete. An
// error names the file.
func Render(p plugin.Plugin, parameters json.RawMessage, cluster Cluster) (Rendered, error) {
	values, err := plugin.Values(parameters)
	if err != nil {
		return Rendered{}, err
	}
	var objects, tests []*unstructured.Unstructured
	switch {
	case p.Has(plugin.ChartDir):
		objects, tests, err = chartObjects(p, values, cluster)
	default:
		objects, err = manifests(p, values)
	}
	if err != nil {
		return Rendered{}, err
	}
	if objects, err = arrange(withNamespace(p, objects)); err != nil {
		return Rendered{}, err
	}
	out := Rendered{Objects: objects}
	if out.Test, err = test(p, values, tests); err != nil {
		return Rendered{}, err
	}
	return out, out.findImages(p)
}

// Check renders a plugin with its defaults. It finds what Load cannot: a chart that does not render, an
// object that cannot be applied, and an image that plugin.yaml does not list. A plugin with a parameter
// that has no default cannot be rendered before a user sets it, so it is not checked.
func Check(p plugin.Plugin) error {
	complete, problems := p.Complete(nil)
	if p.Status == plugin.Retired || len(problems) > 0 {
		return nil
	}
	r, err := Render(p, complete, Cluster{})
	if err != nil {
		return err
	}
	if len(r.Unlisted) > 0 {
		return fmt.Errorf("%s: images: the objects also need %s", plugin.DefinitionFile, strings.Join(r.Unlisted, ", "))
	}
	return nil
}

// manifests returns the objects of the manifests.
func manifests(p plugin.Plugin, values map[string]any) (all []*unstructured.Unstructured, err error) {
	for _, path := range p.Paths() {
		if !strings.HasPrefix(path, plugin.ManifestsDir+"/") {
			continue
		}
		if !strings.HasSuffix(path, ".yaml") {
			return nil, fmt.Errorf("%s: a manifest's name ends with .yaml", path)
		}
		objects, err := decodeAndSubstitute(path, p.Content[path], values)
		if err != nil {
			return nil, err
		}
		all = append(all, objects...)
	}
	return all, nil
}

func decodeAndSubstitute(path string, text []byte, values map[string]any) ([]*unstructured.Unstructured, error) {
	objects, err := decode(path, text, true)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		changed, err := plugin.Substitute(o.Object, values)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, nameOf(o), err)
		}
		o.Object = changed.(map[string]any)
		if err := check(o); err != nil { // a parameter can be in the name
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return objects, nil
}

// test returns the objects of test.yaml and of the chart's test hooks.
func test(p plugin.Plugin, values map[string]any, hooks []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	objects, from := hooks, plugin.ChartDir
	if text, ok := p.Content[plugin.TestFile]; ok {
		own, err := decodeAndSubstitute(plugin.TestFile, text, values)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(own, isJob) {
			return nil, fmt.Errorf("%s: it has no Job: the test has passed when all Jobs are complete", plugin.TestFile)
		}
		objects, from = append(objects, own...), plugin.TestFile
	}
	for _, o := range objects {
		if isNamespace(o) {
			return nil, fmt.Errorf("%s: %s: a test has no Namespace: leave it out, the test runs in a namespace of its own", from, nameOf(o))
		}
		if ns := o.GetNamespace(); ns != "" && ns != plugin.TestNamespace(p.Name) {
			return nil, fmt.Errorf("%s: %s: it has the namespace %s: leave it out, the test runs in a namespace of its own", from, nameOf(o), ns)
		}
	}
	objects, err := arrange(objects)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return objects, nil
}

func isJob(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Job" && o.GetAPIVersion() == "batch/v1"
}

// standing are the namespaces that each cluster has.
var standing = []string{"", plugin.DefaultNamespace, "default", "kube-public", "kube-node-lease"}

// withNamespace adds the plugin's namespace if no object is that namespace.
func withNamespace(p plugin.Plugin, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	if slices.Contains(standing, p.Namespace) || slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool {
		return isNamespace(o) && o.GetName() == p.Namespace
	}) {
		return objects
	}
	return append(objects, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": p.Namespace},
	}})
}

func isNamespace(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Namespace" && o.GetAPIVersion() == "v1"
}

func isCRD(o *unstructured.Unstructured) bool {
	return o.GetKind() == "CustomResourceDefinition" && o.GroupVersionKind().Group == "apiextensions.k8s.io"
}

// arrange sorts objects by their ranks and names, checks their labels, and refuses two that are the same
// object.
func arrange(objects []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if len(objects) > maxObjects {
		return nil, fmt.Errorf("%d objects are more than %d", len(objects), maxObjects)
	}
	seen := map[string]bool{}
	var errs []error
	for _, o := range objects {
		errs = append(errs, checkTexts(o))
		key := o.GroupVersionKind().GroupKind().String() + " " + o.GetNamespace() + "/" + o.GetName()
		if seen[key] {
			errs = append(errs, fmt.Errorf("%s occurs twice", nameOf(o)))
		}
		seen[key] = true
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects, errors.Join(errs...)
}

// rank is Helm's order of kinds, with CRDs after namespaces. Kinds that Helm does not know are last: first
// the webhooks, then custom resources.
func rank(o *unstructured.Unstructured) int {
	switch {
	case isNamespace(o):
		return -2
	case isCRD(o):
		return -1
	}
	if i := slices.Index(releaseutil.InstallOrder, o.GetKind()); i >= 0 {
		return i
	}
	if o.GroupVersionKind().Group == "admissionregistration.k8s.io" {
		return len(releaseutil.InstallOrder)
	}
	return len(releaseutil.InstallOrder) + 1
}

func nameOf(o *unstructured.Unstructured) string {
	if ns := o.GetNamespace(); ns != "" {
		return fmt.Sprintf("%s %s/%s", o.GetKind(), ns, o.GetName())
	}
	return fmt.Sprintf("%s %s", o.GetKind(), o.GetName())
}
