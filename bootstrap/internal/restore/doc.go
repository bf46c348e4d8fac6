// Package restore makes a backup the state of the bootstrap machine, so that it harms no server.
//
// A backup can be older than the servers: a host that is free in it may run a cluster since. So restore first works in a
// folder of its own: it unpacks the backup, starts etcd and the API server alone on it, and there detaches all hosts from
// Metal3 and pauses all Provisionings. Only then does it replace the state of the machine. A person attaches the hosts.
//
// Invariants: no controller ever sees a host of a restored machine that is not detached. A restore that fails before it
// replaces the state changes nothing, and one that is interrupted while it does so is completed by the next start.
package restore
