package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/akraino-icn/bpa/pkg/plugin"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// richer are parameters with which a shipped plugin has more objects than with its defaults.
var richer = map[string]string{
	"sriov-network": `{"policies": [{"name": "x710", "resourceName": "x710", "numVfs": 4, "mtu": 1500, "nicSelector": {"vendor": "8086", "deviceID": "1572"}}],
		"disableDrain": true, "extraNICs": {"mine": "8086 1521 1520"}}`,
	"qat": `{"kernelVfDrivers": ["c6xxvf"], "testResource": "generic", "servicesEnabled": "dc", "allocationPolicy": "packed"}`,
}

func TestShippedPluginsRender(t *testing.T) {
	for name, p := range plugin.Shipped() {
		if p.Status == plugin.Retired {
			continue
		}
		for _, parameters := range []string{"", richer[name]} {
			t.Run(name, func(t *testing.T) {
				complete, problems := p.Complete(json.RawMessage(parameters))
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				r, err := Render(p, complete, Cluster{KubernetesVersion: "1.35.4"})
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Unlisted) > 0 {
					t.Errorf("plugin.yaml does not list the images %v", r.Unlisted)
				}
				kinds := schemasOf(t, r.Objects)
				for _, o := range append(r.Objects, r.Test...) {
					if s, ok := kinds[o.GroupVersionKind()]; ok {
						validateStrictly(t, o, s)
						continue
					}
					decodeStrictly(t, o)
				}
			})
		}
	}
}

// TestShippedImagesAreUsed finds images that a plugin.yaml lists and that no parameters need.
func TestShippedImagesAreUsed(t *testing.T) {
	for name, p := range plugin.Shipped() {
		used := map[string]bool{}
		for _, parameters := range []string{"", richer[name]} {
			complete, _ := p.Complete(json.RawMessage(parameters))
			r, err := Render(p, complete, Cluster{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, image := range r.Images {
				used[image] = true
			}
		}
		for _, image := range p.Images {
			if !used[image] {
				t.Errorf("%s: no object names the image %s", name, image)
			}
		}
	}
}

// custom are the groups of custom resources that a plugin uses and another plugin defines, and of kinds
// of Kubernetes in a module that this one does not need.
var custom = []string{"nfd.k8s-sigs.io", "k8s.cni.cncf.io", "apiregistration.k8s.io"}

// schemasOf returns the schemas of the kinds that a plugin defines. Objects in them that name their
// fields have no others.
func schemasOf(t *testing.T, objects []*unstructured.Unstructured) map[schema.GroupVersionKind]*spec.Schema {
	t.Helper()
	out := map[schema.GroupVersionKind]*spec.Schema{}
	for _, o := range objects {
		if !isCRD(o) {
			continue
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &crd); err != nil {
			t.Fatal(err)
		}
		for _, version := range crd.Spec.Versions {
			text, err := json.Marshal(version.Schema.OpenAPIV3Schema)
			if err != nil {
				t.Fatal(err)
			}
			s := &spec.Schema{}
			if err := json.Unmarshal(text, s); err != nil {
				t.Fatal(err)
			}
			closeObjects(s)
			out[schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}] = s
		}
	}
	return out
}

func closeObjects(s *spec.Schema) {
	if len(s.Properties) > 0 {
		s.AdditionalProperties = &spec.SchemaOrBool{}
	}
	for name, inner := range s.Properties {
		closeObjects(&inner)
		s.Properties[name] = inner
	}
	if s.Items != nil && s.Items.Schema != nil {
		closeObjects(s.Items.Schema)
	}
}

func validateStrictly(t *testing.T, o *unstructured.Unstructured, s *spec.Schema) {
	t.Helper()
	if err := validate.AgainstSchema(s, o.Object, strfmt.Default); err != nil {
		t.Errorf("%s: %v", nameOf(o), err)
	}
}

var known = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		panic(err)
	}
	if err := apiextensionsv1.AddToScheme(s); err != nil {
		panic(err)
	}
	return s
}()

// decodeStrictly fails for a field that the object's type does not have.
func decodeStrictly(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	if group := o.GroupVersionKind().Group; !known.Recognizes(o.GroupVersionKind()) {
		for _, g := range custom {
			if group == g {
				return
			}
		}
		t.Errorf("%s: its kind %s is not known", nameOf(o), o.GroupVersionKind())
		return
	}
	text, err := json.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	codecs := serializer.NewCodecFactory(known, serializer.EnableStrict)
	if _, _, err := codecs.UniversalDeserializer().Decode(text, nil, nil); err != nil && !strings.Contains(err.Error(), "creationTimestamp") {
		t.Errorf("%s: %v", nameOf(o), err)
	}
}
