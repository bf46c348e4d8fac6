package v1alpha1

import (
	"os"
	"regexp"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// An empty optional string means the same as a missing one. Therefore, no pattern of the schema may
// reject an empty string, except that of a field that is a number or a percentage.
func TestSchemaTakesEmptyTexts(t *testing.T) {
	raw, err := os.ReadFile("../../../../config/300-provisionings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	patterns := 0
	var look func(path string, schema apiextensionsv1.JSONSchemaProps)
	look = func(path string, schema apiextensionsv1.JSONSchemaProps) {
		required := map[string]bool{}
		for _, name := range schema.Required {
			required[name] = true
		}
		for name, property := range schema.Properties {
			if property.Pattern != "" && !required[name] && !property.XIntOrString { // an empty number or percentage is a mistake
				patterns++
				if !regexp.MustCompile(property.Pattern).MatchString("") {
					t.Errorf("%s.%s: %s refuses an empty text", path, name, property.Pattern)
				}
			}
			look(path+"."+name, property)
		}
		if schema.Items != nil && schema.Items.Schema != nil {
			look(path+"[]", *schema.Items.Schema)
		}
		if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
			look(path+".*", *schema.AdditionalProperties.Schema)
		}
	}
	for _, version := range crd.Spec.Versions {
		look("spec", version.Schema.OpenAPIV3Schema.Properties["spec"])
	}
	if patterns < 5 {
		t.Errorf("found %d patterns: has the schema moved?", patterns)
	}
}
