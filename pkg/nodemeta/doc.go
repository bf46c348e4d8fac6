// Package nodemeta decides what is to change in the labels, annotations and taints of a Node object.
//
// BPA sets only the keys that a Provisioning or the labels of its hosts request, and removes only what it has set. The
// Node itself records what BPA has set, in the annotation Annotation, so that a lost controller, a restored etcd or
// another machine of the same name need no other record. Everything else on the Node belongs to others and stays.
//
// The package is pure, and uses the standard library only: package look uses it on the nodes of each cluster.
package nodemeta
