package cli

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

const requestedPatch = "2026-11-21T12:00:00Z" // the time of the tests' clock

// TestPatch checks the text of a request in each state, and whether the annotation has the new value.
func TestPatch(t *testing.T) {
	for name, r := range map[string]struct {
		change  func(*v1alpha1.Provisioning)
		refused bool
	}{
		"ready":  {change: isReady},
		"again":  {change: func(p *v1alpha1.Provisioning) { isReady(p); p.Status.Patched = "2026-10-21T12:00:00Z" }},
		"paused": {change: func(p *v1alpha1.Provisioning) { isReady(p); p.Spec.Paused = true }},
		"pause-workers": {change: func(p *v1alpha1.Provisioning) {
			isReady(p)
			p.Spec.Upgrade.PauseAfterControlPlane = true
		}},
		"upgrading": {change: func(p *v1alpha1.Provisioning) {
			isRunning(p, runOf(p, contract.OperationUpgradeNodes, 1))
			p.Status.Upgrade = &v1alpha1.UpgradeStatus{From: "1.34.3", To: "1.35.4", Hop: "1.35.4", Newest: "1.35.4", Done: 1, Total: 3}
		}},
		"stalled": {change: func(p *v1alpha1.Provisioning) {
			p.Status.ObservedGeneration = p.Generation
			p.Status.MarkStalled("SpecChanged", "the spec requests what an upgrade of the installed cluster cannot do")
		}},
		"not-installed": {change: func(p *v1alpha1.Provisioning) { p.Status.InstalledDigest = "" }, refused: true},
		"deleted": {change: func(p *v1alpha1.Provisioning) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: created}, []string{"f"}
		}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := hasCluster(provisioning("edge-1"))
			p.Annotations = map[string]string{contract.AnnotationPatch: "earlier"}
			r.change(p)
			w := newStopped(t, p)
			w.golden("patch/"+name, w.run(t.Context(), "patch", "edge-1"))
			want := requestedPatch
			if r.refused {
				want = "earlier"
			}
			set(w, p, func(p *v1alpha1.Provisioning) {
				if got := p.Annotations[contract.AnnotationPatch]; got != want {
					t.Errorf("annotation %q, want %q", got, want)
				}
			})
		})
	}
}

// TestPatchAndFollow: the cluster is ready before the controller has seen the request, which does not
// end the command.
func TestPatchAndFollow(t *testing.T) {
	p := hasCluster(provisioning("edge-1"))
	isReady(p)
	w := newTerminal(t, p)
	code := w.start("patch", "edge-1", "--wait")
	w.await("A patch of the operating systems of all nodes of edge-1 was requested")
	w.awaitWatch()
	w.change(p, func(p *v1alpha1.Provisioning) {
		p.Status.MarkClusterInstalled(corev1.ConditionUnknown, "Running", "run edge-1-upgrade-nodes-2 is running")
	})
	w.await("Running: run edge-1-upgrade-nodes-2 is running")
	w.change(p, func(p *v1alpha1.Provisioning) { isReady(p); p.Status.Patched = p.Annotations[contract.AnnotationPatch] })
	w.expect(<-code, codeDone, "edge-1 is ready")
}

// TestStatusOfAPatch shows a patch that is under way, and one together with an upgrade.
func TestStatusOfAPatch(t *testing.T) {
	for name, u := range map[string]v1alpha1.UpgradeStatus{
		"patch": {From: "1.35.4", To: "1.35.4", Hop: "1.35.4", Newest: "1.35.4", Patch: requestedPatch, OnlyPatch: true, Done: 1, Total: 3,
			Message: "1.35.4, patched: master-1; 1.35.4, not patched: worker-1, worker-2"},
		"patch-and-upgrade": {From: "1.34.3", To: "1.35.4", Hop: "1.35.4", Newest: "1.35.4", Patch: requestedPatch, Done: 1, Total: 3,
			Message: "1.35.4, patched: master-1; 1.34.3, not patched: worker-1, worker-2"},
	} {
		t.Run(name, func(t *testing.T) {
			p := hasCluster(provisioning("edge-1"))
			isRunning(p, runOf(p, contract.OperationUpgradeNodes, 1))
			p.Status.Upgrade, p.Status.Patched = &u, "2026-10-21T12:00:00Z"
			w := newStopped(t, p)
			w.golden("status/"+name, w.run(t.Context(), "status", "edge-1"))
		})
	}
}
