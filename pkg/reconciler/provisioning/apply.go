package provisioning

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

// apply does the one thing that was chosen. Done twice it is done once.
func (r *Reconciler) apply(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, next plan.Step) error {
	switch next.Do {
	case plan.StartRun:
		return r.startRun(ctx, p, seen, next)
	case plan.CancelRun:
		if next.Supersede {
			return r.supersede(ctx, p, next.Runs)
		}
		return r.cancelRuns(ctx, p, next.Runs, fmt.Appendf(nil, `{"spec":{"status":%q}}`, tekton.PipelineRunSpecStatusCancelled))
	case plan.StoreKubeconfig:
		return r.storeKubeconfig(ctx, p, seen)
	case plan.Prune:
		return r.prune(ctx, p, next.Runs)
	case plan.Release:
		return r.release(ctx, p)
	case plan.GiveBack:
		return r.giveBack(ctx, p, next.Hosts)
	case plan.Stay:
		return nil
	}
	return fmt.Errorf("no way to do %q", next.Do)
}

// startRun makes everything that a run needs, the run last. The caches may be behind: before anything is written, the API server itself is
// asked whether a run of this cluster works or already has the number.
func (r *Reconciler) startRun(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, next plan.Step) error {
	live := plan.Seen{}
	if err := r.observeWorkersLive(ctx, p, &live); err != nil {
		return err
	}
	if newest := live.Newest(); newest != nil && (newest.State == plan.Active || newest.Number >= next.Number) {
		return &notYet{"a newer run exists than the caches show", behind}
	}
	if busy := append(live.Leftovers, live.Pods...); len(busy) > 0 {
		return &notYet{"waiting for the end of what an earlier run left: " + strings.Join(busy, ", ") + "; if one stays, delete it " +
			"(a pod on a machine that is gone for good: with --force)", leaving}
	}
	csr, err := r.ensureObjects(ctx, p, seen, next)
	if err != nil {
		return err
	}
	run := resources.MakePipelineRun(p, resources.Run{
		Operation: next.Operation, Replaces: next.Replaces, Number: next.Number, Attempt: next.Attempt,
		Digest: seen.Digest, Inputs: seen.Inputs, Retry: seen.Retry, CSR: csr,
		SSHKey: seen.SSHKey.Fingerprint, SSHSecret: seen.SSHKey.Version,
	})
	_, err = r.tekton.TektonV1().PipelineRuns(p.Namespace).Create(ctx, run, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return r.adopt(ctx, p, run.Name)
	}
	if err != nil {
		return fmt.Errorf("create PipelineRun %s: %w", run.Name, err)
	}
	return nil
}

// adopt takes a run of the wanted name for the one that was to be created, if it is ours: an earlier visit made it and did not live to see it.
func (r *Reconciler) adopt(ctx context.Context, p *v1alpha1.Provisioning, name string) error {
	run, err := r.tekton.TektonV1().PipelineRuns(p.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get PipelineRun %s: %w", name, err)
	}
	if !metav1.IsControlledBy(run, p) {
		return fmt.Errorf("PipelineRun %s exists and is not ours: delete it", name)
	}
	return nil
}

// supersede cancels a run whose spec was edited, and writes down on it that no person did. The caches may be behind: the API server itself is asked
// whether the run has not touched a host.
func (r *Reconciler) supersede(ctx context.Context, p *v1alpha1.Provisioning, names []string) error {
	live := plan.Seen{}
	if err := r.observeWorkersLive(ctx, p, &live); err != nil {
		return err
	}
	for _, run := range live.Runs {
		if slices.Contains(names, run.Name) && (run.Touched || run.State != plan.Active) {
			return &notYet{"run " + run.Name + " has come further than the caches show", behind}
		}
	}
	return r.cancelRuns(ctx, p, names, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}},"spec":{"status":%q}}`,
		resources.AnnotationSuperseded, tekton.PipelineRunSpecStatusCancelled))
}

func (r *Reconciler) cancelRuns(ctx context.Context, p *v1alpha1.Provisioning, names []string, patch []byte) error {
	for _, name := range names {
		_, err := r.tekton.TektonV1().PipelineRuns(p.Namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("cancel PipelineRun %s: %w", name, err)
		}
	}
	return nil
}

func (r *Reconciler) prune(ctx context.Context, p *v1alpha1.Provisioning, names []string) error {
	for _, name := range names {
		err := r.tekton.TektonV1().PipelineRuns(p.Namespace).Delete(ctx, name, metav1.DeleteOptions{
			PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete old PipelineRun %s: %w", name, err)
		}
	}
	return nil
}

func (r *Reconciler) storeKubeconfig(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen) error {
	access := collected(seen)
	key, err := r.secret(p, contract.KubeconfigKeyName(p.Name))
	if err != nil {
		return err
	}
	if access == nil || key == nil {
		return errors.New("the last run's results or the key they belong to are gone")
	}
	want, err := resources.MakeKubeconfigSecret(p, *access, key.Data[resources.KeyPrivateKey])
	if err != nil {
		return err
	}
	_, err = ensure(ctx, p, r.kube.CoreV1().Secrets(p.Namespace), want, copySecret)
	return err
}

// release gives back the hosts; the caller has made sure that nothing works on them.
func (r *Reconciler) release(ctx context.Context, p *v1alpha1.Provisioning) error {
	released, err := r.hosts.Release(ctx, ownerOf(p))
	if err != nil {
		return fmt.Errorf("release hosts: %w", err)
	}
	tellReleased(ctx, p, released)
	return nil
}

// giveBack gives back hosts on which nothing was installed. The caches may be behind: before anything is written, the API server itself is asked
// whether something works, or a playbook was started.
func (r *Reconciler) giveBack(ctx context.Context, p *v1alpha1.Provisioning, names []string) error {
	live := plan.Seen{}
	if err := r.observeWorkersLive(ctx, p, &live); err != nil {
		return err
	}
	for _, run := range append(live.Runs, live.ForeignRuns...) {
		if run.State == plan.Active || run.Touched {
			return &notYet{"run " + run.Name + " has come further than the caches show", behind}
		}
	}
	if len(live.Pods) > 0 {
		return &notYet{"waiting for the end of " + strings.Join(live.Pods, ", "), leaving}
	}
	released, err := r.hosts.GiveBack(ctx, ownerOf(p), names)
	if err != nil {
		return fmt.Errorf("give back hosts: %w", err)
	}
	tellReleased(ctx, p, released)
	return nil
}

func tellReleased(ctx context.Context, p *v1alpha1.Provisioning, released []string) {
	if len(released) > 0 {
		tell(ctx, p, []plan.Event{{
			Type: corev1.EventTypeNormal, Reason: "HostsReleased", Message: cutList("released ", released),
		}})
	}
}

// cutList writes the first of many names: an Event has room for a kilobyte.
func cutList(what string, names []string) string {
	const most = 10
	if len(names) <= most {
		return what + strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s%s and %d more", what, strings.Join(names[:most], ", "), len(names)-most)
}
