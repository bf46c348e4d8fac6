// Package collectkubeconfig is the task collect-kubeconfig, which gives the user access to the new
// cluster. The task submits the controller's certificate request to the cluster, approves it, and
// returns only public data: CA, certificate, endpoint, version.
//
// Invariants: the cluster's own admin key is in memory for one run only. The task never prints,
// stores or returns any part of it. A second run with the same request returns the certificate that
// the first run obtained.
package collectkubeconfig
