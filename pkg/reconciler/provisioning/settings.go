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

// Settings are the site's as a visit sees them.
type Settings struct {
	settings.Settings
	// Invalid says what is wrong with the ConfigMap, and how to fix it; empty: nothing. While it is set no run starts and none is deleted, and the
	// other fields are the last good ones, if there were any.
	Invalid string
}

// unread are the settings before the first good ones: with them nothing starts and no run is too old.
func unread() Settings {
	s := Settings{Settings: settings.Default(), Invalid: "the site's settings are not read yet"}
	s.RunHistory = math.MaxInt
	return s
}

// next are the settings after the ConfigMap has changed.
func (s Settings) next(cm *corev1.ConfigMap) Settings {
	parsed, err := settings.Parse(cm)
	if err != nil {
		s.Invalid, s.RunHistory = err.Error(), math.MaxInt
		return s
	}
	return Settings{Settings: parsed}
}

// watchSettings follows the site's settings. When they change, every Provisioning is visited. A ConfigMap that is not there leaves the defaults.
func watchSettings(ctx context.Context, cmw configmap.Watcher, changed func()) func() Settings {
	var current atomic.Pointer[Settings]
	initial := unread()
	current.Store(&initial)
	observe := func(cm *corev1.ConfigMap) {
		next := current.Load().next(cm)
		if next.Invalid != "" {
			logging.FromContext(ctx).Errorw("The site's settings are wrong: no run starts", "error", next.Invalid)
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
