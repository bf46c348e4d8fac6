package nodemeta

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/retry"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/reconciler"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/access/cluster"
	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/nodemeta"
	"github.com/akraino-icn/bpa/pkg/reconciler/provisioning/resources"
)

const (
	// workLimit bounds the work on one cluster.
	workLimit = 2 * time.Minute
	// fieldManager owns in the Nodes what BPA has set.
	fieldManager = "bpa-controller"
	// mostFailure limits the text of a failure, in bytes, and mostNamed the nodes that an event names.
	mostFailure = 512
	mostNamed   = 5
)

// Connect connects to the cluster of a kubeconfig.
type Connect func(access.Kubeconfig) (kube kubernetes.Interface, disconnect func(), err error)

// Reconciler keeps the labels, annotations and taints of Nodes in step.
type Reconciler struct {
	reconciler.LeaderAwareFuncs

	provisionings listers.ProvisioningLister
	secrets       corelisters.SecretLister
	connect       Connect
	recorder      record.EventRecorder
}

var _ reconciler.LeaderAware = (*Reconciler)(nil)

// Reconcile brings the Nodes of one cluster into step. An error makes the queue try again, later each time.
func (r *Reconciler) Reconcile(ctx context.Context, key string) error {
	namespace, name, err := cache.SplitMetaNamespaceKey(key)
	if err != nil {
		return nil // the queue holds only keys of objects
	}
	if !r.IsLeaderFor(types.NamespacedName{Namespace: namespace, Name: name}) {
		return controller.NewSkipKey(key)
	}
	p, err := r.provisionings.Provisionings(namespace).Get(name)
	if apierrors.IsNotFound(err) || err == nil && p.DeletionTimestamp != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get Provisioning %s: %w", key, err)
	}
	nodes := differing(p)
	if len(nodes) == 0 {
		return nil
	}
	return r.update(ctx, p, nodes)
}

// update updates the Nodes, and reports what was done. Without a kubeconfig it does nothing: its Secret wakes it.
func (r *Reconciler) update(ctx context.Context, p *v1alpha1.Provisioning, nodes []node) error {
	ctx, cancel := context.WithTimeout(ctx, workLimit)
	defer cancel()
	kubeconfig, err := r.kubeconfig(p)
	if err != nil || kubeconfig == nil {
		return err
	}
	kube, disconnect, err := r.connect(*kubeconfig)
	if err != nil {
		return err
	}
	defer disconnect()
	var done []string
	var failed error
	for _, n := range nodes {
		changed, err := updateNode(ctx, kube, n)
		if err != nil {
			failed = fmt.Errorf("node %s: %w", n.name, err)
			break
		}
		if changed {
			done = append(done, n.name)
		}
	}
	if len(done) > 0 {
		message := "the labels, annotations and taints of " + names(done) + " are those of the spec and of the hosts again"
		logging.FromContext(ctx).Infow(message)
		r.recorder.Event(p, corev1.EventTypeNormal, "NodeMetadataApplied", message)
	}
	if failed != nil {
		why := cluster.Brief(failed.Error(), mostFailure)
		r.recorder.Event(p, corev1.EventTypeWarning, "NodeMetadataNotApplied", "the labels, annotations and taints of nodes cannot be set: "+why+". BPA tries again")
		return errors.New(why)
	}
	return nil
}

// kubeconfig returns the stored kubeconfig; nil: there is none that can be used, which package access reports.
func (r *Reconciler) kubeconfig(p *v1alpha1.Provisioning) (*access.Kubeconfig, error) {
	secret, err := r.secrets.Secrets(p.Namespace).Get(contract.KubeconfigName(p.Name))
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(secret, p) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get Secret %s: %w", contract.KubeconfigName(p.Name), err)
	}
	k, err := access.ParseKubeconfig(secret.Data[resources.KeyKubeconfig])
	if err != nil {
		return nil, nil
	}
	return &k, nil
}

// updateNode updates one Node, and reports whether it had to be changed. A Node that does not exist needs nothing.
func updateNode(ctx context.Context, kube kubernetes.Interface, n node) (changed bool, err error) {
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		have, err := kube.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		patch, err := nodemeta.Patch(metadataOf(have), n.want, have.ResourceVersion)
		if err != nil || patch == nil {
			return err
		}
		_, err = kube.CoreV1().Nodes().Patch(ctx, n.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
		changed = err == nil
		return err
	})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return changed, err
}

func metadataOf(n *corev1.Node) nodemeta.Metadata {
	m := nodemeta.Metadata{Labels: n.Labels, Annotations: n.Annotations}
	for _, t := range n.Spec.Taints {
		taint := nodemeta.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)}
		if t.TimeAdded != nil {
			taint.TimeAdded = t.TimeAdded.UTC().Format(time.RFC3339)
		}
		m.Taints = append(m.Taints, taint)
	}
	return m
}

// names lists the first names.
func names(all []string) string {
	if more := len(all) - mostNamed; more > 0 {
		return fmt.Sprintf("%s and %d more nodes", strings.Join(all[:mostNamed], ", "), more)
	}
	return strings.Join(all, ", ")
}
