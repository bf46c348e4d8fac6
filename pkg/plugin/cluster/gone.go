package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// errSlow is the cause of a context that has reached its time limit.
var errSlow = errors.New("the time limit is reached")

// awaitGone waits until objects that are being deleted are gone.
func (c *Client) awaitGone(ctx context.Context, objects []doomed) error {
	for _, o := range objects {
		if err := c.awaitOne(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) awaitOne(ctx context.Context, o doomed) error {
	client := c.resource(o.kind, o.Namespace)
	var last *unstructured.Unstructured
	for {
		there, err := client.Get(ctx, o.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && there.GetUID() != o.uid:
			return nil
		case ctx.Err() != nil:
			return notGone(ctx, o, last)
		case err != nil:
			return fmt.Errorf("read %s: %w", o, err)
		}
		last = there
		if !c.awaitDeletion(ctx, o, there.GetResourceVersion()) && ctx.Err() == nil {
			select { // a pause, because the watch may have ended at once
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
}

// awaitDeletion watches an object until it is deleted or the watch ends. It returns false if the watch
// has ended, or the kind cannot be watched.
func (c *Client) awaitDeletion(ctx context.Context, o doomed, version string) bool {
	if !o.kind.watched {
		return false
	}
	changes, err := c.resource(o.kind, o.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", o.Name).String(), ResourceVersion: version,
	})
	if err != nil {
		return false
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		if change.Type == watch.Deleted {
			return true
		}
	}
	return false
}

func notGone(ctx context.Context, o doomed, last *unstructured.Unstructured) error {
	if !errors.Is(context.Cause(ctx), errSlow) {
		return context.Cause(ctx)
	}
	why := "the cluster has not deleted what it has created"
	if last != nil && len(last.GetFinalizers()) > 0 {
		why = "it has the finalizers " + strings.Join(last.GetFinalizers(), ", ")
	}
	if last != nil && isNamespace(o.Ref) {
		if text := stuckNamespace(last); text != "" {
			why = text
		}
	}
	return fmt.Errorf("%s was deleted and is not gone within the time limit: %s", o.Ref, why)
}

// stuckNamespace returns what the cluster says about a namespace that it cannot delete.
func stuckNamespace(o *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, one := range conditions {
		c, _ := one.(map[string]any)
		if c["status"] == "True" {
			if text, _ := c["message"].(string); text != "" {
				return text
			}
		}
	}
	return ""
}
