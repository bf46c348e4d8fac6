// Package referrers lists the manifests that refer to another one, such as its
// signatures and bills of materials, as the distribution specification's
// referrers API has it.
//
// Invariant: what is listed is in the repository and names the subject itself,
// and an answer is bounded, however many there are.
package referrers
