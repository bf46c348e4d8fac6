package provisioning

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"knative.dev/pkg/configmap"

	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// SettingsName is the ConfigMap with the site's settings, in the controller's namespace.
const SettingsName = "config-bpa"

// Settings are the site's.
type Settings struct {
	// Depot is that of Provisionings that name none.
	Depot  resources.Depot
	Limits plan.Limits
}

// DefaultSettings hold where the ConfigMap says nothing.
func DefaultSettings() Settings {
	return Settings{Limits: plan.Limits{Attempts: 5, History: 5}}
}

// ParseSettings reads the ConfigMap.
func ParseSettings(cm *corev1.ConfigMap) (Settings, error) {
	s := DefaultSettings()
	err := configmap.Parse(cm.Data,
		configmap.AsString("depot-url", &s.Depot.URL),
		configmap.AsString("depot-ca", &s.Depot.CA),
		configmap.AsString("depot-image-url", &s.Depot.ImageURL),
		configmap.AsBool("depot-connected", &s.Depot.Connected),
		configmap.AsInt32("max-attempts", &s.Limits.Attempts),
		configmap.AsInt("run-history", &s.Limits.History),
	)
	if err != nil {
		return DefaultSettings(), fmt.Errorf("ConfigMap %s: %w", cm.Name, err)
	}
	s.Depot.URL, s.Depot.ImageURL = strings.TrimRight(s.Depot.URL, "/"), strings.TrimRight(s.Depot.ImageURL, "/")
	if s.Limits.Attempts < 1 || s.Limits.History < 1 {
		return DefaultSettings(), fmt.Errorf("ConfigMap %s: max-attempts and run-history must be at least 1", cm.Name)
	}
	return s, nil
}
