package provisioning

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

type key = types.NamespacedName

// watchSecrets calls changed with the name of each Secret that appears, changes or disappears. The Secrets
// of a cluster are large, and the controller must not read their contents. Therefore it requests
// only metadata from the API server, and caches only names and versions. It returns a function that
// looks up the resourceVersion of a Secret.
func watchSecrets(ctx context.Context, config *rest.Config, changed func(namespace, name string)) (func(namespace, name string) string, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("watch the names of Secrets: %w", err)
	}
	informer := metadatainformer.NewFilteredMetadataInformer(client, corev1.SchemeGroupVersion.WithResource("secrets"),
		metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	if err := informer.SetTransform(nameOnly); err != nil {
		return nil, fmt.Errorf("watch the names of Secrets: %w", err)
	}
	tell := func(o any) {
		if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = last.Obj
		}
		if m, ok := o.(metav1.Object); ok {
			changed(m.GetNamespace(), m.GetName())
		}
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    tell,
		UpdateFunc: func(_, after any) { tell(after) },
		DeleteFunc: tell,
	})
	if err != nil {
		return nil, fmt.Errorf("watch the names of Secrets: %w", err)
	}
	go informer.RunWithContext(ctx)
	return func(namespace, name string) string {
		o, _, _ := informer.GetStore().GetByKey(namespace + "/" + name)
		if m, ok := o.(metav1.Object); ok {
			return m.GetResourceVersion()
		}
		return ""
	}, nil
}

func nameOnly(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, ResourceVersion: m.ResourceVersion,
	}}, nil
}
