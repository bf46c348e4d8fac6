package cluster

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/akraino-icn/bpa/pkg/access"
)

// Bind gives the user its rights.
func (c *Client) Bind(ctx context.Context, u access.User) error {
	rbac := c.kube.RbacV1()
	switch u.Kind {
	case access.Health:
	case access.Software:
		role := access.SoftwareRole()
		if err := put(ctx, rbac.ClusterRoles(), role, role.Rules, func(r *rbacv1.ClusterRole) *[]rbacv1.PolicyRule { return &r.Rules }); err != nil {
			return err
		}
		return create(ctx, rbac.ClusterRoleBindings(), access.SoftwareBinding(c.provisioning, u), sameBinding)
	default:
		return create(ctx, rbac.ClusterRoleBindings(), access.AdminBinding(c.provisioning, u), sameBinding)
	}
	all, leases := access.HealthRoles()
	allBinding, leasesBinding := access.HealthBindings(c.provisioning, u)
	if err := put(ctx, rbac.ClusterRoles(), all, all.Rules, func(r *rbacv1.ClusterRole) *[]rbacv1.PolicyRule { return &r.Rules }); err != nil {
		return err
	}
	if err := put(ctx, rbac.Roles(access.LeaseNamespace), leases, leases.Rules, func(r *rbacv1.Role) *[]rbacv1.PolicyRule { return &r.Rules }); err != nil {
		return err
	}
	if err := create(ctx, rbac.ClusterRoleBindings(), allBinding, sameBinding); err != nil {
		return err
	}
	return create(ctx, rbac.RoleBindings(access.LeaseNamespace), leasesBinding, func(a, b *rbacv1.RoleBinding) bool {
		return equality.Semantic.DeepEqual(a.Subjects, b.Subjects) && a.RoleRef == b.RoleRef
	})
}

func sameBinding(a, b *rbacv1.ClusterRoleBinding) bool {
	return equality.Semantic.DeepEqual(a.Subjects, b.Subjects) && a.RoleRef == b.RoleRef
}

type object interface {
	metav1.Object
	runtime.Object
}

type kindClient[T object] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error)
}

// create creates a binding. It accepts an existing one only if it is the same: it never gives rights to
// another subject or by another role.
func create[T object](ctx context.Context, client kindClient[T], want T, same func(have, want T) bool) error {
	what := kindName(want)
	_, err := client.Create(ctx, want, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return wrap("create", what, err)
	}
	have, err := client.Get(ctx, want.GetName(), metav1.GetOptions{})
	if err == nil && !same(have, want) {
		return &failure{ErrForeign, fmt.Sprintf("%s of the cluster exists with another content: delete it there", what), nil}
	}
	return wrap("get", what, err)
}

// put creates a role, or gives an existing one exactly these rules.
func put[T object](ctx context.Context, client kindClient[T], want T, wanted []rbacv1.PolicyRule, rules func(T) *[]rbacv1.PolicyRule) error {
	what := kindName(want)
	_, err := client.Create(ctx, want, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return wrap("create", what, err)
	}
	have, err := client.Get(ctx, want.GetName(), metav1.GetOptions{})
	if err != nil {
		return wrap("get", what, err)
	}
	if r := rules(have); !equality.Semantic.DeepEqual(*r, wanted) {
		*r = wanted
		_, err = client.Update(ctx, have, metav1.UpdateOptions{})
	}
	return wrap("update", what, err)
}

func kindName(o metav1.Object) string { return fmt.Sprintf("%T %s", o, o.GetName())[len("*v1."):] }

func wrap(verb, what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s of the cluster: %w", verb, what, err)
	}
	return nil
}
