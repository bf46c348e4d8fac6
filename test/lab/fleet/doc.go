// Package fleet makes lab nodes: privileged pods that run systemd and sshd, each described by a BareMetalHost as Metal3
// would leave it after provisioning.
//
// Its one invariant: what a BareMetalHost says about addresses is read from the running node; what it says about size is
// fiction, chosen so that some hosts fit a request and some do not. It imports nothing of the product.
package fleet
