package cache

import (
	"context"
	"fmt"
	"reflect"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/hosts"
	"github.com/akraino-icn/bpa/pkg/hosts/facts"
)

// Tenancy returns what the namespace of an owner may do with hosts.
func (c *Cache) Tenancy(ctx context.Context, owner hosts.Owner) (hosts.Tenancy, error) {
	var t hosts.Tenancy
	namespace := namespaceMetadata()
	err := c.cache.Get(ctx, client.ObjectKey{Name: owner.Namespace}, namespace)
	if err != nil && !apierrors.IsNotFound(err) { // a namespace that the cache does not show yet has no label that a policy could want
		return t, fmt.Errorf("get namespace %s: %w", owner.Namespace, err)
	}
	if value, limited := namespace.Annotations[contract.AnnotationMaxHosts]; limited {
		t.MaxHosts = new(facts.MaxHosts(value))
		err := c.each(ctx, func(host *metal3.BareMetalHost) {
			if facts.Of(host, nil).Lost {
				return
			}
			if host.Namespace == owner.HostNamespace() {
				t.Here++
			} else {
				t.Elsewhere++
			}
		}, client.MatchingFields{indexHolder: owner.Namespace + "/"})
		if err != nil {
			return t, err
		}
	}
	if owner.Pool != "" {
		t.Refused, err = c.refused(ctx, owner, namespace.Labels)
	}
	return t, client.IgnoreNotFound(err)
}

// refused says why the owner may not claim hosts of its pool; empty: a policy grants them.
func (c *Cache) refused(ctx context.Context, owner hosts.Owner, labels map[string]string) (string, error) {
	if !c.policies {
		return "spec.hostNamespace needs Metal3's kind HostDeployPolicy, which this cluster does not have: install a newer Metal3, and start the controller of BPA again", nil
	}
	var list metal3.HostDeployPolicyList
	if err := c.cache.List(ctx, &list, client.InNamespace(owner.Pool), client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("list the HostDeployPolicies of namespace %s: %w", owner.Pool, err)
	}
	for i := range list.Items {
		if facts.Grants(&list.Items[i], owner.Namespace, labels) {
			return "", nil
		}
	}
	return fmt.Sprintf("no HostDeployPolicy in namespace %s grants its hosts to namespace %s: ask an administrator for one", owner.Pool, owner.Namespace), nil
}

func namespaceMetadata() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return m
}

// WatchTenants calls granted with the namespace of a policy that has changed, and tenant with the name of a
// namespace whose labels or limit have changed. It must be called before Start.
func (c *Cache) WatchTenants(ctx context.Context, granted, tenant func(namespace string)) error {
	if err := c.watch(ctx, namespaceMetadata(), func(before, after client.Object) {
		if before == nil || after == nil || !reflect.DeepEqual(before.GetLabels(), after.GetLabels()) || !reflect.DeepEqual(before.GetAnnotations(), after.GetAnnotations()) {
			tenant(either(after, before).GetName())
		}
	}); err != nil || !c.policies {
		return err
	}
	return c.watch(ctx, &metal3.HostDeployPolicy{}, func(before, after client.Object) { granted(either(after, before).GetNamespace()) })
}

// watch calls changed with an object of a kind before and after each change; nil: the object did not exist, or
// does not exist any more.
func (c *Cache) watch(ctx context.Context, kind client.Object, changed func(before, after client.Object)) error {
	informer, err := c.cache.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch %T: %w", kind, err)
	}
	object := func(o any) client.Object {
		if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		is, _ := o.(client.Object)
		return is
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { changed(nil, object(o)) },
		UpdateFunc: func(before, after any) { changed(object(before), object(after)) },
		DeleteFunc: func(o any) {
			if last := object(o); last != nil {
				changed(last, nil)
			}
		},
	})
	return err
}

func either(a, b client.Object) client.Object {
	if a != nil {
		return a
	}
	return b
}

// stripNamespace keeps the labels of a namespace and the limit of its hosts.
func stripNamespace(o any) (any, error) {
	m, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}
	kept := &metav1.PartialObjectMetadata{TypeMeta: m.TypeMeta, ObjectMeta: metav1.ObjectMeta{Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Labels: m.Labels}}
	if value, limited := m.Annotations[contract.AnnotationMaxHosts]; limited {
		kept.Annotations = map[string]string{contract.AnnotationMaxHosts: value}
	}
	return kept, nil
}
