// Package claim takes and gives back hosts at the API server: a host is held by whom its spec.consumerRef names.
//
// Its invariant: a claim is all or nothing, and no host is ever taken from somebody else. A claim may be decided on what a cache says, since
// every write carries the resourceVersion that was read: of two claimants the API server stops one. Who loses a host keeps the others and turns
// to another; where there is none it gives all back, waits and begins anew. Hosts are taken one by one in the order of their names, which who has failed
// twice never leaves: so of several contesting claimants one gets through in the end. A claimant that dies leaves hosts in its Provisioning's name: the
// next one finishes, or whoever knows that nothing was installed on them gives them back; this package never releases for lack of a fit. It
// imports nothing of Tekton or knative.
package claim
