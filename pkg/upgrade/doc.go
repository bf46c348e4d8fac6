// Package upgrade has the rules by which an installed cluster gets another Kubernetes version,
// another kubespray release or other variables: which versions it passes through, and what it cannot
// get. The webhook and package change use the same rules, so that both give the same reasons.
//
// The package is pure: it knows versions and names, no cluster. It imports only package contract.
package upgrade
