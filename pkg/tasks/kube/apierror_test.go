package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	metal3 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/akraino-icn/bpa/pkg/contract"
)

func TestReason(t *testing.T) {
	hosts := metal3.GroupVersion.WithResource("baremetalhosts").GroupResource()
	closed := httptest.NewServer(nil)
	closed.Close()
	_, refused := http.Get(closed.URL)
	for _, tc := range []struct {
		err  error
		want contract.Reason
	}{
		{refused, contract.ReasonAPIUnavailable},
		{apierrors.NewServiceUnavailable("starting"), contract.ReasonAPIUnavailable},
		{apierrors.NewTooManyRequests("busy", 1), contract.ReasonAPIUnavailable},
		{apierrors.NewConflict(hosts, "a", nil), contract.ReasonAPIUnavailable},
		{apierrors.NewUnauthorized("the account was deleted"), contract.ReasonAPIUnavailable},
		{context.DeadlineExceeded, contract.ReasonAPIUnavailable},
		{apierrors.NewForbidden(hosts, "a", nil), contract.ReasonInternal},
		{apierrors.NewNotFound(hosts, "a"), contract.ReasonInternal},
		{errors.New("odd"), contract.ReasonInternal},
	} {
		if got := Reason(fmt.Errorf("list hosts: %w", tc.err)); got != tc.want {
			t.Errorf("Reason(%v) = %s, want %s", tc.err, got, tc.want)
		}
	}
}
