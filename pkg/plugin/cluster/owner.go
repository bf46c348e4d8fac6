package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// ours returns the objects that the plugin may apply. A namespace that exists and is not the plugin's is
// left out: the plugin uses it as it is. An object that had lists, which are those of the inventory, and
// that has no plugin's label any more is left out too: a user keeps it. Such objects are then in
// c.released. Any other object that exists and is not the plugin's is an error, which says who manages it.
func (c *Client) ours(ctx context.Context, plugin string, objects []*unstructured.Unstructured, had []Ref) (all []*unstructured.Unstructured, err error) {
	var errs []error
	c.released = nil
	for _, o := range objects {
		there, err := c.get(ctx, refOf(o))
		switch {
		case err != nil:
			return nil, err
		case there != nil && there.GetLabels()[contract.LabelPlugin] == "" && len(without([]Ref{refOf(o)}, had)) == 0:
			fmt.Fprintf(c.log, "  %s has not the label %s=%s any more, so it is not changed\n", refOf(o), contract.LabelPlugin, plugin)
			c.released = append(c.released, refOf(o))
		case there == nil || belongs(there, plugin):
			all = append(all, o)
		case isNamespace(refOf(o)):
			fmt.Fprintf(c.log, "  %s exists and is not of the plugin, so it is used and not changed\n", refOf(o))
		default:
			errs = append(errs, foreign(there, plugin))
		}
	}
	return all, errors.Join(errs...)
}

// get returns an object; nil: the cluster does not have it.
func (c *Client) get(ctx context.Context, r Ref) (*unstructured.Unstructured, error) {
	k, err := c.kinds.find(r.APIVersion, r.Kind)
	var missing *errNoKind
	if errors.As(err, &missing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	there, err := c.resource(k, r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", r, err)
	}
	return there, nil
}

// belongs reports whether an object is a plugin's: it has the plugin's label, or nobody but BPA has ever
// set a field of it.
func belongs(o *unstructured.Unstructured, plugin string) bool {
	if label, ok := o.GetLabels()[contract.LabelPlugin]; ok {
		return label == plugin
	}
	managers := managersOf(o)
	return len(managers) == 1 && managers[0] == contract.FieldManagerPlugins
}

// managersOf returns who has set fields of an object, except of its status, sorted.
func managersOf(o *unstructured.Unstructured) (names []string) {
	for _, f := range o.GetManagedFields() {
		if f.Subresource == "" && !slices.Contains(names, f.Manager) {
			names = append(names, f.Manager)
		}
	}
	slices.Sort(names)
	return names
}

func foreign(o *unstructured.Unstructured, plugin string) error {
	r := refOf(o)
	if other := o.GetLabels()[contract.LabelPlugin]; other != "" {
		return fmt.Errorf("%s exists already and belongs to plugin %s: only one of the two plugins can be installed", r, other)
	}
	by := "an unknown manager"
	if names := managersOf(o); len(names) > 0 {
		by = strings.Join(names, ", ")
	}
	return fmt.Errorf("%s exists already and is managed by %s: delete it if plugin %s is to bring it, or remove the plugin", r, by, plugin)
}
