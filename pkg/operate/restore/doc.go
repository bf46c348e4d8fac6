// Package restore gives an installed cluster the content of a backup: it installs all control planes anew with the keys of
// the backup, and replaces the data of etcd.
//
// Invariants: nothing is changed before the whole copy was read and its digest, its key and its cluster were checked.
// Control planes are reset only if etcd has no majority and old control planes that do not answer are known to be off, or if
// the user accepts the loss. From the first change until the end, the record says that a restore has begun, and every
// attempt continues it.
package restore
