// Package resources builds the objects of a Provisioning: the request, the run, its accounts and
// permissions, and the kubeconfig.
//
// Every Make function is pure: the same Provisioning gives the same object. The Provisioning owns
// the object, and the object has a label with its name. Randomness is an argument. The package uses
// no client and no clock.
package resources
