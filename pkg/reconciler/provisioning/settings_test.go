package provisioning

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
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
	w.settings = caches.Unread().Next(wrong)
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

	w.settings = w.settings.Next(siteConfig(map[string]string{"depot-url": "internet", "depot-connected": "false"}))
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
	w.settings = caches.Unread().Next(siteConfig(map[string]string{"run-history": "seven"}))
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

// TestSitesLoseTheirSettings: a ConfigMap with an empty depot-url, as earlier releases had it, or without
// one starts nothing. It does not restart a failed run, and changes no settled Software.
func TestSitesLoseTheirSettings(t *testing.T) {
	for name, data := range map[string]map[string]string{"emptied": {"depot-url": "", "max-attempts": "5"}, "lost": nil, "new": settings.New().Data} {
		for when, before := range map[string]func(caches.Settings) caches.Settings{
			"while the controller runs":    func(s caches.Settings) caches.Settings { return s },
			"before the controller starts": func(caches.Settings) caches.Settings { return caches.Unread() },
		} {
			t.Run(name+" "+when, func(t *testing.T) {
				w := withTools(t)
				w.settle(t)
				w.finishSoftware(t, "edge-1-software-2", true)
				w.settle(t)
				runs, was := len(w.runs(t)), w.stored(t).Status
				w.settings, w.packages = before(w.settings).Next(siteConfig(data)), nil
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
