// Package collectkubeconfig is the task that gets a person into the new cluster: it has the cluster sign the certificate request that the
// controller made, and returns only public data: CA, certificate, endpoint, version.
//
// Its invariant: the cluster's own admin key is read into memory for the length of one run, and nothing of it is ever printed, stored or
// returned. Twice equals once: the same request finds the certificate that was signed for it before.
package collectkubeconfig
