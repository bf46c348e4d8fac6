// Package adopt makes the objects of a cluster that BPA has installed anew, from the answers of the servers and of the
// cluster itself. It is for a site that has lost these objects, and has no backup of them that is new enough.
//
// The package is pure: no client, no clock, no disk.
//
// Invariant: a host becomes that of a node only by evidence. Its server has the mark of the cluster, and a certificate
// of its kubelet that the CA of the cluster has signed for this node, or an address of the node. A server
// that disagrees is named and left alone.
package adopt
