package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/akraino-icn/bpa/pkg/depot/auth"
	"github.com/akraino-icn/bpa/pkg/depot/protocol"
)

// Software reads the installation status of clusters.
type Software interface {
	// Status returns the status of the Softwares of a cluster that are in a namespace that the caller may
	// read.
	Status(ctx context.Context, owner, cluster string, may func(namespace string) (bool, error)) (protocol.ClusterStatus, error)
}

var errNoStatus = &unavailableError{"this depot has no Kubernetes to ask for the installation status: start it with --kubeconfig"}

// unavailableError is the error for a status that cannot be read now.
type unavailableError struct{ text string }

func (e *unavailableError) Error() string { return e.text }

// errNoNode means that no Software requests a package for a node.
var errNoNode = errors.New("no Software of this cluster has a status of this node: see the list of all nodes at .../status")

func (a *api) clusterStatus(w http.ResponseWriter, r *http.Request) {
	status, err := a.statusOf(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	answer(w, http.StatusOK, status)
}

func (a *api) nodeStatus(w http.ResponseWriter, r *http.Request) {
	status, err := a.statusOf(r)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	for _, n := range status.Nodes {
		if n.Node == r.PathValue("node") {
			answer(w, http.StatusOK, n)
			return
		}
	}
	a.fail(w, r, errNoNode)
}

func (a *api) statusOf(r *http.Request) (protocol.ClusterStatus, error) {
	owner, cluster, err := scope(r)
	if err != nil {
		return protocol.ClusterStatus{}, err
	}
	if a.software == nil {
		return protocol.ClusterStatus{}, errNoStatus
	}
	status, err := a.software.Status(r.Context(), owner, cluster, func(namespace string) (bool, error) {
		return auth.May(r.Context(), auth.Access{Verb: auth.Get, Resource: auth.ArtifactStatus, Namespace: namespace, Name: cluster})
	})
	if err != nil {
		a.log.Error("the installation status cannot be read", "owner", owner, "cluster", cluster, "error", err)
		return status, &unavailableError{fmt.Sprintf("the installation status cannot be read from Kubernetes: %v", err)}
	}
	return status, nil
}
