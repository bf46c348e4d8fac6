package appcluster

import (
	"errors"

	clusteraccess "github.com/akraino-icn/bpa/pkg/access/cluster"
	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/kube"
)

// Reason returns the failure reason of an error of a cluster.Client.
func Reason(err error) contract.Reason {
	switch {
	case errors.Is(err, clusteraccess.ErrUnhealthy):
		return contract.ReasonClusterUnhealthy
	case errors.Is(err, clusteraccess.ErrForeign):
		return contract.ReasonInternal
	}
	return kube.Reason(err)
}
