package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// change is what a watch has seen.
type change struct {
	object *unstructured.Unstructured
	gone   bool
	err    error // the watch goes on
}

// watch sends the present state of objects and each of its changes, until the context ends. An informer
// lists the objects again when a watch has ended.
func (c *Client) watch(ctx context.Context, k kind, namespace string, options metav1.ListOptions, changes chan<- change) {
	informer := dynamicinformer.NewFilteredDynamicInformer(c.dynamic, k.resource, namespace, 0, nil, func(o *metav1.ListOptions) {
		o.LabelSelector, o.FieldSelector = options.LabelSelector, options.FieldSelector
	}).Informer()
	send := func(one change) {
		select {
		case changes <- one:
		case <-ctx.Done():
		}
	}
	object := func(o any, gone bool) {
		if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = unknown.Obj
		}
		if u, ok := o.(*unstructured.Unstructured); ok {
			send(change{object: u, gone: gone})
		}
	}
	_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { send(change{err: err}) }) // only fails after the start
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{                                                                // only fails after the end
		AddFunc: func(o any) { object(o, false) }, UpdateFunc: func(_, o any) { object(o, false) }, DeleteFunc: func(o any) { object(o, true) },
	})
	go informer.RunWithContext(ctx)
}
