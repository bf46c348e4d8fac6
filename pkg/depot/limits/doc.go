// Package limits decides whether the depot takes an upload, before any byte of
// it: by its size, by how many are open, by a quota and by the room on the disk.
//
// A Usage knows what is held, since every write passes the driver that it
// wraps; a Quota knows what was promised beside that.
//
// Invariant: room that was promised to an open upload is promised to no other,
// and a byte counts once: as promised before it is written, as held from then on.
package limits
