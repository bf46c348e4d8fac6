package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/ptr"

	"github.com/akraino-icn/bpa/pkg/operate/cluster"
	"github.com/akraino-icn/bpa/pkg/operate/session"
)

// workload is a workload of the cluster, or an API service that a Service of the cluster serves.
type workload struct {
	kind, namespace, name string
	wanted, available     int // replicas, or pods of a DaemonSet. An API service has one
}

// kinds are the kinds of workloads, and how those of a cluster are listed.
var kinds = map[string]func(kubernetes.Interface) pager.ListPageFunc{
	"Deployment": func(kube kubernetes.Interface) pager.ListPageFunc {
		return page(kube.AppsV1().Deployments(metav1.NamespaceAll).List)
	},
	"StatefulSet": func(kube kubernetes.Interface) pager.ListPageFunc {
		return page(kube.AppsV1().StatefulSets(metav1.NamespaceAll).List)
	},
	"DaemonSet": func(kube kubernetes.Interface) pager.ListPageFunc {
		return page(kube.AppsV1().DaemonSets(metav1.NamespaceAll).List)
	},
	"ReplicaSet": func(kube kubernetes.Interface) pager.ListPageFunc {
		return page(kube.AppsV1().ReplicaSets(metav1.NamespaceAll).List)
	},
	"APIService": listAPIServices,
}

// page returns a typed list function as the pager needs it.
func page[T runtime.Object](list func(context.Context, metav1.ListOptions) (T, error)) pager.ListPageFunc {
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	}
}

// listAPIServices lists the API services, for which client-go has no type.
func listAPIServices(kube kubernetes.Interface) pager.ListPageFunc {
	return func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
		raw, err := kube.Discovery().RESTClient().Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices").
			SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx).Raw()
		if err != nil {
			return nil, err
		}
		list := &unstructured.UnstructuredList{}
		return list, list.UnmarshalJSON(raw)
	}
}

// workloads returns the workloads of some kinds, sorted by their names. A cluster can have many of them, so it asks for
// them in parts, and keeps only what it needs.
func workloads(ctx context.Context, w *cluster.Client, of []string) ([]workload, error) {
	all, err := cluster.Call(ctx, w, func(ctx context.Context, kube kubernetes.Interface) (all []workload, err error) {
		for _, kind := range of {
			err = errors.Join(err, pager.New(kinds[kind](kube)).EachListItem(ctx, metav1.ListOptions{}, func(o runtime.Object) error {
				if found, counts := workloadOf(o); counts {
					all = append(all, found)
				}
				return nil
			}))
		}
		return all, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the workloads of the cluster: %w", err)
	}
	slices.SortFunc(all, func(a, b workload) int { return strings.Compare(a.String(), b.String()) })
	return all, nil
}

// workloadOf returns the numbers of a workload. It leaves out ReplicaSets with an owner, because they are parts of
// Deployments, and API services that the API server itself serves.
func workloadOf(o runtime.Object) (w workload, counts bool) {
	w.replicas(o)
	switch o := o.(type) {
	case *appsv1.Deployment:
		w.kind = "Deployment"
	case *appsv1.StatefulSet:
		w.kind = "StatefulSet"
	case *appsv1.DaemonSet:
		w.kind = "DaemonSet"
	case *appsv1.ReplicaSet:
		w.kind = "ReplicaSet"
		if len(o.OwnerReferences) > 0 {
			return w, false
		}
	case *unstructured.Unstructured:
		w.kind, w.wanted = "APIService", 1
		if isAvailable(o) {
			w.available = 1
		}
		if served, _, _ := unstructured.NestedString(o.Object, "spec", "service", "name"); served == "" {
			return w, false
		}
	}
	named, err := meta.Accessor(o)
	if err != nil {
		return w, false
	}
	w.namespace, w.name = named.GetNamespace(), named.GetName()
	printable := session.KubernetesName.MatchString
	return w, printable(w.name) && (w.kind == "APIService" || printable(w.namespace))
}

// replicas sets the numbers of wanted and available replicas. The API server sets a wanted number that is not given to 1.
func (w *workload) replicas(o runtime.Object) {
	switch o := o.(type) {
	case *appsv1.Deployment:
		w.wanted, w.available = int(ptr.Deref(o.Spec.Replicas, 1)), int(o.Status.AvailableReplicas)
	case *appsv1.StatefulSet:
		w.wanted, w.available = int(ptr.Deref(o.Spec.Replicas, 1)), int(o.Status.AvailableReplicas)
	case *appsv1.ReplicaSet:
		w.wanted, w.available = int(ptr.Deref(o.Spec.Replicas, 1)), int(o.Status.AvailableReplicas)
	case *appsv1.DaemonSet:
		w.wanted, w.available = int(o.Status.DesiredNumberScheduled), int(o.Status.NumberAvailable)
	}
}

// isAvailable reports whether the condition Available of an API service is true.
func isAvailable(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Available" && condition["status"] == "True"
	})
}

// String returns "Deployment shop/web", which identifies the workload.
func (w workload) String() string {
	if w.namespace == "" {
		return w.kind + " " + w.name
	}
	return w.kind + " " + w.namespace + "/" + w.name
}

// works reports whether all wanted replicas are available.
func (w workload) works() bool { return w.available >= w.wanted }

// state returns the workload with its numbers: "Deployment shop/web (1/2)".
func (w workload) state() string { return fmt.Sprintf("%s (%d/%d)", w, w.available, w.wanted) }

// describe returns the command that shows why the workload is not available.
func (w workload) describe() string {
	resource := strings.ToLower(w.kind)
	if w.namespace == "" {
		return "kubectl describe " + resource + " " + w.name
	}
	return "kubectl -n " + w.namespace + " describe " + resource + " " + w.name
}

// available returns the names of the workloads that have wanted replicas, all of them available, and
// the workloads that lack some.
func available(all []workload) (names []string, lacking []workload) {
	for _, w := range all {
		switch {
		case !w.works():
			lacking = append(lacking, w)
		case w.wanted > 0:
			names = append(names, w.String())
		}
	}
	return names, lacking
}

// missing returns those of the named workloads that are not available now. A workload that was
// deleted, or of which no replica is wanted any more, is not missing.
func missing(names []string, now []workload) []workload {
	named := map[string]bool{}
	for _, name := range names {
		named[name] = true
	}
	return slices.DeleteFunc(slices.Clone(now), func(w workload) bool { return !named[w.String()] || w.works() })
}

// kindsNamed returns the kinds of named workloads.
func kindsNamed(names []string) (named []string) {
	for kind := range kinds {
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, kind+" ") }) {
			named = append(named, kind)
		}
	}
	return named
}

// listStates returns the states of the first workloads, and the number of the others.
func listStates(all []workload, most int) string {
	var texts []string
	for _, w := range all[:min(len(all), most)] {
		texts = append(texts, w.state())
	}
	if over := len(all) - most; over > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", over))
	}
	return strings.Join(texts, ", ")
}
