package appcluster

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/akraino-icn/bpa/pkg/contract"
	"github.com/akraino-icn/bpa/pkg/tasks/node"
)

// Through returns clients of the API server that work as the administrator of the cluster. They connect to it through
// conn, the connection to the control plane at, and work as long as conn is open. server is the URL of the API
// server; empty: the one in the kubeconfig of the control plane. limit bounds the time to read that kubeconfig.
//
// The caller has checked whose the machine is: an operation on the machines of a cluster does so before its first
// change, and Reach does so for all other tasks. An error has its failure reason.
func Through(ctx context.Context, conn node.Connection, request contract.Request, at contract.Node, server string, limit time.Duration) (kubernetes.Interface, error) {
	admin, err := readAdmin(ctx, Input{Request: request, Limit: limit}, conn, at)
	if err != nil {
		return nil, err
	}
	if server != "" {
		admin = admin.atServer(server)
	}
	kube, _, err := admin.open(conn, limit)
	return kube, err
}
