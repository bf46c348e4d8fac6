// Package docs tests the examples in docs/ and the README. The webhook accepts every Provisioning
// there. Where a page shows hosts and the nodes that a Provisioning gets from them, package assign
// returns the same nodes, or the same explanation.
package docs
