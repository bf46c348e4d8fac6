package provisioning

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

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/settings"
)

func siteConfig(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: settings.Namespace, Name: settings.Name}, Data: data}
}

// With invalid settings, no run starts, and no old run is deleted. When the settings are fixed, the
// installation starts automatically.
func TestWrongSettingsStartNothing(t *testing.T) {
	wrong := siteConfig(map[string]string{"depot-connected": "maybe"})
	w := newFixture(t, fitting(), []runtime.Object{edge(), sshKey()}, nil)
	w.settings = unread().next(wrong)
	w.settle(t)
	ready := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady)
	if w.runNamed(t, "edge-1-install-1") != nil || !ready.IsFalse() || ready.Reason != plan.ReasonBadSettings {
		t.Fatalf("a run was started, or Ready is %+v", ready)
	}
	for _, want := range []string{"depot-connected", `"maybe"`, `"true" or "false"`, "kubectl patch configmap config-bpa -n bpa-system"} {
		if !strings.Contains(ready.Message, want) {
			t.Errorf("Ready says\n%s\nwithout %s", ready.Message, want)
		}
	}

	w.settings = w.settings.next(siteConfig(map[string]string{"depot-url": "internet", "depot-connected": "false"}))
	w.settle(t)
	if w.runNamed(t, "edge-1-install-1") == nil {
		t.Errorf("the settings are right and nothing starts: %+v", w.stored(t).Status)
	}
}

// An installed cluster stays Ready, even with invalid settings. Its old runs are kept until the
// history limit is known.
func TestWrongSettingsLeaveWhatIsThere(t *testing.T) {
	p := edge()
	objects := []runtime.Object{p, sshKey()}
	for n := int32(1); n <= 7; n++ {
		objects = append(objects, run(p, n, ended(corev1.ConditionTrue, "Succeeded")))
	}
	w := newFixture(t, held(), objects, nil)
	w.settings = unread().next(siteConfig(map[string]string{"run-history": "seven"}))
	w.settle(t)
	if got := reasonOf(t, w); got != plan.ReasonInstalled || w.runNamed(t, "edge-1-install-1") == nil {
		t.Errorf("ClusterInstalled says %s, or an old run was deleted", got)
	}
}

// A depot with plain HTTP can be in a Provisioning that was stored before the webhook rejected it.
// It then starts no new run, unless a user accepts plain HTTP.
func TestPlainHTTPStartsNothing(t *testing.T) {
	plain := func(p *v1alpha1.Provisioning) { p.Spec.Depot.URL = "http://10.60.0.1:5000" }
	accepted := func(p *v1alpha1.Provisioning) { p.Spec.Depot.Insecure = true }
	upload := func(p *v1alpha1.Provisioning) { p.Spec.OSImage = &v1alpha1.OSImageSpec{Upload: "c1/edge-1/image.raw"} }
	for name, test := range map[string]struct {
		p      *v1alpha1.Provisioning
		site   settings.Depot
		starts bool
	}{
		"plain HTTP":                           {edge(plain), settings.Depot{}, false},
		"accepted":                             {edge(plain, accepted), settings.Depot{}, true},
		"accepted by the site":                 {edge(plain), settings.Depot{URL: "http://10.60.0.1:5000", Insecure: true}, true},
		"another one than the site's":          {edge(plain), settings.Depot{URL: "http://10.60.0.2:5000", Insecure: true}, false},
		"https":                                {edge(), settings.Depot{URL: "https://10.60.0.1:5443", ImageURL: "http://10.60.0.1:5000"}, true},
		"an image of no depot":                 {edge(upload), settings.Depot{}, false},
		"an image of the depot, by plain HTTP": {edge(upload), settings.Depot{URL: "https://10.60.0.1:5443", ImageURL: "http://10.60.0.1:5000"}, true},
	} {
		w := newFixture(t, fitting(), []runtime.Object{test.p, sshKey()}, nil)
		w.settings.Depot = test.site
		w.settle(t)
		ready := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady)
		if started := w.runNamed(t, "edge-1-install-1") != nil; started != test.starts || !started && (!ready.IsFalse() || ready.Reason != plan.ReasonDepotRefused) {
			t.Errorf("%s: started %t, Ready %+v", name, started, ready)
		}
	}
}

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

// TestSitesLoseTheirSettings: a ConfigMap with an empty depot-url, as earlier releases had it, or without
// one starts nothing. It does not restart a failed run, and changes no settled Software.
func TestSitesLoseTheirSettings(t *testing.T) {
	for name, data := range map[string]map[string]string{"emptied": {"depot-url": "", "max-attempts": "5"}, "lost": nil, "new": settings.New().Data} {
		for when, before := range map[string]func(Settings) Settings{
			"while the controller runs":    func(s Settings) Settings { return s },
			"before the controller starts": func(Settings) Settings { return unread() },
		} {
			t.Run(name+" "+when, func(t *testing.T) {
				w := withTools(t)
				w.settle(t)
				w.finishSoftware(t, "edge-1-software-2", true)
				w.settle(t)
				runs, was := len(w.runs(t)), w.stored(t).Status
				w.settings, w.packages = before(w.settings).next(siteConfig(data)), nil
				w.settle(t)
				if now := w.runs(t); len(now) != runs {
					t.Errorf("%d runs became %d", runs, len(now))
				}
				if diff := cmp.Diff(was, w.stored(t).Status); diff != "" {
					t.Errorf("the status has changed (-before +after):\n%s", diff)
				}
			})
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
