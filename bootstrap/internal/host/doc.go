// Package host prepares the machine for a node (packages, sysctls, bridge, firewall) and later
// removes the traces of the node (processes, mounts, interfaces, firewall rules, control groups).
//
// Invariant: the package changes or removes only resources that it recognises as its own by a name,
// a tag or a path of package layout. Every operation is idempotent. The package must not depend on
// the components that run on the node.
package host
