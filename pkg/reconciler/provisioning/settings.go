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

// Settings are the site's settings during a reconcile.
type Settings struct {
	settings.Settings
	// Invalid describes the errors in the ConfigMap and how to fix them; empty: there are none.
	// While it is set, no run starts and none is deleted. The other fields then have the last valid
	// values, if there were any.
	Invalid string
}

// unread returns the settings before the first valid ones. With them, no run starts and no run is
// deleted as too old.
func unread() Settings {
	s := Settings{Settings: settings.Default(), Invalid: "the site's settings were not read yet"}
	s.RunHistory = math.MaxInt
	return s
}

// next returns the settings after a change of the ConfigMap.
func (s Settings) next(cm *corev1.ConfigMap) Settings {
	parsed, err := settings.Parse(cm)
	if err != nil {
		s.Invalid, s.RunHistory = err.Error(), math.MaxInt
		return s
	}
	return Settings{Settings: parsed}
}

// watchSettings watches the site's settings. When they change, every Provisioning is reconciled.
// Without a ConfigMap, the defaults apply.
func watchSettings(ctx context.Context, cmw configmap.Watcher, changed func()) func() Settings {
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
