// Package docs tests the examples in docs/ and the README. The webhook accepts every Provisioning
// and every Software there. Where a page shows hosts and the nodes that a Provisioning gets from them, package assign
// returns the same nodes, or the same explanation. The drivers in docs/examples can be installed and removed.
package docs
