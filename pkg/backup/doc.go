// Package backup is the format of a backup: a tar archive that age encrypts for one public key. The
// archive has a manifest, a snapshot of etcd, and the keys and settings that a restore needs.
//
// Invariants: the content is never in memory as a whole, and never on a disk unencrypted. A reader
// accepts a backup only if every file of the manifest is there, with its size, and if the snapshot has
// the checksum that etcd appended to it. The package uses no network and no disk.
package backup
