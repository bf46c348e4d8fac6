package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Set is what a plugin has in a cluster.
type Set struct {
	Plugin string
	// Namespace is that of the objects that name none, if their kind has namespaces.
	Namespace string
	// Objects are in the order in which they are applied. Apply changes them.
	Objects []*unstructured.Unstructured
}

// Limits bound the time that waiting takes.
type Limits struct {
	// Ready bounds the time until all objects of a plugin are ready. Gone bounds the time until deleted
	// objects are gone.
	Ready, Gone time.Duration
}

// Apply gives the cluster the objects of a plugin, and deletes what an earlier version of the plugin had and
// this one has not. Nothing is changed if an object exists that is not the plugin's. If everything is
// there already, nothing changes.
func (c *Client) Apply(ctx context.Context, s Set, limits Limits) error {
	c.kinds.forget() // the plugin before this one may have brought kinds
	wanted, err := c.place(s)
	if err != nil {
		return err
	}
	had, err := c.read(ctx, s.Plugin, keyObjects)
	if err != nil {
		return err
	}
	if wanted, err = c.ours(ctx, s.Plugin, wanted, had); err != nil {
		return err
	}
	refs := append(refsOf(wanted), c.released...) // the next run must know them too
	if err := c.write(ctx, s.Plugin, keyObjects, union(had, refs)); err != nil {
		return err
	}
	if err := c.applyAll(ctx, s.Plugin, wanted, limits); err != nil {
		return err
	}
	if old := without(had, refs); len(old) > 0 {
		if _, err := c.remove(ctx, s.Plugin, old, limits); err != nil {
			return fmt.Errorf("delete what the version before this one had: %w", err)
		}
	}
	return c.write(ctx, s.Plugin, keyObjects, refs)
}

// place completes the objects: it sets the namespace and the label, and leaves out what only the cluster
// writes.
func (c *Client) place(s Set) (all []*unstructured.Unstructured, err error) {
	for _, o := range s.Objects {
		if isCRD(o) {
			c.kinds.learn(o)
		}
	}
	var errs []error
	for _, o := range s.Objects {
		k, err := c.kinds.find(o.GetAPIVersion(), o.GetKind())
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", refOf(o), err))
			continue
		}
		switch {
		case k.namespaced && o.GetNamespace() == "":
			o.SetNamespace(s.Namespace)
		case !k.namespaced:
			o.SetNamespace("")
		}
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[contract.LabelPlugin] = s.Plugin
		o.SetLabels(labels)
		unstructured.RemoveNestedField(o.Object, "status")
		for _, field := range []string{"creationTimestamp", "managedFields", "resourceVersion", "uid", "generation"} {
			unstructured.RemoveNestedField(o.Object, "metadata", field)
		}
		all = append(all, o)
	}
	return all, errors.Join(errs...)
}

func refsOf(objects []*unstructured.Unstructured) (refs []Ref) {
	for _, o := range objects {
		refs = append(refs, refOf(o))
	}
	return refs
}

// applyAll applies the objects: namespaces and CRDs first, and what a webhook of the same plugin must
// admit when the webhook is ready.
func (c *Client) applyAll(ctx context.Context, plugin string, objects []*unstructured.Unstructured, limits Limits) error {
	var crds, done, late []*unstructured.Unstructured
	for i, o := range objects {
		if !isNamespace(refOf(o)) && !isCRD(o) && len(crds) > 0 { // they are the first ones
			if err := c.Ready(ctx, plugin, crds, limits.Ready); err != nil {
				return err
			}
			crds = nil
		}
		err := c.apply(ctx, o)
		if isWebhookDown(err) {
			late = append(late, objects[i])
			continue
		}
		if err != nil {
			return err
		}
		if isCRD(o) {
			crds = append(crds, o)
		}
		done = append(done, o)
	}
	if len(late) == 0 {
		return nil
	}
	fmt.Fprintf(c.log, "  %s waits for a webhook of the cluster\n", refOf(late[0]))
	if err := c.Ready(ctx, plugin, done, limits.Ready); err != nil {
		return err
	}
	for _, o := range late {
		if err := c.apply(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// servedWithin is how long an API server may need to serve a kind after its CRD was established.
const servedWithin = 20 * time.Second

// apply applies one object.
func (c *Client) apply(ctx context.Context, o *unstructured.Unstructured) error {
	k, err := c.kinds.find(o.GetAPIVersion(), o.GetKind())
	if err != nil {
		return err
	}
	client := c.resource(k, o.GetNamespace())
	if err := c.deleteFailedJob(ctx, k, o); err != nil {
		return err
	}
	options := metav1.ApplyOptions{FieldManager: contract.FieldManagerPlugins, Force: true}
	_, err = client.Apply(ctx, o.GetName(), o, options)
	if apierrors.IsNotFound(err) && !builtIn(o.GetAPIVersion()) {
		_ = wait.PollUntilContextTimeout(ctx, time.Second/2, servedWithin, false, func(ctx context.Context) (bool, error) {
			_, err = client.Apply(ctx, o.GetName(), o, options)
			return !apierrors.IsNotFound(err), nil
		})
	}
	if isImmutable(err, o) {
		fmt.Fprintf(c.log, "  %s cannot be changed, so it is replaced\n", refOf(o))
		if err = c.replace(ctx, k, o); err == nil {
			_, err = client.Apply(ctx, o.GetName(), o, options)
		}
	}
	if err != nil {
		return fmt.Errorf("apply %s: %w", refOf(o), err)
	}
	return nil
}

// replaceable are kinds that can be deleted and created again without a loss of data, because parts of
// them cannot be changed.
var replaceable = []string{"Job", "Deployment", "DaemonSet", "RoleBinding", "ClusterRoleBinding"}

func isImmutable(err error, o *unstructured.Unstructured) bool {
	return apierrors.IsInvalid(err) && builtIn(o.GetAPIVersion()) && slices.Contains(replaceable, o.GetKind()) &&
		(strings.Contains(err.Error(), "immutable") || strings.Contains(err.Error(), "cannot change roleRef"))
}

// deleteFailedJob deletes a Job of the plugin that has failed. Kubernetes never runs such a Job again,
// so the plugin could not become ready in a later attempt.
func (c *Client) deleteFailedJob(ctx context.Context, k kind, o *unstructured.Unstructured) error {
	if !isJob(o) {
		return nil
	}
	there, err := c.get(ctx, refOf(o))
	if err != nil || there == nil {
		return err
	}
	if _, failed := condition(there, "Failed"); !failed {
		return nil
	}
	fmt.Fprintf(c.log, "  %s has failed before, so it is replaced\n", refOf(o))
	return c.replace(ctx, k, o)
}

func isJob(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Job" && groupOf(o.GetAPIVersion()) == "batch"
}

// replaceWithin bounds the time until an object that is replaced is gone.
const replaceWithin = 2 * time.Minute

func (c *Client) replace(ctx context.Context, k kind, o *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, replaceWithin)
	defer cancel()
	deleted, err := c.delete(ctx, o.GetLabels()[contract.LabelPlugin], refOf(o), k)
	if err != nil || deleted == nil {
		return err
	}
	return c.awaitGone(ctx, []doomed{*deleted})
}

// isWebhookDown reports whether the API server could not ask a webhook.
func isWebhookDown(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}
