// Package kubespray is the task kubespray, which installs a cluster, adds nodes to it, upgrades nodes,
// removes nodes from it, restores it from a backup, or removes it from its machines.
//
// The package only reads the workspaces of the task (Mounts) and chooses the operation of a run (Run). The operations are
// below pkg/operate, each in its own package, on top of package session, which has what they share.
// Their order, from the top: join, remove, upgrade, restore; reset; controlplane; cluster, prepare, play; session. No
// operation imports another one; those that empty machines use package reset.
//
// Invariants: every operation can be repeated, and an attempt that was interrupted is continued by the next one. What no run
// may do to a machine is said in package session, and what no run may do to a cluster in the package of the operation.
package kubespray
