// Command kubevirt prints the objects of KubeVirt's operator: its kind, rights and Deployment. They come
// from KubeVirt's own generators. hack/plugin-crds.sh runs it.
package main

import (
	"bytes"
	"fmt"
	"os"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/components"
	"kubevirt.io/kubevirt/pkg/virt-operator/resource/generate/rbac"
	"kubevirt.io/kubevirt/tools/util"
)

const (
	namespace = "kubevirt"
	version   = "v1.8.2" // as in go.mod and plugins/kubevirt/plugin.yaml
)

func main() {
	text, err := operator()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kubevirt:", err)
		os.Exit(1)
	}
	os.Stdout.Write(text)
}

func operator() ([]byte, error) {
	kind, err := components.NewKubeVirtCrd()
	if err != nil {
		return nil, err
	}
	for i := range kind.Spec.Versions {
		withoutDescriptions(kind.Spec.Versions[i].Schema.OpenAPIV3Schema)
	}
	priority := components.NewKubeVirtPriorityClassCR()
	deployment := components.NewOperatorDeployment(namespace, "quay.io/kubevirt", "", version, "2", version,
		"", "", "", "", "", "", "", "", "", "", "", "", "", "", "IfNotPresent")
	all := append([]any{kind, priority}, rbac.GetAllOperator(namespace)...)
	var out bytes.Buffer
	fmt.Fprintln(&out, "# Generated from KubeVirt's Go packages by hack/plugin-crds.sh. Do not edit.")
	for _, object := range append(all, deployment) {
		if err := util.MarshallObject(object, &out); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// withoutDescriptions removes the texts of a schema, which are half of it.
func withoutDescriptions(schema *extv1.JSONSchemaProps) {
	schema.Description = ""
	for name, inner := range schema.Properties {
		withoutDescriptions(&inner)
		schema.Properties[name] = inner
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		withoutDescriptions(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		withoutDescriptions(schema.AdditionalProperties.Schema)
	}
}
