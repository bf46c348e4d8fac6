// Package events makes the recorders of events for reconcilers that are not generated: those of a Provisioning that work
// beside its main reconciler. It must not import another package of reconcilers.
package events

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	kubeclient "knative.dev/pkg/client/injection/kube/client"
	"knative.dev/pkg/controller"

	versionedscheme "github.com/akraino-icn/bpa/pkg/client/clientset/versioned/scheme"
)

// NewRecorder returns the recorder of the context, or a new one with this name of a component, which ends with the
// context.
func NewRecorder(ctx context.Context, component string) record.EventRecorder {
	if recorder := controller.GetEventRecorder(ctx); recorder != nil {
		return recorder
	}
	_ = versionedscheme.AddToScheme(scheme.Scheme) // events refer to Provisionings
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kubeclient.Get(ctx).CoreV1().Events("")})
	go func() {
		<-ctx.Done()
		broadcaster.Shutdown()
	}()
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})
}
