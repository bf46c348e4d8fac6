package cli

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestRetry checks the text of a retry in each state, and that the annotation has a new value.
func TestRetry(t *testing.T) {
	ended := func(p *v1alpha1.Provisioning) { hasEnded(p, runOf(p, contract.OperationInstall, 2)) }
	deleted := func(p *v1alpha1.Provisioning) {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: created}, []string{"f"}
	}
	due := func(at time.Duration) func(*v1alpha1.Provisioning) {
		return func(p *v1alpha1.Provisioning) {
			ended(p)
			p.Status.Failure.NextAttempt = &metav1.Time{Time: noon.Add(at)}
			p.Status.Failure.Hint = "4 hosts: 4 claimed"
		}
	}
	for name, change := range map[string]func(*v1alpha1.Provisioning){
		"failed":  ended,
		"due":     due(time.Minute),
		"overdue": due(-time.Minute),
		"paused":  func(p *v1alpha1.Provisioning) { ended(p); p.Spec.Paused = true },
		"reset":   func(p *v1alpha1.Provisioning) { deleted(p); hasEnded(p, runOf(p, contract.OperationReset, 2)) },
		"deleted": deleted,
		"ready":   isReady,
		"stalled": func(p *v1alpha1.Provisioning) {
			p.Status.ObservedGeneration = p.Generation
			p.Status.MarkStalled("KubeconfigLost", "Secret edge-1-kubeconfig is missing")
		},
		"waiting": func(p *v1alpha1.Provisioning) {
			p.Status.ObservedGeneration = p.Generation
			p.Status.MarkHostsClaimed(corev1.ConditionUnknown, "ProvisioningHosts", "provisioning 2 of 5 hosts")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := provisioning("edge-1")
			p.Annotations = map[string]string{contract.AnnotationRetry: "earlier"}
			change(p)
			w := newStopped(t, p)
			w.golden("retry/"+name, w.run(t.Context(), "retry", "edge-1"))
			set(w, p, func(p *v1alpha1.Provisioning) {
				if got, want := p.Annotations[contract.AnnotationRetry], "2026-11-21T12:00:00Z"; got != want {
					t.Errorf("annotation %q, want %q", got, want)
				}
			})
		})
	}
}

// An active run is not disturbed. A cancelled run is no obstacle, although the status still shows it.
func TestRetryWithARun(t *testing.T) {
	for name, asked := range map[string]bool{"active": false, "stopping": true, "status-behind": true} {
		t.Run(name, func(t *testing.T) {
			p := provisioning("edge-1")
			run := runOf(p, contract.OperationInstall, 2)
			isRunning(p, run)
			switch name {
			case "stopping":
				isCancelled(run)
			case "status-behind":
				endsWith("Cancelled", "")(run)
			}
			w := newStopped(t, p, run)
			w.golden("retry/"+name, w.run(t.Context(), "retry", "edge-1"))
			set(w, p, func(p *v1alpha1.Provisioning) {
				if got := p.Annotations[contract.AnnotationRetry] != ""; got != asked {
					t.Errorf("retry requested %t, want %t", got, asked)
				}
			})
		})
	}
}

func TestRetryAndWatch(t *testing.T) {
	p := provisioning("edge-1")
	hasFailed(p)
	w := newTerminal(t, p)
	code := w.start("retry", "edge-1", "--wait")
	w.await("Another attempt of edge-1 was requested")
	w.awaitWatch()
	w.change(p, func(p *v1alpha1.Provisioning) { p.Status.Failure = nil; installs("download")(p) })
	w.await("8%  kubespray: download")
	w.change(p, isReady)
	w.expect(<-code, codeDone, "edge-1 is ready")
}

// Before the controller has seen the retry, the status still has the old verdict, which does not end
// the command.
func TestRetryOfAStalledOneWatchesTheAnswer(t *testing.T) {
	p := provisioning("edge-1")
	p.Status.ObservedGeneration = p.Generation
	p.Status.MarkStalled("KubeconfigLost", "Secret edge-1-kubeconfig is missing")
	w := newTerminal(t, p)
	code := w.start("retry", "edge-1", "--wait")
	w.awaitWatch()
	w.change(p, func(p *v1alpha1.Provisioning) { p.Status.MarkStalled("", ""); installs("collect")(p) })
	w.await("7%  kubespray: collect")
	w.change(p, isReady)
	w.expect(<-code, codeDone, "edge-1 is ready")
}

// If the controller does not react, the old verdict counts after some time.
func TestRetryThatChangesNothing(t *testing.T) {
	p, now := provisioning("edge-1"), noon
	isReady(p)
	answered := (&session{now: func() time.Time { return now }}).answered(p)
	if answered(p) {
		t.Error("the old verdict counted at once")
	}
	now = noon.Add(retryPace)
	if !answered(p) {
		t.Error("the old verdict does not count after the time of an answer")
	}
}
