package provisioning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/plan"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
	"github.com/akraino-icn/bpa/pkg/runs"
	"github.com/akraino-icn/bpa/pkg/runs/tekton/convert"
)

// apply applies the chosen step. It is idempotent.
func (r *Reconciler) apply(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, next plan.Step) error {
	switch next.Do {
	case plan.StartRun:
		return r.startRun(ctx, p, seen, next)
	case plan.CancelRun:
		if next.Supersede {
			return r.supersede(ctx, p, next.Runs)
		}
		return r.cancelRuns(ctx, p, next.Runs, cancelled)
	case plan.StoreKubeconfig:
		return r.storeKubeconfig(ctx, p, seen)
	case plan.Prune:
		return r.prune(ctx, p, next.Runs)
	case plan.Release:
		return r.release(ctx, p, seen)
	case plan.GiveBack:
		return r.giveBack(ctx, p, seen, next.Hosts)
	case plan.EndRun:
		return r.endRun(ctx, p, seen, next.Runs[0])
	case plan.Fence:
		return r.fence(ctx, p, next)
	case plan.Stay:
		return nil
	}
	return fmt.Errorf("unknown step %q", next.Do)
}

// startRun creates all objects that a run needs, and then the run itself. The caches may be stale:
// before startRun writes anything, it asks the API server itself whether a run of this cluster is
// active, and whether a run already has this number.
func (r *Reconciler) startRun(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, next plan.Step) error {
	live := plan.Seen{}
	if err := r.observeWorkersLive(ctx, p, contract.RunRequestName(p.Name, next.Number), &live); err != nil {
		return err
	}
	if len(live.ActiveRuns()) > 0 || live.LastNumber() > seen.LastNumber() {
		return &notYet{"the API server has a newer run than the cache", behind}
	}
	if busy := append(live.Leftovers, live.Pods...); len(busy) > 0 {
		return &notYet{"waiting until objects of an earlier run have ended: " + strings.Join(busy, ", ") + "; if one stays, delete it " +
			"(with --force for a pod on a machine that does not come back)", leaving}
	}
	if contract.OperationOf(next.Operation).ExcludesBackup() && !seen.Deleting {
		if run, err := r.backupRunLive(ctx, p); err != nil || run != "" {
			return cmp.Or(err, error(&notYet{"waiting until run " + run + " of a Backup has ended", leaving}))
		}
	}
	if isBehind, err := r.recordBehind(ctx, p, seen); err != nil || isBehind {
		return cmp.Or(err, error(errRecordBehind))
	}
	name := resources.RunName(p.Name, next.Operation, next.Number)
	if !r.queue.take(p, seen.Limits.Runs, name, r.clock.Now()) { // last, because a run that cannot start must not keep others waiting
		return errQueued
	}
	created, err := r.createRun(ctx, p, seen, next)
	if !created {
		r.queue.release(p, seen.Limits.Runs)
	}
	return err
}

// createRun creates the objects that a run needs, and the run. created is false if it is certain
// that no run was created.
func (r *Reconciler) createRun(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, next plan.Step) (created bool, err error) {
	csr, uid, err := r.ensureObjects(ctx, p, seen, next)
	if err != nil {
		return false, err
	}
	nodesKey, enroll, err := r.ensureNodesKey(ctx, p, next)
	if err != nil {
		return false, err
	}
	release := p.Spec.Kubespray.Release
	if contract.OperationOf(next.Operation).ChangesCluster() || next.Operation == contract.OperationPlugins || next.Operation == contract.OperationSoftware { // the cluster keeps its release: see package change
		release = next.Request.Release
	}
	restore, asked := "", ""
	if next.Request.Restore != nil {
		restore = next.Request.Restore.Asked
	}
	if next.Request.Software != nil {
		asked = next.Request.Software.Asked
	}
	run := convert.ToTekton(resources.MakePipelineRun(p, resources.Run{
		Release: release, Restore: restore, Asked: asked, PluginsDigest: contract.PluginsDigest(next.Request.Plugins), Unaccelerated: next.Request.Unaccelerated != "",
		Operation: next.Operation, Replaces: next.Replaces, Number: next.Number, Request: uid, Attempt: next.Attempt, Played: next.Played, Plugins: next.Plugins,
		Digest: seen.Digest, Inputs: cmp.Or(next.Inputs, seen.Inputs), Retry: seen.Retry, CSR: csr,
		SSHKey: seen.SSHKey.Fingerprint, SSHSecret: seen.SSHKey.Version, NodesKey: nodesKey, Enroll: enroll,
	}))
	_, err = r.tekton.TektonV1().PipelineRuns(p.Namespace).Create(ctx, run, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return true, r.adopt(ctx, p, run)
	}
	if err != nil {
		return !rejected(err), fmt.Errorf("create PipelineRun %s: %w", run.Name, err)
	}
	return true, nil
}

// rejected reports whether the API server itself has answered that it did not create the object.
// After a time-out or a broken connection, the object may exist.
func rejected(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError
}

// adopt is called if a run with the name of the new run already exists. It accepts that run if this
// Provisioning owns it, because an earlier reconcile created it and was interrupted before it could
// record this. It cancels the run if its request was replaced meanwhile: the API server has created the
// run long after it was asked to.
func (r *Reconciler) adopt(ctx context.Context, p *v1alpha1.Provisioning, want *tekton.PipelineRun) error {
	run, err := r.tekton.TektonV1().PipelineRuns(p.Namespace).Get(ctx, want.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get PipelineRun %s: %w", want.Name, err)
	}
	if !metav1.IsControlledBy(run, p) {
		return fmt.Errorf("PipelineRun %s exists and does not belong to this Provisioning: delete it", want.Name)
	}
	if run.Annotations[runs.AnnotationRequest] != want.Annotations[runs.AnnotationRequest] {
		return r.cancelRuns(ctx, p, []string{run.Name}, cancelled)
	}
	return nil
}

// cancelled is the patch that cancels a run.
var cancelled = fmt.Appendf(nil, `{"spec":{"status":%q}}`, tekton.PipelineRunSpecStatusCancelled)

// supersede cancels a run because the spec was edited, and records on the run that the controller
// cancelled it. The caches may be stale: supersede first asks the API server itself, and cancels
// nothing if the run has touched a host or has ended.
func (r *Reconciler) supersede(ctx context.Context, p *v1alpha1.Provisioning, names []string) error {
	live := plan.Seen{}
	if err := r.observeWorkersLive(ctx, p, "", &live); err != nil {
		return err
	}
	for _, run := range live.Runs {
		if slices.Contains(names, run.Name) && (run.Touched || run.State != plan.Active) {
			return &notYet{"run " + run.Name + " has progressed further than the cache shows", behind}
		}
	}
	return r.cancelRuns(ctx, p, names, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}},"spec":{"status":%q}}`,
		runs.AnnotationSuperseded, tekton.PipelineRunSpecStatusCancelled))
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
	key, err1 := r.secret(p, contract.KubeconfigKeyName(p.Name))
	have, err2 := r.secret(p, contract.KubeconfigName(p.Name))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	results := accessOf(seen, have, key)
	if results == nil || key == nil {
		return errors.New("the results of the last run, or the private key that belongs to them, do not exist any more")
	}
	want, err := resources.MakeKubeconfigSecret(p, *results, key)
	if err != nil {
		return err
	}
	secrets, restored := r.kube.CoreV1().Secrets(p.Namespace), ""
	if seen.Memory != nil && seen.Memory.Restored != "" {
		restored = seen.Memory.Restored
		metav1.SetMetaDataAnnotation(&want.ObjectMeta, contract.AnnotationRestored, restored)
	}
	if next := resources.KeepAccess(key, *results, restored); !equality.Semantic.DeepEqual(key, next) { // first: nothing repeats it when the kubeconfig exists
		if _, err := secrets.Update(ctx, next, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("update Secret %s: %w", key.Name, err)
		}
	}
	_, err = ensure(ctx, p, secrets, want, r.copyKubeconfig)
	return err
}

// release releases the hosts. The caller has made sure that nothing works on them. Hosts that still
// contain the cluster have the annotation contract.AnnotationUsedBy. The release is complete only
// when Metal3 has removed the images of BPA. With the policy Retain, it leaves the hosts as they are
// and waits for nothing.
func (r *Reconciler) release(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen) error {
	var released []string
	var leaves []hosts.Leaving
	var err error
	if seen.Retain {
		released, err = r.hosts.Retain(ctx, ownerOf(p))
	} else {
		released, leaves, err = r.hosts.Release(ctx, ownerOf(p))
		err = errors.Join(err, r.emptyCopies(ctx, p, released))
	}
	recordReleased(ctx, p, released)
	if err != nil {
		return fmt.Errorf("release hosts: %w", err)
	}
	if len(leaves) > 0 {
		return &notYet{fmt.Sprintf("waiting until Metal3 has removed the OS image from %s; if it cannot, correct the cause at the host, or release the hosts as they "+
			"are: `kubectl patch bpa -n %s %s --type=merge -p '{\"spec\":{\"deletionPolicy\":\"Retain\"}}'`",
			hosts.LeavingText(leaves), p.Namespace, p.Name), deprovisioning}
	}
	if used := seen.DirtyHosts(); len(used) > 0 {
		recordEvents(ctx, p, []plan.Event{{
			Type: corev1.EventTypeWarning, Reason: "HostsNotReset",
			Message: fmt.Sprintf("%s, which still contain the cluster and cannot be claimed: to remove it from a host, run `kubectl bpa hosts reset -n %s HOST`",
				cutList("released ", used), p.HostNamespace()),
		}})
	}
	return nil
}

// giveBack releases hosts on which nothing was installed. The caches may be stale: before giveBack
// writes anything, it asks the API server itself whether a run is active or has started a playbook,
// and what the last run has recorded.
func (r *Reconciler) giveBack(ctx context.Context, p *v1alpha1.Provisioning, seen plan.Seen, names []string) error {
	live := plan.Seen{}
	if err := r.observeWorkersLive(ctx, p, "", &live); err != nil {
		return err
	}
	if isBehind, err := r.recordBehind(ctx, p, seen); err != nil || isBehind {
		return cmp.Or(err, error(errRecordBehind))
	}
	for _, run := range slices.Concat(live.Runs, live.Software.Runs, live.ForeignRuns) {
		if run.State == plan.Active || run.Touched && !seen.Recorded {
			return &notYet{"run " + run.Name + " has progressed further than the cache shows", behind}
		}
	}
	if len(live.Pods) > 0 {
		return &notYet{"waiting until these pods have ended: " + strings.Join(live.Pods, ", "), leaving}
	}
	reset := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, recorded := seen.States[seen.Site[name].UID]
		return !recorded
	})
	if _, err := r.hosts.Unmark(ctx, ownerOf(p), reset); err != nil { // a visit with a stale cache can have marked them again
		return fmt.Errorf("remove the mark of hosts that were reset: %w", err)
	}
	released, leaves, err := r.hosts.GiveBack(ctx, ownerOf(p), names)
	recordReleased(ctx, p, released)
	err = errors.Join(err, r.emptyCopies(ctx, p, released))
	if err != nil {
		return fmt.Errorf("release hosts on which nothing was installed: %w", err)
	}
	if len(leaves) > 0 { // imageHosts releases them when Metal3 has finished
		return &notYet{"Metal3 removes the OS image from " + hosts.LeavingText(leaves), leaving}
	}
	return nil
}

func recordReleased(ctx context.Context, p *v1alpha1.Provisioning, released []string) {
	if len(released) > 0 {
		recordEvents(ctx, p, []plan.Event{{
			Type: corev1.EventTypeNormal, Reason: "HostsReleased", Message: cutList("released ", released),
		}})
	}
}

// cutList lists at most the first ten names, because the message of an Event is limited to a
// kilobyte.
func cutList(what string, names []string) string {
	const most = 10
	if len(names) <= most {
		return what + strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s%s and %d more", what, strings.Join(names[:most], ", "), len(names)-most)
}
