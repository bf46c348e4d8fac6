// Package resources builds the objects of a Provisioning: the request, the run, its accounts and
// permissions, and the kubeconfig.
//
// Every Make function is pure: it uses no client and no clock, and randomness is an argument, so
// the same arguments give the same object. The Provisioning owns each object, and a label of the
// object has the Provisioning's name.
package resources
