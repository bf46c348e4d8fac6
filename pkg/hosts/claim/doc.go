// Package claim claims and releases hosts at the API server. The holder of a host is the object
// that spec.consumerRef of the host names.
//
// Invariant: a claim is all or nothing until its hosts can receive an image (Claim.Keep). No host is
// ever taken from another holder, and none becomes free while Metal3 has to remove an image of BPA. A decision
// may be based on old data. This is safe, because every write contains the resourceVersion that was
// read: if two claimants write to a host, the API server rejects the second write.
//
// A claimant that loses a host keeps its other hosts and chooses another one. If there is none, it
// gives back the hosts that it took, waits and starts again. Hosts are claimed one by one in the
// order of their names. A claimant that has failed twice keeps strictly to this order, so that one
// of several competing claimants succeeds in the end.
//
// If a claimant dies, its hosts stay held by its Provisioning. They are used by the next claim of
// that Provisioning, or released by a caller that has evidence that nothing was installed on them.
// This package never releases hosts only because no assignment exists. It does not import Tekton or
// knative.
package claim
