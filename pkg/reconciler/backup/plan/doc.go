// Package plan decides what happens to a Backup and to the schedule of a Provisioning.
//
// It is pure: it uses no client, no clock and no disk. Invariants: a Backup has at most one run, and its
// result does not change any more. The schedule never deletes the newest successful Backup, and never
// one that a user has created.
package plan
