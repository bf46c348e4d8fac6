package cli

import (
	"context"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// state is either the newest state of a Provisioning or a permanent error. If both fields are nil,
// the Provisioning does not exist any more.
type state struct {
	provisioning *v1alpha1.Provisioning
	err          error
}

// observe watches one Provisioning until ctx ends. If the reader is slower than the changes, it
// gets the newest state and misses older ones.
//
// The informer resumes a watch that was closed. If the API server no longer has the changes that
// the watch missed, the informer lists again. A restart of the API server therefore causes only a
// delay.
func (s *site) observe(ctx context.Context, name string) (<-chan state, error) {
	newest := make(latest, 1)
	source := &selection{
		client: s.client, list: func() client.ObjectList { return &v1alpha1.ProvisioningList{} },
		options: []client.ListOption{
			client.InNamespace(s.namespace),
			client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(metav1.ObjectNameField, name)},
		},
		// Without absent, nothing would report the deletion of an object before the first list.
		absent: func() { newest.put(state{}) },
	}
	informer := cache.NewSharedIndexInformer(source, &v1alpha1.Provisioning{}, 0, nil)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { newest.seen(obj) },
		UpdateFunc: func(_, obj any) { newest.seen(obj) },
		DeleteFunc: func(any) { newest.put(state{}) },
	})
	if err != nil {
		return nil, err
	}
	err = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
		if permanent(err) {
			newest.put(state{err: err})
		}
	})
	if err != nil {
		return nil, err
	}
	// The informer would log each closed watch. It resumes the watch, so the log is discarded.
	go informer.RunWithContext(klog.NewContext(ctx, logr.Discard()))
	return newest, nil
}

// permanent reports whether err is an answer of the API server that would be the same after a
// retry. Other errors are connection errors, which may disappear.
func permanent(err error) bool {
	return isKindMissing(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// latest holds the newest state that has not been read yet.
type latest chan state

func (l latest) seen(obj any) {
	if p, ok := obj.(*v1alpha1.Provisioning); ok {
		l.put(state{provisioning: p})
	}
}

// put replaces the value. Two goroutines may call put at the same time: the informer calls it with
// states, and the reflector calls it with errors and if the object is absent. Therefore, put
// retries until its value is in the channel.
func (l latest) put(s state) {
	for {
		select {
		case l <- s:
			return
		default:
		}
		select {
		case <-l:
		default:
		}
	}
}
