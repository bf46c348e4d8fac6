package site

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// Await watches the objects of one kind in the site. The parameter list is a list of this kind.
// Await returns the first object for which done returns true, and fails the test after limit. It
// never polls. The parameter what describes the awaited state in the error message.
func Await[T client.Object](s *Site, list client.ObjectList, what string, limit time.Duration, done func(T) bool) T {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	got, last, err := await(ctx, s, list, done)
	if err != nil {
		s.T.Fatalf("timeout after %s: waiting for %s: %v\nlast state: %s", limit, what, err, last)
	}
	return got
}

// await starts a new watch whenever the server ends one. Each watch begins with the existing
// objects. await also returns a description of the last object.
func await[T client.Object](ctx context.Context, s *Site, list client.ObjectList, done func(T) bool) (T, string, error) {
	var none T
	last := "nothing"
	for {
		watcher, err := s.Watch(ctx, list.DeepCopyObject().(client.ObjectList), client.InNamespace(s.Namespace))
		if err != nil {
			return none, last, err
		}
		for event := range watcher.ResultChan() {
			o, ok := event.Object.(T)
			if !ok {
				continue
			}
			last = stateOf(o)
			if event.Type != watch.Deleted && done(o) {
				watcher.Stop()
				return o, last, nil
			}
		}
		if ctx.Err() != nil {
			return none, last, ctx.Err()
		}
	}
}

func stateOf(o client.Object) string {
	if p, ok := o.(*v1alpha1.Provisioning); ok {
		return describe(p)
	}
	return fmt.Sprintf("%T %s", o, o.GetName())
}

// AwaitGone waits until the object is deleted, and fails the test after limit. list is a list of
// the object's kind.
func AwaitGone(s *Site, list client.ObjectList, object client.Object, limit time.Duration) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	watcher, err := s.Watch(ctx, list, client.InNamespace(s.Namespace), client.MatchingFields{"metadata.name": object.GetName()})
	if err != nil {
		s.T.Fatal(err)
	}
	defer watcher.Stop()
	// Read the object after the start of the watch, so that no deletion is missed. If the object is
	// deleted before this read, the read does not find it. If it is deleted after this read, the
	// watch has an event.
	if err := s.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopyObject().(client.Object)); client.IgnoreNotFound(err) == nil && err != nil {
		return
	}
	for event := range watcher.ResultChan() {
		if event.Type == watch.Deleted {
			return
		}
	}
	s.T.Fatalf("timeout after %s: waiting for the deletion of %s", limit, object.GetName())
}

// Ready reports whether the Provisioning is Ready for its current spec.
func Ready(p *v1alpha1.Provisioning) bool {
	c := p.Status.GetCondition("Ready")
	return c.IsTrue() && p.Status.ObservedGeneration == p.Generation
}

// NotReady returns a function for Await. It reports whether Ready is False with this reason for the
// current spec.
func NotReady(reason string) func(*v1alpha1.Provisioning) bool {
	return func(p *v1alpha1.Provisioning) bool {
		c := p.Status.GetCondition("Ready")
		return c != nil && c.IsFalse() && c.Reason == reason && p.Status.ObservedGeneration == p.Generation
	}
}
