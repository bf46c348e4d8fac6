package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	authorization "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akraino-icn/bpa/pkg/access"
)

const (
	// revokeLimit is how long an API server may need to see that a binding was deleted.
	revokeLimit = 15 * time.Second
	// mostPages bounds a list, which a hostile server could continue without end.
	mostPages = 40
	// mostNamed is how many bindings a message names.
	mostNamed = 5
)

// ErrStillAllowed is in errors about a user that has rights after its bindings were deleted.
var ErrStillAllowed = errors.New("a revoked user still has rights")

// binding is a ClusterRoleBinding, or a RoleBinding if it has a namespace.
type binding struct {
	namespace, name string
	subjects        []rbacv1.Subject
}

func (b binding) String() string {
	if b.namespace == "" {
		return "ClusterRoleBinding " + b.name
	}
	return "RoleBinding " + b.namespace + "/" + b.name
}

// Revoke deletes the bindings of all users of BPA in this cluster for which keep returns false. It
// returns the names of the users that it has revoked, after the cluster has confirmed that they have no
// rights.
//
// It calls keep after it has listed the bindings: a user is stored before it is bound, so keep knows the
// user of every binding in the list. The bindings of replaced users are deleted by their names too: a user
// with a copy of the kubeconfig can have removed the labels of its binding.
func (c *Client) Revoke(ctx context.Context, replaced []access.User, keep func(context.Context) (func(access.User) bool, error)) (revoked []string, err error) {
	ours, err := c.bindings(ctx, access.LeaseNamespace, labels.SelectorFromSet(access.Labels(c.provisioning)).String())
	if err != nil {
		return nil, err
	}
	keeps, err := keep(ctx)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, b := range ours {
		if u, ok := userOf(b.name, b.subjects); ok && !keeps(u) {
			if err := c.unbind(ctx, b); err != nil {
				return slices.Sorted(maps.Keys(gone)), err
			}
			gone[u.String()] = true
		}
	}
	for _, u := range replaced {
		if keeps(u) {
			continue
		}
		for _, namespace := range []string{access.LeaseNamespace, ""} {
			if err := c.unbind(ctx, binding{namespace: namespace, name: u.Binding()}); err != nil {
				return slices.Sorted(maps.Keys(gone)), err
			}
		}
		gone[u.String()] = true
	}
	revoked = slices.Sorted(maps.Keys(gone))
	return revoked, c.refused(ctx, revoked)
}

func (c *Client) unbind(ctx context.Context, b binding) (err error) {
	rbac := c.kube.RbacV1()
	if b.namespace == "" {
		err = rbac.ClusterRoleBindings().Delete(ctx, b.name, metav1.DeleteOptions{})
	} else {
		err = rbac.RoleBindings(b.namespace).Delete(ctx, b.name, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s of the cluster: %w", b, err)
	}
	return nil
}

// bindings lists the ClusterRoleBindings, and the RoleBindings of a namespace ("": of all).
func (c *Client) bindings(ctx context.Context, namespace, selector string) (all []binding, err error) {
	rbac := c.kube.RbacV1()
	err = pages(selector, func(o metav1.ListOptions) (string, error) {
		list, err := rbac.ClusterRoleBindings().List(ctx, o)
		if err != nil {
			return "", fmt.Errorf("list ClusterRoleBindings of the cluster: %w", err)
		}
		for _, b := range list.Items {
			all = append(all, binding{"", b.Name, b.Subjects})
		}
		return list.Continue, nil
	})
	if err != nil {
		return nil, err
	}
	return all, pages(selector, func(o metav1.ListOptions) (string, error) {
		list, err := rbac.RoleBindings(namespace).List(ctx, o)
		if err != nil {
			return "", fmt.Errorf("list RoleBindings of the cluster: %w", err)
		}
		for _, b := range list.Items {
			all = append(all, binding{b.Namespace, b.Name, b.Subjects})
		}
		return list.Continue, nil
	})
}

// pages calls list for each page of a list.
func pages(selector string, list func(metav1.ListOptions) (next string, err error)) error {
	o := metav1.ListOptions{LabelSelector: selector, Limit: pageSize}
	for range mostPages {
		next, err := list(o)
		if err != nil || next == "" {
			return err
		}
		o.Continue = next
	}
	return fmt.Errorf("the cluster has more than %d bindings", mostPages*pageSize)
}

// refused returns an error if the cluster still gives rights to one of the users. Other bindings can
// give them: everybody with a copy of the kubeconfig could create those.
func (c *Client) refused(ctx context.Context, users []string) error {
	if len(users) == 0 {
		return nil
	}
	var others []string
	all, listErr := c.bindings(ctx, "", "")
	for _, b := range all {
		for _, s := range b.subjects {
			if s.Kind == rbacv1.UserKind && slices.Contains(users, s.Name) && len(others) < mostNamed {
				others = append(others, fmt.Sprintf("%s (%s)", b, s.Name))
			}
		}
	}
	if len(others) > 0 {
		return &failure{ErrStillAllowed, "other bindings of the cluster still give rights to revoked users: " + strings.Join(others, ", ") + ": delete them there", nil}
	}
	for _, user := range users {
		if err := c.awaitRefusal(ctx, user, listErr); err != nil {
			return err
		}
	}
	return nil
}

// awaitRefusal waits until the API server sees that the bindings of the user were deleted.
func (c *Client) awaitRefusal(ctx context.Context, user string, listErr error) error {
	var last error
	right := ""
	err := wait.PollUntilContextTimeout(ctx, verifyPause, revokeLimit, true, func(ctx context.Context) (bool, error) {
		right, last = c.allowed(ctx, user)
		return right == "" && last == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case last != nil:
		return fmt.Errorf("ask the cluster for the rights of %s: %w", user, last)
	case listErr != nil:
		return &failure{ErrStillAllowed, fmt.Sprintf("the cluster still allows %s to %s, and its bindings cannot be listed: %v", user, right, listErr), err}
	}
	return &failure{ErrStillAllowed, fmt.Sprintf("the cluster still allows %s to %s, and no binding names this user: look for bindings of the group system:authenticated", user, right), err}
}

// allowed returns one of the rights of an administrator that the cluster gives to the user; empty: none.
func (c *Client) allowed(ctx context.Context, user string) (right string, err error) {
	for _, r := range []authorization.ResourceAttributes{
		{Verb: "*", Group: "*", Resource: "*"}, {Verb: "list", Resource: "nodes"}, {Verb: "get", Resource: "secrets"}, {Verb: "create", Resource: "pods"},
		{Verb: "create", Group: rbacv1.GroupName, Resource: "clusterrolebindings"},
	} {
		answer, err := c.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{
			User: user, Groups: []string{"system:authenticated"}, ResourceAttributes: &r,
		}}, metav1.CreateOptions{})
		if err != nil {
			return "", err
		}
		if answer.Status.Allowed {
			return r.Verb + " " + r.Resource, nil
		}
	}
	return "", nil
}

// userOf returns the user of a binding; false: the binding is not one of this package.
func userOf(binding string, subjects []rbacv1.Subject) (access.User, bool) {
	if !strings.HasPrefix(binding, "bpa-") || len(subjects) != 1 || subjects[0].Kind != rbacv1.UserKind {
		return access.User{}, false
	}
	u, ok := access.ParseUser(subjects[0].Name)
	return u, ok && u.Binding() == binding
}
