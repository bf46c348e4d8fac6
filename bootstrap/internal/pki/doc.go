// Package pki makes the bootstrap machine's certificate authorities, keys and kubeconfigs.
//
// Invariant: Ensure run twice changes nothing; a certificate is made anew only when it is missing, near its end, or no
// longer says what it should. Private keys never leave their folder. It must not start programs.
package pki
