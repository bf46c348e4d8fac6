package cli

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// TestPauseAndResume checks the texts of both commands in each state, and spec.paused after them.
func TestPauseAndResume(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Provisioning){
		"new":     func(*v1alpha1.Provisioning) {},
		"ready":   isReady,
		"running": func(p *v1alpha1.Provisioning) { isRunning(p, runOf(p, contract.OperationInstall, 2)) },
		"failed":  func(p *v1alpha1.Provisioning) { hasEnded(p, runOf(p, contract.OperationInstall, 2)) },
		"due": func(p *v1alpha1.Provisioning) {
			hasEnded(p, runOf(p, contract.OperationInstall, 2))
			p.Status.Failure.NextAttempt = &metav1.Time{Time: noon.Add(time.Minute)}
		},
		"overdue": func(p *v1alpha1.Provisioning) {
			hasEnded(p, runOf(p, contract.OperationInstall, 2))
			p.Status.Failure.NextAttempt = &metav1.Time{Time: noon.Add(-time.Minute)}
		},
		"deleted": func(p *v1alpha1.Provisioning) {
			p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: created}, []string{"f"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := provisioning("edge-1")
			change(p)
			w := newStopped(t, p, runOf(p, contract.OperationInstall, 2))
			paused := func(want bool) {
				t.Helper()
				set(w, p, func(p *v1alpha1.Provisioning) {
					if p.Spec.Paused != want {
						t.Errorf("spec.paused is %t, want %t", p.Spec.Paused, want)
					}
				})
			}
			code := w.run(t.Context(), "pause", "edge-1")
			paused(true)
			_, _ = w.Write([]byte("---\n"))
			code += w.run(t.Context(), "pause", "edge-1")
			_, _ = w.Write([]byte("---\n"))
			code += w.run(t.Context(), "resume", "edge-1")
			paused(false)
			_, _ = w.Write([]byte("---\n"))
			w.golden("pause/"+name, code+w.run(t.Context(), "resume", "edge-1"))
		})
	}
}
