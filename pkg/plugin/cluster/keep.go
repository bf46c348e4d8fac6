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
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

// mostListed is the number of objects that one call reads, where a few of them are enough for a message.
const mostListed = 100

// customResources returns the objects of the kind that a CRD defines. Those of the plugin are gone when it is
// called.
func (c *Client) customResources(ctx context.Context, crd Ref) ([]string, error) {
	there, err := c.get(ctx, crd)
	if err != nil || there == nil {
		return nil, err
	}
	version := ""
	versions, _, _ := unstructured.NestedSlice(there.Object, "spec", "versions")
	for _, v := range versions {
		if one, _ := v.(map[string]any); one["served"] == true {
			version, _ = one["name"].(string)
		}
	}
	if version == "" {
		return nil, nil // a kind that no version serves has no objects that anybody can use
	}
	group, _, _ := unstructured.NestedString(there.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(there.Object, "spec", "names", "plural")
	list, err := c.dynamic.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: plural}).List(ctx, metav1.ListOptions{Limit: mostListed})
	if apierrors.IsNotFound(err) {
		return nil, nil // the CRD was never established
	}
	if err != nil {
		return nil, fmt.Errorf("list the objects of %s: %w", crd, err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, refOf(&list.Items[i]).String())
	}
	return names, nil
}

// inhabitants returns the objects in a namespace that a user could miss: all except those that Kubernetes
// makes itself, and those that belong to another object.
func (c *Client) inhabitants(ctx context.Context, namespace string) ([]string, error) {
	there, err := c.get(ctx, Ref{APIVersion: "v1", Kind: "Namespace", Name: namespace})
	if err != nil || there == nil || there.GetDeletionTimestamp() != nil {
		return nil, err
	}
	lists, err := c.kube.Discovery().ServerPreferredNamespacedResources()
	var partly *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partly) {
		return nil, fmt.Errorf("ask the cluster for its kinds: %w", err)
	}
	if partly != nil {
		return nil, fmt.Errorf("the namespace %s cannot be deleted now: %w", namespace, err)
	}
	var names []string
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") || slices.Contains(transient, r.Kind) {
				continue
			}
			found, err := firstMissed(ctx, c.dynamic.Resource(gv.WithResource(r.Name)).Namespace(namespace))
			if err != nil {
				return nil, fmt.Errorf("list %s of namespace %s: %w", r.Name, namespace, err)
			}
			names = append(names, found...)
		}
	}
	return names, nil
}

// transient are kinds whose objects nobody misses.
var transient = []string{"Event", "Lease", "Endpoints", "EndpointSlice", "PodMetrics"}

// firstMissed returns objects of one kind that a user could miss. It reads pages until one has such an
// object, because the first pages can be full of objects that belong to others. Nil: there is none.
func firstMissed(ctx context.Context, client dynamic.ResourceInterface) ([]string, error) {
	options := metav1.ListOptions{Limit: mostListed}
	for {
		list, err := client.List(ctx, options)
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			return nil, nil // the kind has gone, or its server cannot list it
		}
		if err != nil {
			return nil, err
		}
		names := missed(list)
		if options.Continue = list.GetContinue(); len(names) > 0 || options.Continue == "" {
			return names, nil
		}
	}
}

func missed(list *unstructured.UnstructuredList) (names []string) {
	for i := range list.Items {
		o := &list.Items[i]
		own := o.GetKind() == "ServiceAccount" && o.GetName() == "default" || o.GetKind() == "ConfigMap" && o.GetName() == "kube-root-ca.crt"
		if !own && len(o.GetOwnerReferences()) == 0 && o.GetDeletionTimestamp() == nil {
			names = append(names, refOf(o).String())
		}
	}
	return names
}
