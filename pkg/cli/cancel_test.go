package cli

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"knative.dev/pkg/apis"
	duckv1 "knative.dev/pkg/apis/duck/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/runs/tekton"
)

// cancelled returns a cluster in which the task kubespray of a run works, and the objects of the run.
func cancelled(t *testing.T, p *v1alpha1.Provisioning, operation string) (*terminal, *tekton.PipelineRun, *tekton.TaskRun, *corev1.Pod) {
	run := runOf(p, operation, 2)
	isRunning(p, run)
	task := taskOf(run, contract.TaskKubespray)
	pod := podOf(task)
	return newStopped(t, p, run, task, pod), run, task, pod
}

// set edits an object as another program does.
func set[T client.Object](w *terminal, o T, edit func(T)) {
	w.t.Helper()
	if err := w.cluster.Get(w.t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		w.t.Fatal(err)
	}
	edit(o)
	if err := w.cluster.Update(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// stop ends the run, its task and its pod, one after the other, as Tekton and Kubernetes do.
func stop(w *terminal, run *tekton.PipelineRun, task *tekton.TaskRun, pod *corev1.Pod) {
	w.t.Helper()
	w.await("waiting for the end of PipelineRun")
	for range 3 {
		w.awaitWatch()
	}
	set(w, task, func(t *tekton.TaskRun) {
		t.Status.Conditions = duckv1.Conditions{{Type: apis.ConditionSucceeded, Status: corev1.ConditionFalse, Reason: "TaskRunCancelled"}}
	})
	w.await("TaskRun " + task.Name + " has ended")
	set(w, run, endsWith("Cancelled", "it was cancelled"))
	w.await("PipelineRun " + run.Name + " has ended")
	if err := w.cluster.Delete(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
}

func TestCancelWaitsForRunAndPods(t *testing.T) {
	w, run, task, pod := cancelled(t, provisioning("edge-1"), contract.OperationInstall)
	code := w.start("cancel", "edge-1")
	stop(w, run, task, pod)
	w.golden("cancel/run", <-code)
	set(w, run, func(r *tekton.PipelineRun) {
		if r.Spec.Status != tekton.PipelineRunSpecStatusCancelled {
			t.Errorf("spec.status of the run is %q", r.Spec.Status)
		}
	})
}

// A reset that is cancelled leaves parts of a cluster on hosts that nobody else can use, so the
// command explains it before and after.
func TestCancelOfAReset(t *testing.T) {
	p := provisioning("edge-1")
	p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: created}, []string{"bpa.akraino.org/hosts"}
	w, run, task, pod := cancelled(t, p, contract.OperationReset)
	code := w.start("cancel", "edge-1")
	stop(w, run, task, pod)
	w.golden("cancel/reset", <-code)
}

// The texts after the end of a run in other states of the Provisioning.
func TestAfterCancel(t *testing.T) {
	deleted := func(p *v1alpha1.Provisioning) {
		p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: created}, []string{"f"}
	}
	for name, change := range map[string]func(*v1alpha1.Provisioning){
		"paused":   func(p *v1alpha1.Provisioning) { p.Spec.Paused = true },
		"edited":   func(p *v1alpha1.Provisioning) { p.Generation = 2 },
		"retried":  func(p *v1alpha1.Provisioning) { p.Annotations = map[string]string{contract.AnnotationRetry: "a"} },
		"deletion": deleted,
		"retained": func(p *v1alpha1.Provisioning) { deleted(p); p.Spec.DeletionPolicy = v1alpha1.DeletionRetain },
	} {
		t.Run(name, func(t *testing.T) {
			p := provisioning("edge-1")
			change(p)
			run := runOf(p, contract.OperationInstall, 2, isCancelled)
			endsWith("Cancelled", "")(run)
			pod := podOf(taskOf(run, contract.TaskKubespray)) // only the pod is left
			w := newStopped(t, p, run, pod)
			code := w.start("cancel", "edge-1")
			w.await("waiting for the end of pod")
			for range 3 {
				w.awaitWatch()
			}
			pod.Status.Phase = corev1.PodFailed
			if err := w.cluster.Status().Update(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			w.golden("cancel/"+name, <-code)
		})
	}
}

func TestCancelWithoutARun(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Provisioning){
		"idle": isReady,
		"idle-due": func(p *v1alpha1.Provisioning) {
			hasEnded(p, runOf(p, contract.OperationInstall, 1))
			p.Status.Failure.NextAttempt = &metav1.Time{Time: noon.Add(time.Minute)}
		},
		"idle-starting": func(*v1alpha1.Provisioning) {},
	} {
		t.Run(name, func(t *testing.T) {
			p := provisioning("edge-1")
			change(p)
			// A finished run, and a run of another cluster, are left alone.
			other := runOf(provisioning("edge-2"), contract.OperationInstall, 3)
			w := newStopped(t, p, runOf(p, contract.OperationInstall, 1, endsWith("Failed", "")), other)
			w.golden("cancel/"+name, w.run(t.Context(), "cancel", "edge-1"))
			set(w, other, func(r *tekton.PipelineRun) {
				if r.IsCancelled() {
					t.Error("the run of another cluster was cancelled")
				}
			})
		})
	}
}

// Tekton refuses to cancel a run that has ended. The command then reports its result.
func TestCancelOfARunThatSucceedsMeanwhile(t *testing.T) {
	p := provisioning("edge-1")
	run := runOf(p, contract.OperationInstall, 1)
	w := newStopped(t, p, run)
	w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			set(w, run.DeepCopy(), endsWith("Succeeded", ""))
			return apierrors.NewBadRequest("Once the PipelineRun is complete, no updates are allowed")
		},
	})
	w.expect(<-w.start("cancel", "edge-1"), codeDone, "PipelineRun edge-1-install-1 succeeded before it was cancelled")
}

func TestCancelThatIsRefused(t *testing.T) {
	p := provisioning("edge-1")
	w := newStopped(t, p, runOf(p, contract.OperationInstall, 1))
	w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Group: "tekton.dev", Resource: "pipelineruns"}, "edge-1-install-1", errors.New("user jane cannot patch"))
		},
	})
	w.expect(w.run(t.Context(), "cancel", "edge-1"), codeFailed, "cancel PipelineRun edge-1-install-1", "user jane cannot patch", "Your account lacks this right")
}

func TestCancelEndsBeforeTheRun(t *testing.T) {
	w, _, _, _ := cancelled(t, provisioning("edge-1"), contract.OperationInstall)
	w.expect(w.run(t.Context(), "cancel", "edge-1", "--wait=false"), codeDone, "Cancelled PipelineRun edge-1-install-2", "To wait until")
	w.expect(w.run(t.Context(), "cancel", "edge-1", "--timeout=50ms"), codeTimeout, "is already being cancelled", "timeout of 50ms: the run continues to stop", "kubectl get pods -n tekton-pipelines")

	ctx, interrupt := context.WithCancel(t.Context())
	code := make(chan int, 1)
	w, _, _, _ = cancelled(t, provisioning("edge-1"), contract.OperationInstall)
	go func() { code <- w.run(ctx, "cancel", "edge-1") }()
	w.await("waiting for the end of")
	interrupt()
	w.expect(<-code, codeInterrupted, "interrupted; the run continues to stop", "kubectl bpa cancel edge-1 -n site-a")
}

func TestCancelWithoutTheRightToWatch(t *testing.T) {
	w, _, _, _ := cancelled(t, provisioning("edge-1"), contract.OperationInstall)
	w.cluster = interceptor.NewClient(w.cluster, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			o := (&client.ListOptions{}).ApplyOptions(opts)
			if _, pods := list.(*corev1.PodList); pods && o.Raw != nil { // the informer's list
				return forbidden("list")
			}
			return c.List(ctx, list, opts...)
		},
	})
	w.expect(<-w.start("cancel", "edge-1"), codeFailed, "cannot list", "Your account lacks this right")
}

// A run that does not stop is explained once.
func TestSlowStopIsExplained(t *testing.T) {
	p := provisioning("edge-1")
	r := &cancelReporter{start: noon, slow: "check Tekton"}
	all := work{runs: []*tekton.PipelineRun{runOf(p, contract.OperationInstall, 1)}}
	for i, want := range []int{0, 1, 0} { // notes after 59, 60 and 61 seconds
		u := r.next(all, all.unfinished(nil), noon.Add(time.Duration(59+i)*time.Second))
		if len(u.Notes) != want || u.Text != "waiting for the end of PipelineRun edge-1-install-1" {
			t.Errorf("after %v: %q, %q; want %d notes", u.Elapsed, u.Notes, u.Text, want)
		}
	}
}
