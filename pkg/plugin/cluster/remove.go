package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Remove deletes everything that Apply and Test have created for a plugin, and its inventory. It returns
// remarks about objects that stay. It succeeds if there is nothing.
func (c *Client) Remove(ctx context.Context, plugin string, limits Limits) (kept []string, err error) {
	c.kinds.forget()
	if err := c.cleanTest(ctx, plugin, limits); err != nil {
		return nil, err
	}
	refs, err := c.read(ctx, plugin, keyObjects)
	if err != nil {
		return nil, err
	}
	if kept, err = c.remove(ctx, plugin, refs, limits); err != nil {
		return kept, err
	}
	if err := c.drop(ctx, plugin); err != nil {
		return kept, fmt.Errorf("delete the inventory of the plugin: %w", err)
	}
	return kept, nil
}

// remove deletes objects of a plugin in stages, and waits until each stage is gone: custom resources while
// their controller still runs, then the objects of Kubernetes' own kinds, CRDs and namespaces.
func (c *Client) remove(ctx context.Context, plugin string, refs []Ref, limits Limits) (kept []string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Gone, errSlow)
	defer cancel()
	for _, stage := range stages(refs) {
		var gone []doomed
		for _, r := range stage {
			why, err := c.mustStay(ctx, r)
			if err != nil {
				return kept, err
			}
			if why != "" {
				kept = append(kept, why)
				fmt.Fprintf(c.log, "  %s\n", why)
				continue
			}
			k, err := c.kinds.find(r.APIVersion, r.Kind)
			var missing *errNoKind
			if errors.As(err, &missing) {
				continue // with its kind, the object is gone too
			}
			if err != nil {
				return kept, err
			}
			deleted, err := c.delete(ctx, plugin, r, k)
			if err != nil {
				return kept, err
			}
			if deleted != nil {
				gone = append(gone, *deleted)
			}
		}
		if err := c.awaitGone(ctx, gone); err != nil {
			return kept, err
		}
		c.kinds.forget() // with a CRD, its kind has gone
	}
	return kept, nil
}

// stages returns the objects in the order of their removal.
func stages(refs []Ref) [][]Ref {
	all := make([][]Ref, 4)
	for _, r := range slices.Backward(refs) {
		stage := 1
		switch {
		case isNamespace(r):
			stage = 3
		case isCRDRef(r):
			stage = 2
		case !builtIn(r.APIVersion):
			stage = 0
		}
		all[stage] = append(all[stage], r)
	}
	return all
}

// doomed is an object that is being deleted.
type doomed struct {
	Ref
	kind kind
	uid  types.UID
}

// delete deletes an object with all that it has created, if it has the plugin's label. It returns nil if
// nothing is to be waited for.
func (c *Client) delete(ctx context.Context, plugin string, r Ref, k kind) (*doomed, error) {
	client := c.resource(k, r.Namespace)
	there, err := client.Get(ctx, r.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", r, err)
	}
	if label := there.GetLabels()[contract.LabelPlugin]; label != plugin {
		fmt.Fprintf(c.log, "  %s has not the label %s=%s any more, so it stays\n", r, contract.LabelPlugin, plugin)
		return nil, nil
	}
	uid, foreground := there.GetUID(), metav1.DeletePropagationForeground
	err = client.Delete(ctx, r.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &foreground})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("delete %s: %w", r, err)
	}
	return &doomed{Ref: r, kind: k, uid: uid}, nil
}

// mustStay returns why an object must not be deleted; empty: it can be deleted.
func (c *Client) mustStay(ctx context.Context, r Ref) (string, error) {
	var others []string
	var err error
	switch {
	case isCRDRef(r):
		others, err = c.customResources(ctx, r)
	case isNamespace(r):
		others, err = c.inhabitants(ctx, r.Name)
	}
	if err != nil || len(others) == 0 {
		return "", err
	}
	more := ""
	if len(others) > mostNamed {
		more, others = fmt.Sprintf(" and %d more", len(others)-mostNamed), others[:mostNamed]
	}
	return fmt.Sprintf("%s stays, because BPA has not applied %s%s", r, strings.Join(others, ", "), more), nil
}

// mostNamed is how many objects a message names.
const mostNamed = 3
