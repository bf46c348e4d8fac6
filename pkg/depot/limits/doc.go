// Package limits decides whether the depot takes an upload, before any byte of
// it: by its size, by how many are open, by a quota and by the room on the disk.
//
// Invariant: room that was promised to an open upload is promised to no other.
package limits
