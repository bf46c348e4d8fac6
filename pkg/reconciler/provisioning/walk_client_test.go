package provisioning

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"

	tekton "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	tektonclient "github.com/tektoncd/pipeline/pkg/client/clientset/versioned"
	tektonv1 "github.com/tektoncd/pipeline/pkg/client/clientset/versioned/typed/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	clientrbacv1 "k8s.io/client-go/kubernetes/typed/rbac/v1"
)

// Faults of a client.
type simFault int

const (
	dieBefore  simFault = iota // the process dies before a write
	dieAfter                   // the process dies after a write, and before the next one
	failBefore                 // the API server rejects a write once
	failAfter                  // a write succeeds, and its answer is lost
	faults
)

func (f simFault) String() string {
	return []string{"dies before", "dies after", "is refused once at", "gets no answer once at"}[f]
}

var errDead = errors.New("this process is dead")

// simClient is the API server as one process sees it.
type simClient struct {
	s *simServer
	// left is the number of writes until the fault. 0: there is none.
	left  int
	fault simFault
	dead  bool
	// pause is called before each write; nil: nothing else happens at this time.
	pause func()
	// releasing is held while a task reads or releases a host. before is the version of the API server after its last other
	// write.
	releasing sync.Mutex
	before    int
	// said gets what the fault was.
	said   func(string)
	writes int
}

// write lets do store something, unless a fault comes first.
func (c *simClient) write(what, kind, name string, do func() error) error {
	if c.pause != nil && !c.dead {
		c.pause()
	}
	if c.dead {
		return errDead
	}
	defer func() { c.before = c.s.version }()
	c.writes++
	if c.left == 0 {
		return do()
	}
	if c.left--; c.left > 0 {
		return do()
	}
	c.said(fmt.Sprintf("%s %s %s %s", c.fault, what, kind, name))
	switch c.fault {
	case dieBefore:
		c.dead = true
		return errDead
	case failBefore:
		return apierrors.NewInternalError(errors.New("the walk refuses this write"))
	case dieAfter:
		c.dead = true
		_ = do()
		return errDead
	}
	_ = do()
	return apierrors.NewTimeoutError("the answer of the API server is lost", 1)
}

func notFound(kind, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, name)
}

func conflict(kind, name string) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: kind}, name, errors.New("it was changed"))
}

// simResource is the common part of the typed clients.
type simResource[T simObject] struct {
	c    *simClient
	kind string
}

func (r simResource[T]) Get(_ context.Context, name string, _ metav1.GetOptions) (none T, err error) {
	if r.c.dead {
		return none, errDead
	}
	if o, ok := r.c.s.objects[r.kind][name]; ok {
		return o.(T), nil
	}
	return none, notFound(r.kind, name)
}

func (r simResource[T]) Create(_ context.Context, want T, _ metav1.CreateOptions) (made T, err error) {
	err = r.c.write("create", r.kind, want.GetName(), func() error {
		if _, exists := r.c.s.objects[r.kind][want.GetName()]; exists {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: r.kind}, want.GetName())
		}
		made = want.DeepCopyObject().(T)
		r.c.s.set(r.kind, made)
		return nil
	})
	return made, err
}

func (r simResource[T]) Update(_ context.Context, want T, _ metav1.UpdateOptions) (made T, err error) {
	err = r.c.write("update", r.kind, want.GetName(), func() error {
		have, exists := r.c.s.objects[r.kind][want.GetName()]
		switch {
		case !exists:
			return notFound(r.kind, want.GetName())
		case want.GetResourceVersion() != "" && want.GetResourceVersion() != have.GetResourceVersion():
			return conflict(r.kind, want.GetName())
		case !simMutable(have, want):
			return apierrors.NewInvalid(schema.GroupKind{Kind: r.kind}, want.GetName(), nil)
		}
		made = want.DeepCopyObject().(T)
		r.c.s.set(r.kind, made)
		return nil
	})
	return made, err
}

// simMutable reports whether the API server accepts this change of an object: the data of an immutable ConfigMap stays
// as it is.
func simMutable(have, want simObject) bool {
	before, ok := have.(*corev1.ConfigMap)
	if !ok || before.Immutable == nil || !*before.Immutable {
		return true
	}
	after := want.(*corev1.ConfigMap)
	return after.Immutable != nil && *after.Immutable && maps.Equal(before.Data, after.Data)
}

func (r simResource[T]) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	return r.c.write("delete", r.kind, name, func() error {
		have, exists := r.c.s.objects[r.kind][name]
		switch {
		case !exists:
			return notFound(r.kind, name)
		case options.Preconditions != nil && options.Preconditions.UID != nil && *options.Preconditions.UID != have.GetUID():
			return conflict(r.kind, name)
		}
		r.c.s.remove(r.kind, name)
		return nil
	})
}

// The clients have only the methods that the controller calls. Any other is that of a nil interface, so that it
// panics. Those of the interface are one level deeper, so that the methods of simResource count.
type (
	simKube struct {
		kubernetes.Interface
		c *simClient
	}
	simCore struct {
		clientcorev1.CoreV1Interface
		c *simClient
	}
	simRBAC struct {
		clientrbacv1.RbacV1Interface
		c *simClient
	}
	simTekton struct {
		tektonclient.Interface
		c *simClient
	}
	simTektonV1 struct {
		tektonv1.TektonV1Interface
		c *simClient
	}

	noNamespaces struct {
		clientcorev1.NamespaceInterface
	}
	noPods       struct{ clientcorev1.PodInterface }
	noConfigMaps struct {
		clientcorev1.ConfigMapInterface
	}
	noSecrets  struct{ clientcorev1.SecretInterface }
	noAccounts struct {
		clientcorev1.ServiceAccountInterface
	}
	noRoles    struct{ clientrbacv1.RoleInterface }
	noBindings struct {
		clientrbacv1.RoleBindingInterface
	}
	noRuns  struct{ tektonv1.PipelineRunInterface }
	noTasks struct{ tektonv1.TaskRunInterface }

	simNamespaces struct {
		noNamespaces
		c *simClient
	}
	simPods struct {
		noPods
		c *simClient
	}
	simConfigMaps struct {
		noConfigMaps
		simResource[*corev1.ConfigMap]
	}
	simSecrets struct {
		noSecrets
		simResource[*corev1.Secret]
	}
	simAccounts struct {
		noAccounts
		simResource[*corev1.ServiceAccount]
	}
	simRoles struct {
		noRoles
		simResource[*rbacv1.Role]
	}
	simBindings struct {
		noBindings
		simResource[*rbacv1.RoleBinding]
	}
	simRuns struct {
		noRuns
		simResource[*tekton.PipelineRun]
	}
	simTasks struct {
		noTasks
		simResource[*tekton.TaskRun]
	}
)

func (k simKube) CoreV1() clientcorev1.CoreV1Interface        { return simCore{c: k.c} }
func (k simKube) RbacV1() clientrbacv1.RbacV1Interface        { return simRBAC{c: k.c} }
func (k simTekton) TektonV1() tektonv1.TektonV1Interface      { return simTektonV1{c: k.c} }
func (k simCore) Namespaces() clientcorev1.NamespaceInterface { return simNamespaces{c: k.c} }
func (k simCore) Pods(string) clientcorev1.PodInterface       { return simPods{c: k.c} }
func (k simCore) ConfigMaps(string) clientcorev1.ConfigMapInterface {
	return simConfigMaps{simResource: simResource[*corev1.ConfigMap]{k.c, kindConfigMap}}
}
func (k simCore) Secrets(string) clientcorev1.SecretInterface {
	return simSecrets{simResource: simResource[*corev1.Secret]{k.c, kindSecret}}
}
func (k simCore) ServiceAccounts(string) clientcorev1.ServiceAccountInterface {
	return simAccounts{simResource: simResource[*corev1.ServiceAccount]{k.c, kindAccount}}
}
func (k simRBAC) Roles(string) clientrbacv1.RoleInterface {
	return simRoles{simResource: simResource[*rbacv1.Role]{k.c, kindRole}}
}
func (k simRBAC) RoleBindings(string) clientrbacv1.RoleBindingInterface {
	return simBindings{simResource: simResource[*rbacv1.RoleBinding]{k.c, kindBinding}}
}
func (k simTektonV1) PipelineRuns(string) tektonv1.PipelineRunInterface {
	return simRuns{simResource: simResource[*tekton.PipelineRun]{k.c, kindRun}}
}
func (k simTektonV1) TaskRuns(string) tektonv1.TaskRunInterface {
	return simTasks{simResource: simResource[*tekton.TaskRun]{k.c, kindTask}}
}

func (n simNamespaces) Get(context.Context, string, metav1.GetOptions) (*corev1.Namespace, error) {
	return &corev1.Namespace{}, nil
}

// List returns the pods of the TaskRuns that are active.
func (p simPods) List(_ context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
	list := &corev1.PodList{}
	selected, err := labels.Parse(options.LabelSelector)
	for _, tr := range simList[*tekton.TaskRun](p.c.s, kindTask) {
		if !tr.IsDone() && selected.Matches(labels.Set(tr.Labels)) {
			list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: tr.Name + "-pod"}})
		}
	}
	return list, err
}

func (r simRuns) List(_ context.Context, options metav1.ListOptions) (*tekton.PipelineRunList, error) {
	list := &tekton.PipelineRunList{}
	selected, err := labels.Parse(options.LabelSelector)
	for _, o := range simList[*tekton.PipelineRun](r.c.s, kindRun) {
		if selected.Matches(labels.Set(o.Labels)) {
			list.Items = append(list.Items, *o)
		}
	}
	return list, err
}

func (r simTasks) List(_ context.Context, options metav1.ListOptions) (*tekton.TaskRunList, error) {
	list := &tekton.TaskRunList{}
	selected, err := labels.Parse(options.LabelSelector)
	for _, o := range simList[*tekton.TaskRun](r.c.s, kindTask) {
		if selected.Matches(labels.Set(o.Labels)) {
			list.Items = append(list.Items, *o)
		}
	}
	return list, err
}

// Patch understands what the controller sends: a status in the spec, and annotations.
func (r simRuns) Patch(_ context.Context, name string, _ types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*tekton.PipelineRun, error) {
	err := r.c.write("patch", r.kind, name, func() error {
		var patch struct {
			Metadata struct{ Annotations map[string]string }
			Spec     struct{ Status string }
		}
		if err := json.Unmarshal(data, &patch); err != nil {
			return err
		}
		if _, exists := r.c.s.objects[r.kind][name]; !exists {
			return notFound(r.kind, name)
		}
		simChange(r.c.s, r.kind, name, func(run *tekton.PipelineRun) {
			for key, value := range patch.Metadata.Annotations {
				run.Annotations[key] = value
			}
			run.Spec.Status = cmp.Or(tekton.PipelineRunSpecStatus(patch.Spec.Status), run.Spec.Status)
		})
		return nil
	})
	return nil, err
}

// simStore is a ConfigMap as a task uses it.
type simStore struct {
	c    *simClient
	name string
}

func (m simStore) Get(_ context.Context, key string) (string, error) {
	cm := simStored[*corev1.ConfigMap](m.c.s, kindConfigMap, m.name)
	switch {
	case m.c.dead:
		return "", errDead
	case cm == nil:
		return "", notFound(kindConfigMap, m.name)
	}
	return cm.Data[key], nil
}

func (m simStore) Set(_ context.Context, key, value string) error {
	return m.c.write("set "+key+" of", kindConfigMap, m.name, func() error {
		cm := simStored[*corev1.ConfigMap](m.c.s, kindConfigMap, m.name)
		if cm == nil {
			return notFound(kindConfigMap, m.name)
		}
		if cm.Data[key] == value {
			return nil
		}
		simChange(m.c.s, kindConfigMap, m.name, func(cm *corev1.ConfigMap) {
			if cm.Data == nil {
				cm.Data = map[string]string{}
			}
			cm.Data[key] = value
		})
		return nil
	})
}
