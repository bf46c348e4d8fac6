package access

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/access/cluster"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// behind is how long to wait until the caches show what was written.
const behind = time.Second

// Connect connects to the cluster of a kubeconfig.
type Connect func(access.Kubeconfig) (kube kubernetes.Interface, disconnect func(), err error)

// Reconciler keeps the kubeconfigs of installed clusters usable.
type Reconciler struct {
	reconciler.LeaderAwareFuncs

	kube          kubernetes.Interface
	provisionings listers.ProvisioningLister
	secrets       corelisters.SecretLister
	connect       Connect
	recorder      record.EventRecorder
	clock         clock.PassiveClock
	random        io.Reader
	retries       *retries
}

var _ reconciler.LeaderAware = (*Reconciler)(nil)

// New returns a reconciler. kube, provisionings and secrets belong to the bootstrap cluster.
func New(kube kubernetes.Interface, provisionings listers.ProvisioningLister, secrets corelisters.SecretLister, connect Connect,
	recorder record.EventRecorder, clock clock.PassiveClock, random io.Reader) *Reconciler {
	return &Reconciler{
		kube: kube, provisionings: provisionings, secrets: secrets, connect: connect, recorder: recorder,
		clock: clock, random: random, retries: newRetries(),
	}
}

// done is an event about what was done; the zero value: there is nothing to report.
type done struct {
	reason, message string
}

// Reconcile does the next action for one Provisioning, if there is one. It asks the cluster nothing
// unless the caches and the API server of the bootstrap cluster agree that there is an action.
func (r *Reconciler) Reconcile(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil // the queue holds only keys of objects
	}
	if !r.IsLeaderFor(types.NamespacedName{Namespace: namespace, Name: name}) {
		return controller.NewSkipKey(key)
	}
	p, err := r.provisionings.Provisionings(namespace).Get(name)
	if apierrors.IsNotFound(err) || err == nil && (p.DeletionTimestamp != nil || p.Status.InstalledDigest == "") {
		r.retries.forget(key)
		return nil
	}
	if err != nil {
		return fmt.Errorf("get Provisioning %s: %w", key, err)
	}
	s, err := r.cached(p)
	if err != nil {
		return err
	}
	due, after := decide(observe(p, s), r.clock.Now())
	if len(due) == 0 {
		r.retries.forget(key)
		return requeue(after)
	}
	for _, all := range [][]action{{compare}, due} {
		if _, wait := r.retries.next(key, all, subject(p), r.clock.Now()); wait > 0 {
			return controller.NewRequeueAfter(wait)
		}
	}
	return r.act(ctx, key, p)
}

// act reads the Secrets again, from the API server, and does the next action.
func (r *Reconciler) act(ctx context.Context, key string, p *v1alpha1.Provisioning) error {
	ctx, cancel := context.WithTimeout(ctx, workLimit)
	defer cancel()
	s, err := r.live(ctx, p)
	f := observe(p, s)
	due, _ := decide(f, r.clock.Now())
	next, wait := r.retries.next(key, due, subject(p), r.clock.Now())
	switch {
	case errors.Is(err, errNotOwned) && next != "":
		return r.report(ctx, key, p, f, next, err)
	case err != nil && !errors.Is(err, errNotOwned):
		return err
	case len(due) == 0:
		return r.differ(ctx, key, p, s)
	case next == "":
		return controller.NewRequeueAfter(wait)
	}
	d, err := r.apply(ctx, p, f, s, next)
	if errors.Is(err, errChanged) {
		return controller.NewRequeueAfter(behind) // decide again
	}
	if err != nil {
		return r.report(ctx, key, p, f, next, err)
	}
	if d.reason != "" {
		logging.FromContext(ctx).Infow(d.message, "reason", d.reason)
		r.recorder.Event(p, corev1.EventTypeNormal, d.reason, d.message)
	}
	if next == check { // it stays due until the next look at the cluster
		after, _ := r.retries.failed(key, check, subject(p), "", r.clock.Now())
		return controller.NewRequeueAfter(after)
	}
	r.retries.succeeded(key, next)
	return controller.NewRequeueAfter(behind) // there may be another action
}

// differ is called if the cache shows an action and the API server shows none. Usually the cache is
// behind. If a Secret has lost the label by which the cache selects Secrets, it gets the label again.
func (r *Reconciler) differ(ctx context.Context, key string, p *v1alpha1.Provisioning, s secrets) error {
	after, _ := r.retries.failed(key, compare, subject(p), "", r.clock.Now())
	for _, secret := range []*corev1.Secret{s.kubeconfig, s.key, s.health} {
		if secret == nil || secret.Labels[contract.LabelCluster] == p.Name {
			continue
		}
		next := secret.DeepCopy()
		if next.Labels == nil {
			next.Labels = map[string]string{}
		}
		next.Labels[contract.LabelCluster] = p.Name
		if _, err := r.kube.CoreV1().Secrets(p.Namespace).Update(ctx, next, metav1.UpdateOptions{}); err != nil {
			logging.FromContext(ctx).Warnw("cannot label a Secret", "secret", next.Name, "error", err)
		}
	}
	return controller.NewRequeueAfter(after)
}

// mostFailure limits the text of a failure, in bytes. A server that can be anybody's may have written it.
const mostFailure = 1 << 10

// report records a failed action, and returns when to try again. The event is recorded once for each
// different failure.
func (r *Reconciler) report(ctx context.Context, key string, p *v1alpha1.Provisioning, f facts, next action, failure error) error {
	why := cluster.Brief(failure.Error(), mostFailure)
	after, news := r.retries.failed(key, next, subject(p), why, r.clock.Now())
	message := fmt.Sprintf("cannot %s: %s. BPA tries again, at intervals of up to %s; the kubeconfig in Secret %s is valid until %s",
		next, why, longestRetry, contract.KubeconfigName(p.Name), day(f.kubeconfig.Leaf.NotAfter))
	logging.FromContext(ctx).Warnw(message, "after", after)
	if news {
		r.recorder.Event(p, corev1.EventTypeWarning, "KubeconfigNotMaintained", message)
	}
	return controller.NewRequeueAfter(after)
}

// subject identifies what is tried. Another subject is tried at once, such as a new rotation.
func subject(p *v1alpha1.Provisioning) string {
	return p.Annotations[contract.AnnotationRotateKubeconfig]
}

// requeue returns the time of the next check.
func requeue(after time.Duration) error {
	if after <= 0 {
		return nil
	}
	return controller.NewRequeueAfter(after)
}
