// Package claim takes and gives back hosts at the API server: a host is held by whom its spec.consumerRef names.
//
// Its invariant: a claim is all or nothing, and no host is ever taken from somebody else. Every write carries the resourceVersion that was
// read, so of two claimants the API server stops one; hosts are taken in the order of their names, so of several contesting claimants one
// always gets through. The client must read from the API server, not from a cache. It imports nothing of Tekton or knative.
package claim
