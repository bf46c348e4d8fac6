package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	// pageSize is the maximum number of objects in one answer.
	pageSize = 500
	// requestTime is the maximum time of one request.
	requestTime = time.Minute
	// requestRate is the maximum number of requests per second. It is above the client's default,
	// because a cluster has about a hundred kinds.
	requestRate = 50
	// maxExpired is the maximum number of restarts of the list of one kind. A list restarts if its
	// continue token has expired.
	maxExpired = 5
)

// unread holds the kinds that are not searched. Nodes are left out because a Node lists all images
// on its disk. If Nodes were searched, gc would free no image that is on the disk of a node.
// Secrets are left out so that the user does not need the right to read all Secrets. Objects of the
// other kinds in unread change often and contain no image that a cluster could run again.
var unread = map[schema.GroupResource]bool{
	{Resource: "secrets"}:                                   true,
	{Resource: "nodes"}:                                     true,
	{Resource: "events"}:                                    true,
	{Group: "events.k8s.io", Resource: "events"}:            true,
	{Group: "coordination.k8s.io", Resource: "leases"}:      true,
	{Group: "metrics.k8s.io", Resource: "nodes"}:            true,
	{Group: "metrics.k8s.io", Resource: "pods"}:             true,
	{Resource: "endpoints"}:                                 true,
	{Group: "discovery.k8s.io", Resource: "endpointslices"}: true,
}

// addCluster records the images in all objects of a cluster, and returns the number
// of objects. It returns an error if one kind cannot be read.
func (i images) addCluster(ctx context.Context, config *rest.Config) (objects int, err error) {
	config = rest.CopyConfig(config)
	config.Timeout, config.QPS, config.Burst = requestTime, requestRate, 2*requestRate
	config.WarningHandler = rest.NoWarnings{} // suppresses the API server's warnings about deprecated kinds
	kinds, err := listedKinds(config)
	if err != nil {
		return 0, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return 0, err
	}
	for _, kind := range kinds {
		n, err := i.addKind(ctx, client.Resource(kind))
		if err != nil {
			return objects, fmt.Errorf("read %s: %w", kind.GroupResource(), err)
		}
		objects += n
	}
	return objects, nil
}

// listedKinds returns the kinds that a cluster can list, except unread ones, in the version that
// the cluster prefers.
func listedKinds(config *rest.Config) ([]schema.GroupVersionResource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("list the kinds: %w", err)
	}
	var kinds []schema.GroupVersionResource
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range list.APIResources {
			kind := version.WithResource(r.Name)
			if slices.Contains(r.Verbs, "list") && !unread[kind.GroupResource()] {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds, nil
}

// addKind reads the objects of one kind in all namespaces, page by page.
func (i images) addKind(ctx context.Context, client dynamic.ResourceInterface) (objects int, err error) {
	options := metav1.ListOptions{Limit: pageSize}
	for expired := 0; ; {
		page, err := client.List(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" && expired < maxExpired {
			options.Continue, objects, expired = "", 0, expired+1
			continue
		}
		if err != nil {
			return objects, err
		}
		objects += len(page.Items)
		if err := i.addAll(page.Items); err != nil {
			return objects, err
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return objects, nil
		}
	}
}

func (i images) addAll(objects []unstructured.Unstructured) error {
	for _, o := range objects {
		if err := i.add(o.Object); err != nil {
			return fmt.Errorf("%s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
	}
	return nil
}
