package cluster

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// kind is a kind of objects that the cluster has.
type kind struct {
	resource   schema.GroupVersionResource
	namespaced bool
	watched    bool // the cluster can watch such objects
}

// kinds finds the kinds of the cluster. Package restmapper cannot be used: for it, a kind whose server
// does not answer at the moment is the same as a kind that does not exist, and an object of a kind that
// does not exist counts as deleted.
type kinds struct {
	discovery discovery.DiscoveryInterface
	served    map[string][]metav1.APIResource // by group and version; only what the cluster has answered
	groups    map[string][]string             // the versions of each group; nil: not asked
	learned   map[schema.GroupKind]kind       // from CRDs that the cluster may not serve yet
}

func newKinds(d discovery.DiscoveryInterface) *kinds {
	k := &kinds{discovery: d, learned: map[schema.GroupKind]kind{}}
	k.forget()
	return k
}

// forget makes the next calls ask the cluster again.
func (k *kinds) forget() { k.served, k.groups = map[string][]metav1.APIResource{}, nil }

// errNoKind reports that the cluster has no such kind. The cluster has answered that.
type errNoKind struct{ apiVersion, kind string }

func (e *errNoKind) Error() string {
	return fmt.Sprintf("the cluster has no kind %s of %s: the plugin needs another plugin that brings it, or it is for another version of Kubernetes", e.kind, e.apiVersion)
}

// find returns the kind in this version of its API, or else in another one.
func (k *kinds) find(apiVersion, name string) (kind, error) {
	if found, ok, err := k.findIn(apiVersion, name); ok || err != nil {
		return found, err
	}
	group := groupOf(apiVersion)
	versions, err := k.versions(group)
	if err != nil {
		return kind{}, err
	}
	for _, version := range versions {
		if found, ok, err := k.findIn(version, name); ok || err != nil {
			return found, err
		}
	}
	if found, ok := k.learned[schema.GroupKind{Group: group, Kind: name}]; ok {
		found.resource.Version = apiVersion[strings.Index(apiVersion, "/")+1:]
		return found, nil
	}
	return kind{}, &errNoKind{apiVersion, name}
}

func (k *kinds) findIn(apiVersion, name string) (kind, bool, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return kind{}, false, err
	}
	resources, ok := k.served[apiVersion]
	if !ok {
		list, err := k.discovery.ServerResourcesForGroupVersion(apiVersion)
		if err != nil && !apierrors.IsNotFound(err) {
			return kind{}, false, fmt.Errorf("ask the cluster for the kinds of %s: %w", apiVersion, err)
		}
		if err == nil {
			resources = list.APIResources
		}
		k.served[apiVersion] = resources
	}
	for _, r := range resources {
		if r.Kind == name && !strings.Contains(r.Name, "/") {
			return kind{resource: gv.WithResource(r.Name), namespaced: r.Namespaced,
				watched: slices.Contains(r.Verbs, "watch") && slices.Contains(r.Verbs, "list")}, true, nil
		}
	}
	return kind{}, false, nil
}

// versions returns the versions of a group, such as apps/v1.
func (k *kinds) versions(group string) ([]string, error) {
	if k.groups == nil {
		list, err := k.discovery.ServerGroups()
		if err != nil {
			return nil, fmt.Errorf("ask the cluster for its APIs: %w", err)
		}
		k.groups = map[string][]string{}
		for _, g := range list.Groups {
			for _, v := range g.Versions {
				k.groups[g.Name] = append(k.groups[g.Name], v.GroupVersion)
			}
		}
	}
	return k.groups[group], nil
}

// learn remembers the kind that a CRD defines.
func (k *kinds) learn(crd *unstructured.Unstructured) {
	text := func(path ...string) string { s, _, _ := unstructured.NestedString(crd.Object, path...); return s }
	group := text("spec", "group")
	k.learned[schema.GroupKind{Group: group, Kind: text("spec", "names", "kind")}] = kind{
		resource:   schema.GroupVersionResource{Group: group, Resource: text("spec", "names", "plural")},
		namespaced: text("spec", "scope") == "Namespaced", watched: true,
	}
}

func groupOf(apiVersion string) string {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return "" // v1
	}
	return group
}

func isCRD(o *unstructured.Unstructured) bool { return isCRDRef(refOf(o)) }

func isCRDRef(r Ref) bool {
	return r.Kind == "CustomResourceDefinition" && groupOf(r.APIVersion) == "apiextensions.k8s.io"
}

func isNamespace(r Ref) bool { return r.Kind == "Namespace" && r.APIVersion == "v1" }

// builtIn reports whether a kind is one of Kubernetes itself. Groups of custom resources have a dot, and
// only those of Kubernetes end with k8s.io.
func builtIn(apiVersion string) bool {
	group := groupOf(apiVersion)
	return !strings.Contains(group, ".") || slices.Contains(ownGroups, group)
}

var ownGroups = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "certificates.k8s.io", "coordination.k8s.io",
	"discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io",
	"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io", "storagemigration.k8s.io",
}
