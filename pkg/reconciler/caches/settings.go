package caches

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
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

// Unread returns the settings that apply until the ConfigMap is read for the first time. While they
// apply, no run starts, and no old run is deleted.
func Unread() Settings {
	s := Settings{Settings: settings.Default(), Invalid: "the site's settings have not been read yet"}
	s.keepRuns()
	return s
}

// Next returns the settings that follow s after a change of the ConfigMap.
func (s Settings) Next(cm *corev1.ConfigMap) Settings {
	parsed, err := settings.Parse(cm)
	if err != nil {
		s.Invalid = err.Error()
		s.keepRuns()
		return s
	}
	return Settings{Settings: parsed}
}

// keepRuns lets no run be deleted.
func (s *Settings) keepRuns() { s.RunHistory, s.RunHistoryAge = math.MaxInt, 0 }

// WatchSettings watches the ConfigMap with the site's settings and calls changed when they change.
// It returns a function that returns the current settings. If there is no ConfigMap, they are invalid.
func WatchSettings(ctx context.Context, cmw configmap.Watcher, changed func()) func() Settings {
	var current atomic.Pointer[Settings]
	initial := Unread()
	current.Store(&initial)
	observe := func(cm *corev1.ConfigMap) {
		next := current.Load().Next(cm)
		if next.Invalid != "" && cm.ResourceVersion != "" { // the watcher begins with a ConfigMap without one, also if there is a ConfigMap
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

// settingsRetry is the time between two tries to create the ConfigMap with the settings.
const settingsRetry = 5 * time.Second

// KeepSettings creates the ConfigMap with the site's settings if it does not exist, now and after each
// deletion, until ctx ends. Its content explains the settings and sets none.
func KeepSettings(ctx context.Context, kube kubernetes.Interface) {
	missing := make(chan struct{}, 1)
	look := func(any) {
		select {
		case missing <- struct{}{}:
		default: // the next look sees this deletion too
		}
	}
	one := informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, settings.Name).String()
	})
	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace(settings.Namespace), one)
	if _, err := factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: look}); err != nil {
		logging.FromContext(ctx).Errorw("Cannot watch the ConfigMap with the site's settings", "error", err)
	}
	factory.Start(ctx.Done())
	go func() { // only a deletion after this is reported
		factory.WaitForCacheSync(ctx.Done())
		look(nil)
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case <-missing:
		}
		_ = wait.PollUntilContextCancel(ctx, settingsRetry, true, func(ctx context.Context) (bool, error) { // ends only with ctx
			err := ensureSettings(ctx, kube)
			if err != nil {
				logging.FromContext(ctx).Warnw("Cannot create the ConfigMap with the site's settings", "error", err, "retry", settingsRetry.String())
			}
			return err == nil, nil
		})
	}
}

func ensureSettings(ctx context.Context, kube kubernetes.Interface) error {
	all := kube.CoreV1().ConfigMaps(settings.Namespace)
	_, err := all.Get(ctx, settings.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = all.Create(ctx, settings.New(), metav1.CreateOptions{})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create ConfigMap %s/%s: %w", settings.Namespace, settings.Name, err)
	}
	return nil
}
