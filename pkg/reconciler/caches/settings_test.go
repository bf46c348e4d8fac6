package caches

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"knative.dev/pkg/configmap"
	logtesting "knative.dev/pkg/logging/testing"

	"github.com/akraino-icn/bpa/pkg/settings"
)

// A controller that starts with an invalid ConfigMap does not use the defaults, and starts no run.
// If the ConfigMap becomes invalid later, the controller keeps its settings, and also starts no
// run.
func TestWatchSettings(t *testing.T) {
	t.Setenv("SYSTEM_NAMESPACE", settings.Namespace)
	watcher := &manualWatcher{}
	changes := 0
	current := WatchSettings(logtesting.TestContextWithLogger(t), watcher, func() { changes++ })
	if current().Invalid == "" {
		t.Error("the settings can be used before they are read")
	}
	const url = "https://10.60.0.1:5443"
	for i, step := range []struct {
		data map[string]string
		url  string
		good bool
	}{
		{map[string]string{"depot-uri": url}, "", false},
		{map[string]string{"depot-url": url}, url, true},
		{map[string]string{"depot-url": "nonsense"}, url, false},
		{map[string]string{"depot-url": ""}, url, false}, // the Internet in earlier releases
		{map[string]string{"max-runs": "2"}, url, false}, // it was lost
		{map[string]string{"depot-url": "internet"}, "", true},
	} {
		watcher.observe(siteConfig(step.data))
		if got := current(); got.Depot.URL != step.url || (got.Invalid == "") != step.good || changes != i+1 {
			t.Errorf("step %d: %+v after %d changes", i, got, changes)
		}
	}
}

// The controller creates the ConfigMap if it does not exist, and never changes one that exists, also if
// somebody else creates it at the same time.
func TestEnsureSettings(t *testing.T) {
	sites := siteConfig(map[string]string{"depot-url": "https://d"})
	stored := func(t *testing.T, kube *fake.Clientset) map[string]string {
		t.Helper()
		cm, err := kube.CoreV1().ConfigMaps(settings.Namespace).Get(t.Context(), settings.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return cm.Data
	}
	absent, present, raced := fake.NewClientset(), fake.NewClientset(sites), fake.NewClientset()
	raced.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return false, nil, raced.Tracker().Add(sites)
	})
	for name, test := range map[string]struct {
		kube *fake.Clientset
		want map[string]string
	}{
		"absent":               {absent, settings.New().Data},
		"created before":       {absent, settings.New().Data},
		"of the site":          {present, sites.Data},
		"created at that time": {raced, sites.Data},
	} {
		if err := ensureSettings(t.Context(), test.kube); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(test.want, stored(t, test.kube)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	broken := fake.NewClientset()
	broken.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no answer") })
	if err := ensureSettings(t.Context(), broken); err == nil || !strings.Contains(err.Error(), "create ConfigMap bpa-system/config-bpa: no answer") {
		t.Errorf("error %v", err)
	}
}

// The controller creates the ConfigMap again after a deletion.
func TestKeepSettings(t *testing.T) {
	kube := fake.NewClientset()
	all := kube.CoreV1().ConfigMaps(settings.Namespace)
	seen, err := all.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watches := make(chan struct{}, 1)
	kube.PrependWatchReactor("configmaps", func(a clienttesting.Action) (bool, watch.Interface, error) {
		w, err := kube.Tracker().Watch(a.GetResource(), a.GetNamespace())
		select {
		case watches <- struct{}{}:
		default:
		}
		return true, w, err
	})
	go KeepSettings(t.Context(), kube)
	await := func(want watch.EventType) {
		t.Helper()
		select {
		case got := <-seen.ResultChan():
			if got.Type != want {
				t.Fatalf("event %s, want %s", got.Type, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no event %s", want)
		}
	}
	await(watch.Added)
	<-watches // otherwise the deletion could come before the controller looks
	for range 2 {
		if err := all.Delete(t.Context(), settings.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		await(watch.Deleted)
		await(watch.Added)
	}
}

// manualWatcher is a configmap.Watcher. The test calls its observer itself.
type manualWatcher struct{ observe configmap.Observer }

func (w *manualWatcher) Watch(_ string, o ...configmap.Observer) { w.observe = o[0] }
func (w *manualWatcher) Start(<-chan struct{}) error             { return nil }

func siteConfig(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}, Data: data}
}
