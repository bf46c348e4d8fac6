// Package backup makes backups of the bootstrap machine, and reads them.
//
// A backup is one file: a tar archive that age encrypts for a public key, whose private key the site keeps elsewhere. It
// has a manifest, the keys, tokens and settings of the machine, a list of the content of the depot, and a snapshot of
// etcd, in which are all objects, also the keys of the Backups of clusters.
//
// Invariants: a file with the name of a backup is complete. A failed backup leaves all others as they are. A reader gets
// all files of a backup, each checked, or an error. The package starts no program.
package backup
