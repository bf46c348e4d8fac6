// Package limits decides whether the depot accepts an upload, before it reads the first byte. It
// checks the upload's size, the number of open uploads, the depot's quota and the free disk space.
//
// A Usage counts the bytes that the depot holds, because every write passes the storage driver that
// it wraps. A Quota counts the reservations in addition to that.
//
// Invariant: space that is reserved for one upload is not available to another one. Each byte
// counts once: as reserved before it is written, and as held from then on.
package limits
