package site

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

// Await watches the objects of a list's kind in the site until one satisfies the condition, and returns it. It never polls.
func Await[T client.Object](s *Site, list client.ObjectList, what string, limit time.Duration, done func(T) bool) T {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	got, last, err := await(ctx, s, list, done)
	if err != nil {
		s.T.Fatalf("waited %s for %s: %v\nlast seen: %s", limit, what, err, last)
	}
	return got
}

// await resumes by listing anew (a watch begins with the present objects) whenever the server ends the watch.
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
			last = look(o)
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

func look(o client.Object) string {
	if p, ok := o.(*v1alpha1.Provisioning); ok {
		return describe(p)
	}
	return fmt.Sprintf("%T %s", o, o.GetName())
}

// AwaitGone waits until an object of the list's kind with this name exists no more.
func AwaitGone(s *Site, list client.ObjectList, object client.Object, limit time.Duration) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	watcher, err := s.Watch(ctx, list, client.InNamespace(s.Namespace), client.MatchingFields{"metadata.name": object.GetName()})
	if err != nil {
		s.T.Fatal(err)
	}
	defer watcher.Stop()
	// Looked up after the watch began: a deletion in between is either seen here or comes as an event.
	if err := s.Get(ctx, client.ObjectKeyFromObject(object), object.DeepCopyObject().(client.Object)); client.IgnoreNotFound(err) == nil && err != nil {
		return
	}
	for event := range watcher.ResultChan() {
		if event.Type == watch.Deleted {
			return
		}
	}
	s.T.Fatalf("waited %s for the end of %s", limit, object.GetName())
}

// Ready reports whether the Provisioning says Ready for its present spec.
func Ready(p *v1alpha1.Provisioning) bool {
	c := p.Status.GetCondition("Ready")
	return c.IsTrue() && p.Status.ObservedGeneration == p.Generation
}

// NotReady makes a condition: Ready=False with this reason for the present spec.
func NotReady(reason string) func(*v1alpha1.Provisioning) bool {
	return func(p *v1alpha1.Provisioning) bool {
		c := p.Status.GetCondition("Ready")
		return c != nil && c.IsFalse() && c.Reason == reason && p.Status.ObservedGeneration == p.Generation
	}
}
