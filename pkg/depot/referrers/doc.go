// Package referrers lists the manifests that refer to another manifest, such as its signatures and
// bills of materials. It implements the referrers API of the OCI distribution specification.
//
// Invariant: each listed manifest is in the repository and names the subject itself. The size of an
// answer is bounded, however many referrers there are.
package referrers
