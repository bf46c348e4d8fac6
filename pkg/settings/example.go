package settings

import (
	_ "embed"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: Name, Labels: map[string]string{"app.kubernetes.io/part-of": "bpa"}},
		Data:       map[string]string{exampleKey: example},
	}
}
