package provisioning

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"knative.dev/pkg/kmeta"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/contract/from"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/caches"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/settings"
)

// wantsUpload requests an OS image that was uploaded to the depot. The controller learns the digest
// of such an image only from the result of the task seed-registry.
func wantsUpload(p *v1alpha1.Provisioning) {
	p.Spec.Depot.URL = "http://site:5000"
	p.Spec.OSImage = &v1alpha1.OSImageSpec{Upload: "o/c/jammy.raw"}
}

// TestImages: the controller gives claimed hosts the image of the spec. It does so once, and only
// while the run that claimed them is active.
func TestImages(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	bare := func(change ...func(*hosts.Host)) *fakeHosts {
		f := held()
		f.all[0].Bare, f.all[0].Node = true, "master-1"
		for _, c := range change {
			c(&f.all[0])
		}
		return f
	}
	cancelled := func(pr *tekton.PipelineRun) { pr.Spec.Status = tekton.PipelineRunSpecStatusCancelled }
	for _, row := range []struct {
		name    string
		edge    *v1alpha1.Provisioning
		hosts   *fakeHosts
		run     func(*tekton.PipelineRun)
		selects corev1.ConditionStatus // condition of select-hosts; empty: it has not started
		want    []string
	}{
		{"a claimed host gets the image", edge(wantsUpload), bare(), nil, corev1.ConditionUnknown, []string{"host-1=master-1 " + sum}},
		{"also after the claim, as a standby", edge(wantsUpload), bare(), nil, corev1.ConditionTrue, []string{"host-1=master-1 " + sum}},
		{"no spec.osImage", edge(), bare(), nil, corev1.ConditionUnknown, nil},
		{"no node yet", edge(wantsUpload), bare(func(h *hosts.Host) { h.Node = "" }), nil, corev1.ConditionUnknown, nil},
		{"it has one", edge(wantsUpload), bare(func(h *hosts.Host) { h.Imaged = true }), nil, corev1.ConditionUnknown, nil},
		{"claimed by an earlier Provisioning of the name", edge(wantsUpload), bare(func(h *hosts.Host) { h.Holder.UID = "earlier" }), nil, corev1.ConditionUnknown, nil},
		{"no task claims yet", edge(wantsUpload), bare(), nil, "", nil},
		{"the claim failed", edge(wantsUpload), bare(), nil, corev1.ConditionFalse, nil},
		{"the run is being cancelled", edge(wantsUpload), bare(), cancelled, corev1.ConditionUnknown, nil},
		{"the run has ended", edge(wantsUpload), bare(), ended(corev1.ConditionFalse, "Failed"), corev1.ConditionTrue, nil},
		{"deletion", edge(wantsUpload, deleting), bare(), nil, corev1.ConditionUnknown, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			pr := run(row.edge, 1)
			if row.run != nil {
				row.run(pr)
			}
			world := []runtime.Object{row.edge, pr, requestOf(t, pr, row.edge, settings.Depot{}), child(pr, contract.TaskSeedRegistry, corev1.ConditionTrue, map[string]string{contract.ResultOSImage: sum})}
			if row.selects != "" {
				world = append(world, child(pr, contract.TaskSelectHosts, row.selects, nil))
			}
			w := newFixture(t, row.hosts, world, nil)
			for range 2 { // twice equals once
				_ = w.visit(t, at) // some cases return an error or request another reconcile
			}
			if diff := cmp.Diff(row.want, row.hosts.imaged); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
		})
	}
}

// requestOf returns the ConfigMap with the request of a run, which p describes, and names it in the run.
func requestOf(t *testing.T, pr *tekton.PipelineRun, p *v1alpha1.Provisioning, site settings.Depot) *corev1.ConfigMap {
	t.Helper()
	request, err1 := from.Provisioning(p, site)
	cm, err2 := resources.MakeRequestConfigMap(p, request, resources.RunNumber(pr.Name))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	cm.UID, cm.OwnerReferences = types.UID("uid-"+cm.Name), []metav1.OwnerReference{*kmeta.NewControllerRef(pr)}
	pr.Annotations[runs.AnnotationRequest] = string(cm.UID)
	return cm
}

// TestImagesOfTheRun: the request of the active run decides which image claimed hosts receive and
// when the claim is complete. An edit of the spec or of the site's settings during the run does not
// change that, and an image without an address is never written.
func TestImagesOfTheRun(t *testing.T) {
	sum := strings.Repeat("0a", 32)
	good := caches.Settings{Settings: settings.Default()}
	good.Depot.URL = "https://site:5000"
	upload := func(p *v1alpha1.Provisioning) { p.Spec.OSImage = &v1alpha1.OSImageSpec{Upload: "o/c/jammy.raw"} }
	for _, row := range []struct {
		name     string
		edit     func(*v1alpha1.Provisioning)
		started  caches.Settings // when the run was started
		settings caches.Settings // now
		want     []string
	}{
		{"nothing was edited", func(*v1alpha1.Provisioning) {}, good, good, []string{"host-1=master-1 " + sum}},
		{"osImage was removed", func(p *v1alpha1.Provisioning) { p.Spec.OSImage = nil }, good, good, []string{"host-1=master-1 " + sum}},
		{"a worker was added", func(p *v1alpha1.Provisioning) { p.Spec.Workers = []map[string]v1alpha1.Worker{{"w-9": {}}} }, good, good,
			[]string{"host-1=master-1 " + sum}},
		{"depot-url was emptied", func(*v1alpha1.Provisioning) {}, good, caches.Settings{Settings: settings.Default()}, []string{"host-1=master-1 " + sum}},
		{"the settings are malformed after a restart", func(*v1alpha1.Provisioning) {}, good, caches.Unread().Next(siteConfig(map[string]string{"x": "y"})),
			[]string{"host-1=master-1 " + sum}},
		{"the run has an image without an address", func(*v1alpha1.Provisioning) {}, caches.Settings{Settings: settings.Default()}, good, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			site, before := held(), edge(upload)
			site.all[0].Bare, site.all[0].Node = true, "master-1"
			pr := run(before, 1)
			after := edge(upload, row.edit)
			after.Generation, after.Status.InstalledDigest = 2, "x" // a cluster is installed, so the edit does not stop the run
			w := newFixture(t, site, []runtime.Object{
				after, pr, requestOf(t, pr, before, row.started.Depot), child(pr, contract.TaskSelectHosts, corev1.ConditionUnknown, nil),
				child(pr, contract.TaskSeedRegistry, corev1.ConditionTrue, map[string]string{contract.ResultOSImage: sum}),
			}, nil)
			w.settings = row.settings
			err := w.visit(t, at)
			if diff := cmp.Diff(row.want, site.imaged); diff != "" {
				t.Errorf("images (-want +got):\n%s", diff)
			}
			if (err != nil) != (row.want == nil) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestGivenUpHostsAreReleased: the controller releases hosts that select-hosts has given up but may
// not release itself. It does this during the run and after it.
func TestGivenUpHostsAreReleased(t *testing.T) {
	for _, state := range []corev1.ConditionStatus{corev1.ConditionUnknown, corev1.ConditionFalse} {
		p, site := edge(wantsUpload), held()
		site.all = append(site.all, site.all[0]) // select-hosts did not give up the second host
		site.all[1].Name = "host-2"
		site.all[0].Labels = map[string]string{contract.LabelRelease: "true"}
		pr := run(p, 1)
		if state == corev1.ConditionFalse {
			ended(state, "Failed")(pr)
		}
		w := newFixture(t, site, []runtime.Object{p, pr, child(pr, contract.TaskSelectHosts, state, nil)}, nil)
		if err := w.visit(t, at); err != nil {
			checkError(t, err, "again")
		}
		for what, got := range map[string][]string{"to be released": site.givenUp, "released": site.released} {
			if diff := cmp.Diff([]string{"host-1"}, got); diff != "" {
				t.Errorf("select-hosts is %s: %s (-want +got):\n%s", state, what, diff)
			}
		}
	}
}

// TestFailedHostIsRecordedBeforeItsRelease: the failure of a host is in the stored status before
// the host is released. A new value of the retry annotation empties the list, and a host that was
// given up before is recorded with the new value.
func TestFailedHostIsRecordedBeforeItsRelease(t *testing.T) {
	entry := func(retry string) []v1alpha1.PassedOverHost {
		return []v1alpha1.PassedOverHost{{Host: "host-1", Reason: "HostProvisioningFailed", Message: "in error state: no disk", Time: metav1.NewTime(now), ObservedRetry: retry}}
	}
	for _, row := range []struct {
		name     string
		stored   []v1alpha1.PassedOverHost
		retry    string
		given    bool // select-hosts has given up the host, which still has its image
		want     []v1alpha1.PassedOverHost
		released []string
	}{
		{"not recorded yet", nil, "", true, entry(""), nil},
		{"recorded", entry(""), "", true, entry(""), []string{"host-1"}},
		{"recorded before the annotation", entry(""), "now", true, entry("now"), nil},
		{"released before", entry(""), "", false, entry(""), nil},
		{"released before the annotation", entry(""), "now", false, nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, site := edge(wantsUpload), held()
			p.Status.PassedOver = row.stored
			if row.retry != "" {
				p.Annotations = map[string]string{contract.AnnotationRetry: row.retry}
			}
			if row.given {
				site.all[0].Imaged = true
				site.all[0].Labels, site.all[0].Retrying = map[string]string{contract.LabelRelease: contract.ReleaseImageFailed}, "in error state: no disk"
			}
			pr := run(p, 1)
			w := newFixture(t, site, []runtime.Object{p, pr, child(pr, contract.TaskSelectHosts, corev1.ConditionUnknown, nil)}, nil)
			if err := w.visit(t, at); err != nil {
				checkError(t, err, "again")
			}
			if diff := cmp.Diff(row.want, w.stored(t).Status.PassedOver); diff != "" {
				t.Errorf("status.passedOver (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(row.released, site.released); diff != "" {
				t.Errorf("released (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPassedOverHostIsNotChosen: no run starts if only a host fits that is passed over, and the
// message says how to allow the host again. With another value of the retry annotation, a run
// starts.
func TestPassedOverHostIsNotChosen(t *testing.T) {
	for retry, want := range map[string]bool{"": false, "now": true} {
		p := edge()
		p.Status.PassedOver = []v1alpha1.PassedOverHost{{Host: "host-1", Reason: "HostProvisioningFailed", Time: metav1.NewTime(now)}}
		if retry != "" {
			p.Annotations = map[string]string{contract.AnnotationRetry: retry}
		}
		w := newFixture(t, fitting(), []runtime.Object{p, sshKey()}, nil)
		if err := w.visit(t, at); err != nil {
			checkError(t, err, "again")
		}
		if got := slices.ContainsFunc(w.calls(), func(c string) bool { return strings.HasPrefix(c, "create pipelineruns") }); got != want {
			t.Errorf("retry %q: a run was started: %t; calls %q", retry, got, w.calls())
		}
	}
}

// TestHostsArePoweredOn: during a run, the controller switches on the hosts that are claimed for a
// node.
func TestHostsArePoweredOn(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(*hosts.Host)
		run  func(*tekton.PipelineRun)
		want []string
	}{
		{"off", func(*hosts.Host) {}, nil, []string{"host-1"}},
		{"on", func(h *hosts.Host) { h.Offline = false }, nil, nil},
		{"no node", func(h *hosts.Host) { h.Node = "" }, nil, nil},
		{"claimed by an earlier Provisioning of the name", func(h *hosts.Host) { h.Holder.UID = "earlier" }, nil, nil},
		{"the run has ended", func(*hosts.Host) {}, ended(corev1.ConditionFalse, "Failed"), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, site := edge(), held()
			site.all[0].Offline, site.all[0].Node = true, "master-1"
			row.edit(&site.all[0])
			pr := run(p, 1)
			if row.run != nil {
				row.run(pr)
			}
			w := newFixture(t, site, []runtime.Object{p, pr, child(pr, contract.TaskSelectHosts, corev1.ConditionUnknown, nil)}, nil)
			_ = w.visit(t, at) // some cases request another reconcile
			if diff := cmp.Diff(row.want, site.poweredOn); diff != "" {
				t.Errorf("powered on (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDeletionWaitsForMetal3: the finalizer stays until Metal3 has removed the image, and the
// message names the host, its state and Metal3's error. With the policy Retain, nothing waits.
func TestDeletionWaitsForMetal3(t *testing.T) {
	for _, policy := range []v1alpha1.DeletionPolicy{v1alpha1.DeletionReset, v1alpha1.DeletionRetain} {
		p, site := edge(deleting), held()
		p.Spec.DeletionPolicy = policy
		site.leaving = "host-1"
		w := newFixture(t, site, []runtime.Object{p}, nil)
		err := w.visit(t, at)
		if policy == v1alpha1.DeletionRetain {
			if err != nil || len(site.released) != 1 {
				t.Errorf("Retain: %v, released %q", err, site.released)
			}
			continue
		}
		checkError(t, err, "again")
		const want = "removed the OS image from host-1 (deprovisioning, in error state (provisioning error): no agent)"
		if got := w.stored(t).Status.GetCondition(v1alpha1.ConditionReady); !strings.Contains(got.GetMessage(), want) {
			t.Errorf("Ready says %q; want %q", got.GetMessage(), want)
		}
	}
}

// TestErrorWithOneHost: if an operation on one host fails, another host still gets its image, and
// the task still loses its access to hosts. Conditions that are not about hosts do not report the
// error.
func TestErrorWithOneHost(t *testing.T) {
	p, site := edge(wantsUpload), held()
	site.all = append(site.all, site.all[0])
	site.all[0].Bare, site.all[0].Node = true, "master-1"
	site.all[1].Name, site.all[1].Labels = "host-2", map[string]string{contract.LabelRelease: "true"}
	site.err = errors.New("conflict")
	pr := run(p, 1)
	w := newFixture(t, site, []runtime.Object{
		p, pr, requestOf(t, pr, p, settings.Depot{}), hostsBinding(t, p), child(pr, contract.TaskSelectHosts, corev1.ConditionTrue, nil),
		child(pr, contract.TaskSeedRegistry, corev1.ConditionTrue, map[string]string{contract.ResultOSImage: strings.Repeat("0a", 32)}),
	}, nil)
	if err := w.visit(t, at); err == nil {
		t.Error("no error")
	}
	if len(site.imaged) != 1 || !slices.Contains(w.calls(), "delete rolebindings edge-1-select-hosts-hosts") {
		t.Errorf("imaged %q, calls %q; want one image, and the RoleBinding deleted", site.imaged, w.calls())
	}
}
