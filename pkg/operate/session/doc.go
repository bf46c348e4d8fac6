// Package session is what all operations on the machines of a cluster share: the input and the ports of a run, its
// visits to the machines by SSH, and what the run and earlier runs have recorded about the hosts and the cluster.
//
// Run checks the input and calls one operation, such as that of package remove. Preflight and Connect visit the
// machines: each must be the node's host, accept the login, and be free of the clusters of other owners.
//
// Invariants: no visit changes a machine. Nothing connects for changes to a machine that has none of the known MAC
// addresses of the node's host, nor to one whose SSH host key differs from the key at the first contact, nor to one
// with a Kubernetes of another owner. A host is recorded as used before its machine is changed for the first time, and
// as clean only after its reset was proved. No value of a variable in a Secret leaves a run. The package accesses the
// bootstrap machine's API server only through the interface Store, and it runs no playbook.
package session
