// Package host readies the machine for a node (packages, sysctls, bridge, firewall) and puts it back as it was
// (processes, mounts, interfaces, firewall, control groups).
//
// Invariant: everything here is recognised as ours by a name or path of package layout before it is changed or removed,
// and doing anything twice equals doing it once. It must not know the components that run on the node.
package host
