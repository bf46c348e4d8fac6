package provisioning

import (
	"context"
	"math"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/system"

	"github.com/akraino-icn/bpa/pkg/settings"
)

// Settings are the site's settings, with the problem in them if there is one.
type Settings struct {
	settings.Settings
	// Invalid describes the errors in the ConfigMap and how to fix them; empty: there are none.
	// While there are errors, no run starts and no run is deleted. The other fields then keep the
	// last valid values, or the defaults if there were none.
	Invalid string
}

// unread returns the settings that apply until the ConfigMap is read for the first time. While they
// apply, no run starts, and no old run is deleted.
func unread() Settings {
	s := Settings{Settings: settings.Default(), Invalid: "the site's settings have not been read yet"}
	s.RunHistory = math.MaxInt
	return s
}

// next returns the settings that follow s after a change of the ConfigMap.
func (s Settings) next(cm *corev1.ConfigMap) Settings {
	parsed, err := settings.Parse(cm)
	if err != nil {
		s.Invalid, s.RunHistory = err.Error(), math.MaxInt
		return s
	}
	return Settings{Settings: parsed}
}

// WatchSettings watches the ConfigMap with the site's settings and calls changed when they change.
// It returns a function that returns the current settings. If there is no ConfigMap, the defaults
// apply.
func WatchSettings(ctx context.Context, cmw configmap.Watcher, changed func()) func() Settings {
	var current atomic.Pointer[Settings]
	initial := unread()
	current.Store(&initial)
	observe := func(cm *corev1.ConfigMap) {
		next := current.Load().next(cm)
		if next.Invalid != "" {
			logging.FromContext(ctx).Errorw("The site's settings are invalid: no run starts", "error", next.Invalid)
		}
		if *current.Swap(&next) != next {
			changed()
		}
	}
	if d, ok := cmw.(configmap.DefaultingWatcher); ok {
		d.WatchWithDefault(corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: settings.Name, Namespace: system.Namespace()}}, observe)
	} else {
		cmw.Watch(settings.Name, observe)
	}
	return func() Settings { return *current.Load() }
}
