package prerequisites

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"knative.dev/pkg/injection"
	"knative.dev/pkg/logging"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
	"github.com/akraino-icn/bpa/pkg/client/clientset/versioned"
	"github.com/akraino-icn/bpa/pkg/client/informers/externalversions"
	listers "github.com/akraino-icn/bpa/pkg/client/listers/bpa/v1alpha1"
)

// Reason is the reason of every condition that waits for a prerequisite.
const Reason = "PrerequisitesMissing"

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Ensure returns immediately if the API server serves all Needs. Otherwise it answers the kubelet's
// probes, reports the missing kinds, and returns when the API server serves all of them.
func Ensure(ctx context.Context, config *rest.Config) error {
	logger := logging.FromContext(ctx).Named("prerequisites")
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("discovery: %w", err)
	}
	if missing, err := Missing(disco, Needs); err == nil && len(missing) == 0 {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	probes := make(chan error, 1)
	go func() { probes <- injection.ServeHealthProbes(ctx, injection.HealthCheckDefaultPort) }()
	defer func() {
		stop()
		<-probes // the controller needs the same port for its own probes
	}()
	changes, lister, client, err := watchCluster(ctx, config)
	if err != nil {
		return err
	}
	return Wait(ctx, logger, Cluster{Discovery: disco, Changes: changes, Report: func(ctx context.Context, message string) error {
		return report(ctx, lister, client, message)
	}})
}

// watchCluster watches CRDs and Provisionings. The channel gets a value after each change. If
// several changes happen before the value is read, they give only one value.
func watchCluster(ctx context.Context, config *rest.Config) (<-chan struct{}, listers.ProvisioningLister, versioned.Interface, error) {
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("client for Provisionings: %w", err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("client for CRDs: %w", err)
	}
	changes := make(chan struct{}, 1)
	poke := func() {
		select {
		case changes <- struct{}{}:
		default: // the previous value has not been read yet
		}
	}
	provisionings := externalversions.NewSharedInformerFactory(client, 0).Bpa().V1alpha1().Provisionings()
	definitions := metadatainformer.NewFilteredMetadataInformer(meta, crds, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	for _, informer := range []cache.SharedIndexInformer{provisionings.Informer(), definitions} {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { poke() }, UpdateFunc: func(_, _ any) { poke() }, DeleteFunc: func(any) { poke() },
		})
		if err != nil {
			return nil, nil, nil, err
		}
		go informer.RunWithContext(ctx)
	}
	return changes, provisionings.Lister(), client, nil
}

// report writes the message into the status of every Provisioning whose status does not have this
// message yet.
func report(ctx context.Context, lister listers.ProvisioningLister, client versioned.Interface, message string) error {
	all, err := lister.List(labels.Everything())
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range all {
		changed := p.DeepCopy()
		mark(&changed.Status, message)
		if equality.Semantic.DeepEqual(p.Status, changed.Status) {
			continue
		}
		_, err := client.BpaV1alpha1().Provisionings(p.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			failed = append(failed, fmt.Errorf("status of %s/%s: %w", p.Namespace, p.Name, err))
		}
	}
	return errors.Join(failed...)
}

// mark sets the conditions to Unknown. While kinds are missing, the controller knows the state
// neither of an installed cluster nor of a requested one.
func mark(status *v1alpha1.ProvisioningStatus, message string) {
	status.InitializeConditions()
	status.MarkHostsClaimed(corev1.ConditionUnknown, Reason, message)
	status.MarkArtifactsAvailable(corev1.ConditionUnknown, Reason, message)
	status.MarkClusterInstalled(corev1.ConditionUnknown, Reason, message)
	status.MarkKubeconfigReady(corev1.ConditionUnknown, Reason, message)
}
