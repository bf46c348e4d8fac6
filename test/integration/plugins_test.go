//go:build integration

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/akraino-icn/bpa/pkg/plugin"
	"github.com/akraino-icn/bpa/pkg/plugin/render"
)

// pluginParameters give plugins objects that they do not have with their defaults.
var pluginParameters = map[string]string{
	"sriov-network": `{"policies": [{"name": "x710", "resourceName": "x710", "numVfs": 4, "nicSelector": {"vendor": "8086"}}]}`,
}

// TestObjectsOfPluginsAreValid sends the objects of all plugins that are shipped with BPA to a real API
// server. Namespaces and CRDs are created, because other objects need them; everything else is a dry
// run.
func TestObjectsOfPluginsAreValid(t *testing.T) {
	all := plugin.Shipped()
	var live []string
	for _, name := range all.Names() {
		if all[name].Status == plugin.Live {
			live = append(live, name)
		}
	}
	ordered, err := all.Order(live...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ordered {
		complete, problems := p.Complete(json.RawMessage(pluginParameters[p.Name]))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		r, err := render.Render(p, complete, render.Cluster{KubernetesVersion: "1.35.4"})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(p.Name, func(t *testing.T) {
			first, rest := split(r.Objects)
			applyObjects(t, first, "")
			for _, o := range first {
				if o.GetKind() == "CustomResourceDefinition" {
					awaitEstablished(t, o.GetName())
				}
			}
			applyObjects(t, rest, render.NamespaceOf(p), "--dry-run=server")
			if len(r.Test) == 0 {
				return
			}
			namespace := plugin.TestNamespace(p.Name)
			applyObjects(t, []*unstructured.Unstructured{object("Namespace", namespace)}, "")
			applyObjects(t, []*unstructured.Unstructured{object("ServiceAccount", "default")}, namespace) // no controller creates it here
			applyObjects(t, r.Test, namespace, "--dry-run=server")
		})
	}
}

// awaitEstablished waits until a kind can be used. kubectl wait ends with an error if the kind has no
// conditions yet.
func awaitEstablished(t *testing.T, name string) {
	t.Helper()
	said := ""
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		raw, err := shared.run(ctx, nil, "get", "crd", name, "-o", "json")
		said = raw
		var crd apiextensionsv1.CustomResourceDefinition
		return err == nil && json.Unmarshal([]byte(raw), &crd) == nil && slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		}), nil
	})
	if err != nil {
		t.Errorf("CustomResourceDefinition %s is not established: %v\n%s", name, err, said)
	}
}

func object(kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name}}}
}

func split(objects []*unstructured.Unstructured) (first, rest []*unstructured.Unstructured) {
	for _, o := range objects {
		if o.GetKind() == "Namespace" || o.GetKind() == "CustomResourceDefinition" {
			first = append(first, o)
		} else {
			rest = append(rest, o)
		}
	}
	return first, rest
}

// applyObjects applies objects strictly. Those without a namespace belong into this one, if their kind has
// namespaces.
func applyObjects(t *testing.T, objects []*unstructured.Unstructured, namespace string, flags ...string) {
	t.Helper()
	var named, unnamed strings.Builder
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		to := &unnamed
		if o.GetNamespace() != "" {
			to = &named
		}
		fmt.Fprintf(to, "---\n%s", text)
	}
	args := append([]string{"apply", "--server-side", "--validate=strict", "--field-manager=plugins-test", "-f", "-"}, flags...)
	if named.Len() > 0 {
		mustKubectl(t, named.String(), args...)
	}
	if unnamed.Len() > 0 && namespace != "" {
		args = append(args, "--namespace="+namespace)
	}
	if unnamed.Len() > 0 {
		mustKubectl(t, unnamed.String(), args...)
	}
}

func mustKubectl(t *testing.T, stdin string, args ...string) {
	t.Helper()
	if out, err := shared.run(t.Context(), []byte(stdin), args...); err != nil {
		t.Errorf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
