// Package backup reconciles Backups, and creates them at the times of spec.backup of a Provisioning.
//
// Invariants: the private key for backups goes into no run. A Backup has no owner, because it must stay
// when the Provisioning is deleted. Its run belongs to the Backup, and not to the Provisioning.
package backup
