package main

import (
	"github.com/akraino-icn/bpa/pkg/depot"
	"github.com/akraino-icn/bpa/pkg/depot/auth/kubernetes"
	"github.com/akraino-icn/bpa/pkg/depot/software"
)

// software returns the option with which the depot reads the installation status. Without a Kubernetes API
// server to ask, there is none.
func (c config) software() ([]depot.Option, error) {
	cluster, err := kubernetes.Config(c.kubeconfig)
	if err != nil || cluster == nil {
		return nil, err
	}
	client, err := software.New(cluster)
	if err != nil {
		return nil, err
	}
	return []depot.Option{depot.WithSoftware(client)}, nil
}
