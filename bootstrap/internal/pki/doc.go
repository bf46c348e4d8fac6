// Package pki creates the certificate authorities, keys and kubeconfigs of the bootstrap machine.
//
// Invariant: a second call of Ensure changes nothing. A certificate is recreated only if it is
// missing, near its expiry, or does not match the wanted content. Private keys never leave their
// folder. The package must not start programs.
package pki
