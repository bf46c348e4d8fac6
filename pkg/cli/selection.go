package cli

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// selection lists and watches some objects of one kind through controller-runtime's client. It is
// the source of an informer.
type selection struct {
	client  client.WithWatch
	list    func() client.ObjectList // makes an empty list
	options []client.ListOption
	absent  func() // is called when a list has no items; nil: nothing is called
}

// requestLimit is the maximum time of a list. The server limits the time of a watch.
const requestLimit = 30 * time.Second

// with returns the options of the selection and those of the informer.
func (s *selection) with(opts *metav1.ListOptions) []client.ListOption {
	return append([]client.ListOption{&client.ListOptions{Raw: opts}}, s.options...)
}

func (s *selection) ListWithContext(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	all := s.list()
	err := s.client.List(ctx, all, s.with(&opts)...)
	if err == nil && s.absent != nil && meta.LenList(all) == 0 {
		s.absent()
	}
	return all, err
}

func (s *selection) WatchWithContext(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	return s.client.Watch(ctx, s.list(), s.with(&opts)...)
}

func (s *selection) List(opts metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), opts)
}

func (s *selection) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), opts)
}

// IsWatchListSemanticsUnSupported returns true so that the informer first lists and then watches.
// The newer streaming list saves memory for long lists, but these lists are short.
func (s *selection) IsWatchListSemanticsUnSupported() bool { return true }
