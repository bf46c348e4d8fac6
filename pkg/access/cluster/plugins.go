package cluster

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/akraino-icn/bpa/pkg/access"
	"github.com/akraino-icn/bpa/pkg/contract"
)

// RevokeKind deletes the bindings of all users of one kind that this Provisioning has in the cluster, and their
// certificate requests. It returns the users, sorted. A task calls it at its end, and at its start because
// an earlier one may have been killed: only one task at a time has users of its kind.
func (c *Client) RevokeKind(ctx context.Context, kind access.Kind) (users []string, err error) {
	ours, err := c.bindings(ctx, access.LeaseNamespace, labels.SelectorFromSet(access.Labels(c.provisioning)).String())
	if err != nil {
		return nil, err
	}
	for _, b := range ours {
		u, ok := userOf(b.name, b.subjects)
		if !ok || u.Kind != kind {
			continue
		}
		if err := c.unbind(ctx, b); err != nil {
			return users, err
		}
		users = append(users, u.String())
	}
	slices.Sort(users)
	return slices.Compact(users), c.deleteRequests(ctx, kind)
}

// deleteRequests deletes the certificate requests of users of one kind. A certificate is valid without its
// request, but its user has no rights.
func (c *Client) deleteRequests(ctx context.Context, kind access.Kind) error {
	requests := c.kube.CertificatesV1().CertificateSigningRequests()
	return pages(labels.Set{contract.LabelCluster: c.provisioning}.String(), func(o metav1.ListOptions) (string, error) {
		list, err := requests.List(ctx, o)
		if err != nil {
			return "", fmt.Errorf("list the certificate requests of the cluster: %w", err)
		}
		for _, r := range list.Items {
			if u, ok := access.UserOf(r.Spec.Request); !ok || u.Kind != kind {
				continue
			}
			if err := requests.Delete(ctx, r.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return "", fmt.Errorf("delete CertificateSigningRequest %s of the cluster: %w", r.Name, err)
			}
		}
		return list.Continue, nil
	})
}
