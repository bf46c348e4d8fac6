package kube

import (
	"context"
	"errors"
	"net"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akraino-icn/bpa/pkg/contract"
)

// Reason returns the failure reason of an error from an API server. It is ReasonAPIUnavailable if
// the server does not answer, is too busy or reports a conflict. It is the same if the server does not
// know the caller any more: a deletion in the foreground deletes the account of a task that runs, and the
// next attempt has another one. Otherwise it is ReasonInternal.
func Reason(err error) contract.Reason {
	var network net.Error
	var request *url.Error
	switch {
	case apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsTooManyRequests(err), apierrors.IsServiceUnavailable(err),
		apierrors.IsInternalError(err), apierrors.IsUnexpectedServerError(err), apierrors.IsConflict(err), apierrors.IsUnauthorized(err),
		errors.Is(err, context.DeadlineExceeded), errors.As(err, &network), errors.As(err, &request):
		return contract.ReasonAPIUnavailable
	}
	return contract.ReasonInternal
}
