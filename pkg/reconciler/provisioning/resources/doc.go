// Package resources makes the objects that a Provisioning stands for: the request, the run, its accounts and rights, the kubeconfig.
//
// Every Make function is pure: the same Provisioning gives the same object, owned by the Provisioning and labelled with its name; where
// randomness is needed, it is an argument. The package holds no client and reads no clock.
package resources
