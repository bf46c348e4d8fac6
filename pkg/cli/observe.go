package cli

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// state is a Provisioning as it was seen, nil once it is gone, or an error that
// no waiting repairs.
type state struct {
	provisioning *v1alpha1.Provisioning
	err          error
}

// observe watches one Provisioning until ctx ends. A reader that is slower than
// the changes gets the newest state and misses older ones.
//
// The informer resumes a closed watch where it ended and lists again when that
// is too long ago, so a restarted API server costs nothing but time.
func (s *site) observe(ctx context.Context, name string) (<-chan state, error) {
	newest := make(latest, 1)
	source := &singleObject{s.client, s.namespace, name, func() { newest.put(state{}) }}
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
		if hopeless(err) {
			newest.put(state{err: err})
		}
	})
	if err != nil {
		return nil, err
	}
	// The informer would log each closed watch; it just goes on, so nobody need know.
	go informer.RunWithContext(klog.NewContext(ctx, logr.Discard()))
	return newest, nil
}

// hopeless errors are answers; everything else is a connection that may come back.
func hopeless(err error) bool {
	return isKindMissing(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// latest holds the newest state that nobody has read yet.
type latest chan state

func (l latest) seen(obj any) {
	if p, ok := obj.(*v1alpha1.Provisioning); ok {
		l.put(state{provisioning: p})
	}
}

// put may be called by two goroutines at once, the informer's for states and the
// reflector's for the rest; so it retries until its value is in.
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

// singleObject lists and watches one object through controller-runtime's client.
type singleObject struct {
	client          client.WithWatch
	namespace, name string
	// absent is called when a list does not hold the object. Deleted before the
	// first list, it would otherwise never be missed.
	absent func()
}

// requestLimit bounds a list; the watch is bounded by the server.
const requestLimit = 30 * time.Second

func (o *singleObject) options(opts *metav1.ListOptions) []client.ListOption {
	return []client.ListOption{
		client.InNamespace(o.namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(metav1.ObjectNameField, o.name)},
		&client.ListOptions{Raw: opts},
	}
}

func (o *singleObject) ListWithContext(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	all := &v1alpha1.ProvisioningList{}
	err := o.client.List(ctx, all, o.options(&opts)...)
	if err == nil && len(all.Items) == 0 {
		o.absent()
	}
	return all, err
}

func (o *singleObject) WatchWithContext(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	return o.client.Watch(ctx, &v1alpha1.ProvisioningList{}, o.options(&opts)...)
}

func (o *singleObject) List(opts metav1.ListOptions) (runtime.Object, error) {
	return o.ListWithContext(context.Background(), opts)
}

func (o *singleObject) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return o.WatchWithContext(context.Background(), opts)
}

// IsWatchListSemanticsUnSupported makes the informer list, then watch. The
// newer streaming list saves memory on long lists; this one has one item.
func (o *singleObject) IsWatchListSemanticsUnSupported() bool { return true }
