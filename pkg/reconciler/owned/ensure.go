// Package owned creates and updates the objects that an object owns.
//
// Invariant: it never changes an object that another object controls.
package owned

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Kind is the interface that all kinds of objects have that a controller creates.
type Kind interface {
	metav1.Object
	runtime.Object
}

// Client is the common part of client-go's typed clients.
type Client[T Kind] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error)
}

// ForeignError reports that an object of this name exists and belongs to somebody else.
type ForeignError struct{ What string }

func (e *ForeignError) Error() string { return e.What + " exists and belongs to another object" }

// Make is Ensure for an object that most likely does not exist: then it needs one request instead of two.
func Make[T Kind](ctx context.Context, owner metav1.Object, client Client[T], want T, put func(have, want T)) (T, error) {
	made, err := client.Create(ctx, want, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		return Ensure(ctx, owner, client, want, put)
	case err != nil:
		return made, fmt.Errorf("create %T %s: %w", want, want.GetName(), err)
	}
	return made, nil
}

// Ensure creates the object want. If owner already controls an object of that name, Ensure updates the
// existing object: put copies from want the fields that must be equal. Ensure writes only if the
// objects differ in these fields.
func Ensure[T Kind](ctx context.Context, owner metav1.Object, client Client[T], want T, put func(have, want T)) (T, error) {
	what := fmt.Sprintf("%T %s", want, want.GetName())[1:]
	have, err := client.Get(ctx, want.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		made, err := client.Create(ctx, want, metav1.CreateOptions{})
		if err != nil {
			return made, fmt.Errorf("create %s: %w", what, err)
		}
		return made, nil
	}
	if err != nil {
		return have, fmt.Errorf("get %s: %w", what, err)
	}
	if !metav1.IsControlledBy(have, owner) {
		return have, &ForeignError{what}
	}
	next := have.DeepCopyObject().(T)
	put(next, want)
	if equality.Semantic.DeepEqual(have, next) {
		return have, nil
	}
	if next, err = client.Update(ctx, next, metav1.UpdateOptions{}); err != nil {
		return next, fmt.Errorf("update %s: %w", what, err)
	}
	return next, nil
}
