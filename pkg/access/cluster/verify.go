package cluster

import (
	"context"
	"fmt"
	"time"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/akraino-icn/bpa/pkg/access"
)

// verifyPause is the time between two checks of Verify.
const verifyPause = 200 * time.Millisecond

// Verify checks that the cluster accepts this client as the user, and that the user has its rights. An
// API server sees a new binding a moment after its creation, so Verify waits for that, at most for limit.
func (c *Client) Verify(ctx context.Context, u access.User, limit time.Duration) error {
	review, err := c.kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authentication.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("use the new kubeconfig: %w", err)
	}
	if name := review.Status.UserInfo.Username; name != u.String() {
		return &failure{ErrUnhealthy, fmt.Sprintf("the cluster takes the new kubeconfig of %s as that of %q", u, name), nil}
	}
	for _, right := range rightsOf(u.Kind) {
		if err := c.awaitRight(ctx, u, right, limit); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) awaitRight(ctx context.Context, u access.User, right authorization.SelfSubjectAccessReviewSpec, limit time.Duration) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, verifyPause, limit, true, func(ctx context.Context) (bool, error) {
		ask := &authorization.SelfSubjectAccessReview{Spec: right}
		answer, err := c.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, ask, metav1.CreateOptions{})
		if apierrors.IsForbidden(err) {
			return false, err
		}
		last = err
		return err == nil && answer.Status.Allowed, nil
	})
	switch {
	case err == nil:
		return nil
	case last != nil:
		return fmt.Errorf("use the new kubeconfig: %w", last)
	case wait.Interrupted(err):
		return &failure{ErrUnhealthy, fmt.Sprintf("the cluster does not give %s the rights of its binding %s within %s: check that its API server uses RBAC",
			u, u.Binding(), limit), err}
	}
	return fmt.Errorf("use the new kubeconfig: %w", err)
}

// rightsOf returns rights by which a user of this kind is recognized.
func rightsOf(kind access.Kind) []authorization.SelfSubjectAccessReviewSpec {
	switch kind {
	case access.Health:
	case access.Software:
		return []authorization.SelfSubjectAccessReviewSpec{
			{ResourceAttributes: &authorization.ResourceAttributes{Verb: "patch", Resource: "nodes"}},
			{ResourceAttributes: &authorization.ResourceAttributes{Verb: "create", Resource: "pods", Subresource: "eviction"}},
		}
	default:
		return []authorization.SelfSubjectAccessReviewSpec{{ResourceAttributes: &authorization.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}}}
	}
	return []authorization.SelfSubjectAccessReviewSpec{
		{NonResourceAttributes: &authorization.NonResourceAttributes{Verb: "get", Path: "/readyz"}},
		{ResourceAttributes: &authorization.ResourceAttributes{Verb: "list", Resource: "nodes"}},
		{ResourceAttributes: &authorization.ResourceAttributes{Verb: "list", Group: "coordination.k8s.io", Resource: "leases", Namespace: access.LeaseNamespace}},
	}
}

// Denied reports whether the cluster rejects the certificate of this client, or gives it no rights of an
// administrator. An error means that the cluster has not answered that.
func (c *Client) Denied(ctx context.Context) (bool, error) {
	ask := &authorization.SelfSubjectAccessReview{Spec: rightsOf(access.Admin)[0]}
	answer, err := c.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, ask, metav1.CreateOptions{})
	switch {
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("ask the cluster for the rights of the kubeconfig: %w", err)
	}
	return !answer.Status.Allowed, nil
}
