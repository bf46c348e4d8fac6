package settings

import (
	_ "embed"

	corev1 "k8s.io/api/core/v1"
)

// exampleKey is the key of the ConfigMap that is no setting, as in the ConfigMaps of Knative.
const exampleKey = "_example"

// example explains all settings.
//
//go:embed example.yaml
var example string

// New returns the ConfigMap for a site that has none. It explains the settings and has none of them, so
// no run starts before a user has written depot-url.
func New() *corev1.ConfigMap {
	cm := &corev1.ConfigMap{Data: map[string]string{exampleKey: example}}
	cm.Namespace, cm.Name, cm.Labels = Namespace, Name, map[string]string{"app.kubernetes.io/part-of": "bpa"}
	return cm
}
