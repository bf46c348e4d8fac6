// Package backup is the task backup. It copies etcd and the keys of a cluster from a control plane node
// into the depot, encrypted for a public key.
//
// Invariants: the task writes nothing to the node and nothing to a disk. The snapshot flows from etcd
// through the encryption into the depot, so the memory that the task needs does not depend on its
// size. The task never has the key that can decrypt the backup. Secrets are in no result and no log.
package backup
