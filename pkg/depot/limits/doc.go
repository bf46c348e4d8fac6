// Package limits decides whether the depot accepts an upload, before it reads the first byte. It
// checks the upload's size, the number of open uploads, the depot's quota and the free disk space.
//
// A Usage wraps the storage driver, through which every write of blobs and uploads passes, and so
// counts the bytes that the depot holds. A Quota adds the bytes that are reserved.
//
// Invariant: space that is reserved for one upload is not available to another one. Each byte
// counts once: as reserved before it is written, and as held from then on.
package limits
