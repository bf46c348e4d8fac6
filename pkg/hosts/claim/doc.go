// Package claim claims and releases hosts at the API server. The holder of a host is the object
// that spec.consumerRef of the host names.
//
// Invariant: a claim is all or nothing, and no host is ever taken from another holder. A decision
// may be based on old data, because every write carries the resourceVersion that was read: of two
// claimants of a host, the API server stops one. A claimant that loses a host keeps its other hosts
// and chooses another one. If there is none, it gives back the hosts that it took, waits and starts
// again.
//
// Hosts are claimed one by one in the order of their names. A claimant that has failed twice keeps
// strictly to this order, so one of several competing claimants succeeds in the end. A claimant
// that dies leaves hosts with its Provisioning. The next claim of that Provisioning completes the
// work, or a caller that has evidence that nothing was installed on these hosts releases them. This
// package never releases hosts because an assignment does not exist. It does not import Tekton or
// knative.
package claim
